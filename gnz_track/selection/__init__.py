"""Selection of models for a graph: features, matrices of past scores, selectors, testbeds, recommendations.

`features/` turns a graph into numbers, `matrix.py` a results table into graphs x settings, `selectors/` learns the one
from the other (one file and one row each), `testbeds.py` says how well, and `recommendation.py` answers for one graph.
"""
