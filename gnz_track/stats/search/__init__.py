"""Hyperparameter searches.

- `expected_best`: the best score to expect of a budget of trials
- `importance`: how much of the scores goes with each hyperparameter
- `borders`: winners on the border of their range
"""
