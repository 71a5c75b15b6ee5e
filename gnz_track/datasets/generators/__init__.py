"""Graphs that are made here, from a seed or from images.

- `combinatorial`: instances of problems: tours, routes, assignments, cuts, flows; mines and spins on a lattice
- `communities`: communities that show in the edges, and one real network
- `cycles`: graphs of circles: six nodes among trees or not, and skip links of several lengths
- `families`: random graphs of many shapes, with numbers to predict that depend on their whole structure
- `images`: images as graphs of regions
- `large`: a graph of any size, drawn block by block
- `targets`: several labels of nodes, numbers of nodes, and numbers of edges
- `tours`: points with links to their nearest, and which of these a round trip uses
- `draws`: graphs drawn one by one, each from a generator of its own
"""
