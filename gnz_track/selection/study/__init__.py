"""Study of selectors, and what others have published for it.

- `evaluation`: testbeds, selectors tried on them and compared
- `ranking_metrics`: quality of a ranking of settings
- `glemos`: the 366 published settings of GLEMOS, and how they run here
- `matrix_files`: matrices of scores as CSV and ``.npz``
"""
