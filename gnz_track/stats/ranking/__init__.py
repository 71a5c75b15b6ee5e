"""Rankings: models over many tasks.

- `ranks`: scores become ranks
- `friedman`: whether models differ at all
- `groups`: which models cannot be told apart: Nemenyi, cliques of pairwise tests
- `stability`: the order under other tasks
"""
