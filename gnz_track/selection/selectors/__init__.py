"""Selectors: from graphs whose scores are known to the ranking of settings on one whose are not.

A selector is one row: a function that fits and returns named arrays, and one that predicts from these. It goes into a
file beside its kind, and into the table of `catalogue`. A fitted selector is nothing but its arrays, so that it is
saved without pickle, and fitting anew for each fold cannot carry anything over.

- `catalogue`: the table of selectors; fitting, saving and loading one
- `training_set`: past graphs to learn from, and the row of a selector
- `simple`: random order, best over all past graphs, over a cluster, of the nearest graph
- `forest_neighbours`: past graphs weighted by a forest, the default
- `factor_models`: ALORS and MetaOD: factors of the scores; forests as arrays
- `neural`: S2 and NCF: one network
- `meta_gl`: MetaGL: attention over past graphs and settings
"""
