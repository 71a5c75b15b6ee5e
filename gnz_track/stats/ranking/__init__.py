"""TODO of this folder.

- `friedman`: friedman's test that models differ at all across tasks: on ranks, corrected for ties, exact where
  it can be
- `groups`: groups of models that the data cannot tell apart, the bars of a critical-difference diagram
- `ranks`: scores of models on tasks become ranks: 1 is best, ties share the mean of their places
- `stability`: would the order of the models survive other tasks
"""
