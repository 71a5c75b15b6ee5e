"""Tables of a report: one kind of table, which writes itself as text, Markdown, CSV, parquet and LaTeX.

- `table`: a table of columns, rows and notes, and its five forms.
- `latex`: any text escaped for LaTeX, tabulars that fit on a page, and their floats.
- `scores`: mean scores, rounded so that the ranks can be recomputed.
- `pairs`: pairs of models: advantage, tests, verdict.
- `searches`: default against tuned, and what the search cost.
- `predictions`: what stored predictions say, as data frames.
- `summary`: the means that are printed where a sweep ends.
- `training`: size, scores of both parts, effort, places.
"""
