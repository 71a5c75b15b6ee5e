"""Files that a cell leaves beside its run: arrays and records as bytes, and back.

A file is a function of the cell alone: no time, no machine and no folder is in it, so that equal cells leave equal
bytes. Nothing that is read here runs.

- `predictions`: a row an example of validation and test, with its target and the outputs of the model
- `series`: the value of every series at every epoch
- `parquet_bytes`: parquet files as bytes, read with the columns and the size that they may have
"""
