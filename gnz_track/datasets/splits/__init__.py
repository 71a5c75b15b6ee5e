"""Parts for training, validation and test, as pure functions of (dataset digest, policy, seed).

- `nodes_and_graphs`: the names of the ways to split; nodes, labelled edges and graphs, and folds of graphs
- `temporal`: parts by time
- `links`: edges and triples, with random non-edges and false triples
"""
