"""TODO of this folder.

- `links`: edges and triples for training, validation and test
- `nodes_and_graphs`: splits as pure functions of (dataset digest, policy, seed): no global generator is read or
  moved
- `policies`: the names of the ways to split
"""
