"""Features of graphs.

- `graph`: a graph as features see it, numbers per node, statistics of vectors
- `orbits`: edge orbits of up to four nodes, counted exactly
- `feature_sets`: named, versioned sets of features
"""
