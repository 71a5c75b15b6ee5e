"""Graphs, tables and tasks that users bring.

- `tasks`: what loaders of users return as a list of graphs, checked, with what they say of it
- `graphs`: graphs from an edge list with tables, from GraphML and GML, from networkx
- `tables`: columns of files and frames, taken, checked and turned into tensors
"""
