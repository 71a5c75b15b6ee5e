"""Data that users bring.

- `graphs`: graphs of one's own: from an edge list with tables, from GraphML and GML, from networkx
- `tables`: tables of one's own, a file or a frame each: columns are taken, checked and turned into tensors
- `tasks`: tasks that users bring: what their loaders return becomes a list of graphs and, where they have one,
  a split
"""
