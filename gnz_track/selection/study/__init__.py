"""TODO of this folder.

- `evaluation`: selectors on a testbed: fitted anew on every fold, scored per graph, and compared over graphs
- `glemos`: the 366 published settings of GLEMOS (Park et al., 2023) as data, and how each of them is run here
- `matrix_files`: matrices of other people, and for them: CSV that anyone can write, and ``.npz`` that keeps all
- `ranking_metrics`: quality of a ranking of settings, per graph: against the true scores of those settings that
  are known for it
"""
