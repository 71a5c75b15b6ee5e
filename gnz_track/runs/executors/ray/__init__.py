"""Cells on a Ray cluster: `driver` starts or joins one, and everything that may hang is done by the `client_process`.

- `driver`: cells handed out and results received
- `client_process`: the process that alone speaks with the cluster, which may be ended
- `head`: the address of a cluster's head, and whether it still answers
- `data`: frozen data on machines that share no disk
- `resources`: processors, memory and GPU that a cell asks for, learnt from cells that ended
"""
