"""TODO of this folder.

- `noncentral`: noncentral t: distribution and inversion by quadrature, for whole arrays
- `overlap`: seeds that draw different splits of the same data: how large the parts were, and what the right
  test would say
- `power`: power of a design of so many seeds: of the paired t, detectable effects, seeds needed
"""
