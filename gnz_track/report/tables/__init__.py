"""TODO of this folder.

- `latex`: scores and verdicts as LaTeX: booktabs and nothing else, siunitx where it is asked for, all names
  escaped
- `scores`: A results table in a few lines: one per task and model
- `searches`: searches as tables: default against tuned with what it cost, for a terminal, as Markdown, CSV,
  parquet and LaTeX
- `table`: scores and verdicts as tables: for a terminal, as Markdown, and as CSV and parquet with the runs of
  each number
- `training`: facts of training as a table: for a terminal, as Markdown, CSV, parquet and LaTeX, and for the
  page
"""
