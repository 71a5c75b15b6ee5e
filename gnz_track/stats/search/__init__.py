"""TODO of this folder.

- `borders`: does the winner of a search sit on the border of its space, and do scores still get better towards
  it
- `expected_best`: expected best validation score of a search as a function of its budget, the number of trials
- `importance`: importance of hyperparameters in a search: of each by itself, how much of the scores goes with
  its value
"""
