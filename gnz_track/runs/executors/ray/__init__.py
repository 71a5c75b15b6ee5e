"""TODO of this folder.

- `client_process`: the envoy of another process to a Ray cluster
- `data`: frozen data on machines that share no disk: sent once, written once on each, and checked before they
  are used
- `driver`: cells on a Ray cluster: an existing one, or one that is started on this machine
- `head`: ctrl-C, and the signal by which schedulers end a job, put off over what must not be left halfway
- `resources`: resources that a cell needs: processors, memory, a part of a GPU
"""
