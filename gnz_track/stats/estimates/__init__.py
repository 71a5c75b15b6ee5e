"""Estimates: how large something is, with an interval.

- `intervals`: intervals of the mean score of a cell over its seeds, and of mean learning curves
- `effects`: effect sizes of one pair of models
- `flags`: pairs that no test should be trusted with
- `aggregate`: one number for a model over many tasks
- `variance`: sources of the spread of scores
"""
