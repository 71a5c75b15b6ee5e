"""Designs: what so many seeds can show.

- `power`: power of the paired t and of TOST, detectable effects, seeds needed, whether a test can reject at all
- `overlap`: seeds that draw overlapping splits of the same data
"""
