"""TODO of this folder.

- `aggregate`: one number, or one curve, for a model over many tasks and seeds, with an interval that seeds
  justify
- `curves`: learning curves of several seeds as one: the mean at each epoch, with an interval while all seeds
  are there
- `effects`: sizes of the advantage of one model over another, with intervals; signs are advantages of the first
  model
- `flags`: flags on pairs of models that no test should be trusted with: skew, an outlier, one seed that
  decides, no spread
- `intervals`: intervals for the mean score of one cell over its seeds
- `pareto`: models that cost less for what they score: mean costs of cells, and the front that no other model
  dominates
- `variance`: sources of the spread of scores: seed, split, initialisation, hyperparameters, where ids tell them
  apart
"""
