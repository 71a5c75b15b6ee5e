"""A results table compared as a whole: read, admitted, tested within tasks and across them, and written.

- `compare`: from a table to one comparison
- `choices`: every option of a comparison
- `cells`: the rows of a table as cells by task, model and seed
- `admission`: checks that cells may be compared
- `joins`: scores of two models joined on seeds and quantised
- `task_pairs`: all pairs of models within tasks, and the families in which p-values are adjusted
- `across_tasks`: means by task, which models are ranked together, and all of them over all tasks
- `comparison`: the record of all of it, the verdicts on pairs, and both as a page of text
- `costs`: mean costs, which of them may be set against one another, and models that no other dominates
"""
