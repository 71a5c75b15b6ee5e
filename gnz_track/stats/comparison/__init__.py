"""A results table compared as a whole: read, admitted, tested within tasks and across them, and written.

- `compare`: from a table to one comparison
- `choices`: every option of a comparison
- `cells`: the rows of a table as cells by task, model and seed
- `admission`: checks that cells may be compared
- `joins`: scores of two models joined on seeds and quantised
- `task_pairs`: all pairs of models within tasks
- `families`: p-values adjusted together
- `verdicts`: the verdicts on a pair
- `task_means`: means by task, and which models are ranked together
- `across_tasks`: all models over all tasks
- `comparison`: the record of all of it
- `comparison_text`: the record as a page of text
- `costs`: which costs may be set against one another
"""
