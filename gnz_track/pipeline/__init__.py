"""Stages of the pipeline that DVC drives, from ``params.yaml`` to a published report.

- `params`: ``params.yaml`` as a typed record.
- `stages`: one function a stage: data, tune, run, quality, report.
- `published`: files that DVC shows and compares of a report.
- `starter_project`: a folder with a benchmark of one's own, which runs as it is.
"""
