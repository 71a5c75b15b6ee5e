"""Codes of nodes that are found without labels, and a linear map of them that is trained.

- `fitted`: the family: codes found once, from the graph alone, then a linear map
- `factorisations`: leading eigenvectors (Belkin and Niyogi, 2003), singular vectors of a power (Cao et al., 2015)
- `node2vec`: skip-gram codes of random walks (Grover and Leskovec, 2016)
- `dgi`: Deep Graph Infomax (Velickovic et al., 2019): to pre-train an encoder with, and codes for a linear map
"""
