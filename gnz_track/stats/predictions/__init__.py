"""Questions to stored predictions, which need no further training.

Arrays are ``outputs[model, seed, example, class]`` (logits) or ``outputs[model, seed, example]`` (values),
``targets[example]``, and ``gain[model, seed, example]``, one score an example; ``solved`` is a gain of zeros and ones.
NaN stands where an example is not in the test part of a seed, or a cell is missing. Results with one number a model, a
seed or an example are arrays too, and have NaN where a number is not defined.

- `arrays`: checks of such arrays, probabilities, decisions, and scores of single examples
- `calibration`: errors of calibration, reliability, temperature
- `curves`: confusion matrices, ROC, precision and recall, histograms of ranks
- `ensembles`: means over seeds and over models, greedy selection
- `examples`: difficulty, and labels that may be wrong
- `pairs`: McNemar's test, agreement and overlap of errors of all pairs of models
- `slices`: scores by slice, and the slices that explain a difference
- `two_levels`: means and differences for new seeds, and for new seeds and new test examples
"""
