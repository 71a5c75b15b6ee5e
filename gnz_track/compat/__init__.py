"""TODO of this folder.

- `graphnetz`: the published face of the catalogue: ``LOADER_REGISTRY[category][task_type]``, names and
  callables
- `rings`: the names of the published package, so that its users move over with one changed import
"""
