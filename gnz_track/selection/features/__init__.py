"""Features of graphs: vectors over nodes and edges, statistics of vectors, and named, versioned sets of them."""
