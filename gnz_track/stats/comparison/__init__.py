"""TODO of this folder.

- `across_tasks`: all models over all tasks: ranks, Friedman, both ways to group, and whether the order would
  survive
- `admission`: checks that cells may be compared: that they differ in the model, and in nothing else that
  matters
- `cells`: the cells of a results table as plain records: read, labelled and laid out by task, model and seed
- `choices`: every choice of a comparison in one frozen record, checked before anything is computed
- `compare`: from a results table to one comparison: read, admitted, tested within tasks and across them
- `comparison`: the record of a comparison: everything that was computed, by task and across tasks, with every
  choice
- `comparison_text`: A comparison as a page of plain text: what differs, what cannot be said, and what was left
  out
- `costs`: costs of models that may be set against one another, and what speaks against it
- `families`: families of tests in a comparison: which p-values are adjusted together, and at what level each
  was read
- `joins`: scores of two models, joined on seeds and quantised: what every paired statistic starts from
- `task_means`: mean scores of models on tasks, and which of them are ranked: those that were planned together,
  and came out
- `task_pairs`: all pairs of models within tasks: joined, tested and judged, for all tasks at once
- `verdicts`: the verdicts on a pair of models
"""
