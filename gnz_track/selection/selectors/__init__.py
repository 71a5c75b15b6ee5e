"""Selectors: from graphs whose scores are known to the ranking of settings on one whose are not.

One file and one row of `catalogue.py` each: a function that fits and returns named arrays, and one that predicts from
these. A fitted selector is nothing but its arrays, so that it is saved without pickle, and fitting anew for each fold
cannot carry anything over.
"""
