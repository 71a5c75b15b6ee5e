"""Which graphs, which tasks: the catalogue, the frozen form, splits. Importing this package imports no torch."""
