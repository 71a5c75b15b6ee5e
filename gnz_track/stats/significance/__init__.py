"""Significance: tests of one pair of models, and of many.

- `paired`: paired t, and Nadeau and Bengio's for overlapping splits
- `signed_rank`: the exact Wilcoxon signed-rank test
- `sign_flip`: the sign-flip test of the mean
- `equivalence`: two one-sided tests against a margin
- `bayes`: posteriors of better, equal and worse
- `sequential`: tests that may be looked at while seeds are added
- `multiple`: adjusted p-values of a family: Holm, Shaffer, Bonferroni, Benjamini and Hochberg
- `attainability`: whether a test can reject at all
"""
