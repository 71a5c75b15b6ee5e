"""Graphs that are made here, from a seed or from images.

- `combinatorial`: instances of combinatorial problems as graphs: routes, assignments, cuts, flows
- `communities`: generated graphs for node classification, and a small network that a package ships
- `cycles`: circles with skip links, drawn here: all nodes look alike to message passing, and the lengths of the
  skips differ
- `draws`: graphs drawn one by one, each from a generator of its own: smaller sets are the first graphs of
  larger ones
- `families`: six textbook properties of small graphs, three of nodes and three of graphs, to be predicted at
  once
- `images`: images as graphs of regions
- `tours`: round trips through random points: which of the short edges belong to the tour
"""
