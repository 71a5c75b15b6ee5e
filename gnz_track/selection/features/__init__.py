"""Features of graphs: vectors over nodes and edges, statistics of vectors, and named, versioned sets of them.

- `feature_sets`: named sets of features of a graph, each with a version: what a number means never changes
  under one name
- `graph`: one number per node: degree, core number, PageRank, wedges
- `orbits`: edge orbits: how often each edge takes each of twelve places in connected graphs of 3 and 4 nodes,
  exactly
"""
