"""Files that a cell leaves beside its run: arrays and records as bytes, and back.

A file is a function of the cell alone: no time, no machine and no folder is in it, so that equal cells leave equal
bytes. Nothing that is read here runs.

- `predictions`: a row an example of validation and test, with its target and the outputs of the model
- `configuration`: every setting as it was resolved
- `splits`: numbers of the examples of each part, which cells of one split digest share
- `weights`: the state of a model with its settings, and the file by which MLflow knows it for one
- `series`: the value of every series at every epoch
- `inventory`: how many bytes files of runs take on this machine, and which nobody needs
- `joined_predictions`: predictions of many runs of a task as one array
- `best_weights`: weights that a run has until another cell of its task and model is better
- `kept_files`: digests of files by name, and the folder in which they wait for the store
- `parquet_bytes`: parquet files as bytes, read with the columns and the size that they may have
"""
