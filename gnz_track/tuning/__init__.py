"""Which hyperparameters: search spaces as data, and studies that can be resumed trial by trial."""
