"""Codes of nodes that are found without labels, and a linear map of them that is trained: one file each.

`fitted.py` is what they share.

- `dgi_linear`: deep Graph Infomax (Velickovic et al., ICLR 2019), then a linear map, which held-out labels can
  score
- `fitted`: A linear map of codes that were found once, from the graph alone
- `gra_rep`: GraRep (Cao, Lu and Xu, CIKM 2015) as the published space has it: singular vectors of a power of
  the adjacency
- `node2vec`: node2vec (Grover and Leskovec, KDD 2016): skip-gram codes of biased walks, then a linear map
- `spectral_embedding`: spectral embedding (Belkin and Niyogi, 2003): leading eigenvectors of the normalised
  adjacency with loops
"""
