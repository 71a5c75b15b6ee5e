"""Training of one model.

``loop.py`` is the one loop; per task type an objective (`objectives.py`: what is minimised) and a scorer
(`scorers.py`: held-out labels) meet only there. `metrics.py` and `protocols.py` are tables. `acceleration/` makes any
model's step cheaper without changing its numbers.
"""
