"""Faces of published packages: their names and signatures, so that scripts move over with one changed import.

- `graphnetz`: loaders by category and task type, ``LOADER_REGISTRY[category][task_type]``
- `rings`: mode complementarity, separability and perturbations as classes
"""
