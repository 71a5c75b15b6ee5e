"""Figures of a report, one file each; every one is as large as its labels need, and says in words why it is empty.

- `style`: colours and marks, measured, wrapped and cut text, and files of stable bytes.
- `axes`: panels on a figure, ticks, keys and limits that panels share.
- `labels`: names as one line of visible characters, and parts of captions in words.
- `bars`: the mean score of each model on each task.
- `forest`: paired differences with their intervals.
- `factors`: effects of the factors of a study, with their intervals.
- `pairs`: all pairs of models on each task, as a matrix or as a list.
- `critical_difference`: mean ranks of models, and bars over those that are not told apart.
- `profiles`: the share of runs above each normalised score.
- `learning_curves`: the mean of a series at each epoch.
- `trade_offs`: score against time or parameters, with the Pareto front.
- `seeds_needed`: the smallest effect that so many seeds detect.
- `searches`: findings of searches by budget, the trials of one, and its hyperparameters.
- `audits`: complementarity and diversity of audited data.
- `predictions`: slices that explain a win, reliability, confusions, predicted against true, ROC curves.
"""
