"""Graphs, tables and tasks that users bring.

- `added`: datasets that were added, known by name to every later command on this machine
- `files`: tasks of files and folders, and what their labels ask
- `tasks`: what loaders of users return as a list of graphs, checked, with what they say of it
- `graphs`: graphs from an edge list with tables, from GraphML and GML, from networkx
- `tables`: columns of files and frames, taken, checked and turned into tensors
"""
