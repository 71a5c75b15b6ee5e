"""Designs: what so many seeds can show.

- `power`: power of the paired t and of TOST, detectable effects, seeds needed
- `noncentral`: the noncentral t that power is computed with
- `overlap`: seeds that draw overlapping splits of the same data
"""
