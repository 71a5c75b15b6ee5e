"""Selectors: from graphs whose scores are known to the ranking of settings on one whose are not.

One file and one row of `catalogue.py` each: a function that fits and returns named arrays, and one that predicts from
these. A fitted selector is nothing but its arrays, so that it is saved without pickle, and fitting anew for each fold
cannot carry anything over.

- `catalogue`: the table of selectors; fitting one, saving what it has learnt, and loading it
- `factor_models`: MetaOD (Zhao et al., 2021): factors that rank the settings of each graph, and a forest from
  features to them
- `forest_neighbours`: our own selector: past graphs weigh in by how often a forest of random trees puts them
  beside the new one
- `forests`: forests as arrays: grown by scikit-learn, kept and read without it, so that they are saved without
  pickle
- `meta_gl`: MetaGL (Park et al., 2023): ranking by a network over a graph of past graphs and settings, alike
  ones tied
- `neural`: S2, the supervised surrogate (Park et al., 2023): one network from features to the scores of all
  settings
- `simple`: selectors by similar past graphs: the cluster of a graph (ISAC), its nearest neighbour (ARGOSMART)
- `training_set`: past graphs that a selector learns from, and the selector itself
"""
