"""TODO of this folder.

- `audits`: figures of audits: complementarity under each perturbation, against performance, and the plane of
  diversities
- `axes`: ticks whose labels do not collide, and limits that panels share
- `bars`: bars: the mean score of each model on each task, with its interval, and its seeds where they are few
- `captions`: parts of captions: tests, families, levels, numbers of seeds, as words
- `forest`: forest of paired differences: the advantage of one model over another on each task, with intervals
- `labels`: names as they can be drawn: one line of visible characters, measured, and wrapped where they are too
  long
- `learning_curves`: learning curves: the mean of a series over seeds at each epoch, with an interval band, a
  panel per task
- `pairs`: matrix of all pairs of models on each task: advantages above the diagonal, adjusted p-values below
  it; or a list
- `profiles`: performance profiles: the share of runs of each model above a normalised score, with bands over
  seeds
- `searches`: one search as figures: the history of its trials, and how much of the scores goes with each
  hyperparameter
- `seeds_needed`: seeds against the smallest effect that they detect: where this design stands, and what more
  seeds would show
- `style`: names cut to the room there is, and still different from each other
- `trade_offs`: score against cost: what each model scores on a task, for how many seconds or parameters, and
  the Pareto front
- `critical_difference/`: TODO of this folder
"""
