"""Models that are polynomials of the adjacency: one file each."""
