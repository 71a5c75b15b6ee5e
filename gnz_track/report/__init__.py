"""Reports: a results table and its comparison as objects, tables, figures and pages.

- `benchmark_report`: the report of a benchmark, with the methods of the published package.
- `sources`: results tables from a store, from parquet or from a plain table, with their searches and audits.
- `joining`: runs of several sweeps in one table, as far as they are comparable.
- `tables`: scores, pairs, searches and training as text, Markdown, CSV, parquet and LaTeX.
- `figures`: one file a figure.
- `page`: the page of HTML.
- `bundle`: a report as a folder of files, and its copy in the store.
- `report_json`: a report as one text of JSON, and back.
- `published`: ranks, pairs and power as data frames with the columns of the published package.
- `searches`: facts of searches by their trials, and the cells that belong to a search.
- `tuned_models`: default against tuned by the paired verdict, and the summary of all searches.
- `sweep_comparison`: two sweeps against one another, and the changes of their environments.
"""
