"""Which cells, and are they done.

`plan.py` says which cells are wanted, `one.py` trains one of them, `problems.py` brings data and training together,
`on_<where>.py` runs many, `summary.py` counts.
"""
