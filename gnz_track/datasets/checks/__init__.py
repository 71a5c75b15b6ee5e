"""Checks of datasets: faults, and what makes a dataset easier than it looks.

- `catalogue`: checks of a frozen dataset: that it is whole, that its parts are apart, and what gives labels
  away
- `leaks`: held-out links and triples that training gives away
- `raw_comparison`: frozen data against a second freezing of the same raw files
"""
