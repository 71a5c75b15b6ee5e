"""TODO of this folder.

- `attainability`: can the test reject at all: the smallest p that an exact sign-based test reaches after
  correction
- `bayes`: probabilities that one model is better, practically equal, or worse, by two Bayesian tests
- `equivalence`: are two models the same for all that matters: two one-sided tests against a declared margin
- `multiple`: many tests at once: p-values of a family become adjusted p-values
- `paired`: is the advantage of one model over another more than the seeds explain: tests over seed pairs
- `sequential`: adding seeds until the answer is clear, without paying for it in false alarms
- `sign_flip`: the sign-flip test of the mean advantage: what the mean would be if every seed's sign were the
  toss of a coin
- `signed_rank`: the exact Wilcoxon signed-rank test at any number of seeds, with ties and zeros
"""
