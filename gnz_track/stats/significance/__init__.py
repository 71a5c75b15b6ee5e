"""Significance: tests of one pair of models, and of many.

- `paired`: paired t, Nadeau and Bengio's for overlapping splits, the exact Wilcoxon signed-rank test, sign flips
- `equivalence`: two one-sided tests against a margin
- `bayes`: posteriors of better, equal and worse
- `sequential`: tests that may be looked at while seeds are added
- `multiple`: adjusted p-values of a family: Holm, Shaffer, Bonferroni, Benjamini and Hochberg
"""
