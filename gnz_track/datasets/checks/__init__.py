"""Checks of a dataset: faults, and what makes it easier than it looks.

- `catalogue`: the checks by name, their findings, and a comparison with the raw files
- `leaks`: leaks of labels and links: twin graphs, single things that tell a label, links given away
"""
