"""Codes of nodes that are found without labels, and a linear map of them that is trained; one method per file.

- `fitted`: the family: codes found once, from the graph alone, then a linear map
- `spectral_embedding`: leading eigenvectors of the normalised adjacency (Belkin and Niyogi, 2003)
- `gra_rep`: singular vectors of a power of the adjacency (Cao et al., 2015)
- `node2vec`: skip-gram codes of random walks (Grover and Leskovec, 2016)
- `dgi_linear`: codes by Deep Graph Infomax (Velickovic et al., 2019)
- `dgi`: Deep Graph Infomax to pre-train an encoder with
"""
