"""Statistics of differences between scores, as pure functions with frozen results.

``compare`` does all of it for a results table and returns one ``Comparison``; each function can be had alone:
``from gnz_track import stats; stats.holm([0.01, 0.04, 0.03])``. Functions whose name ends in ``_rows`` do the same for
many pairs at once and give the same results. Undefined values are ``None`` with a note, and NaN only in arrays of
``predictions``. Advantages are positive where the first model is better, whatever the direction of the metric. NumPy
and SciPy only.

- `comparison/`: a results table compared as a whole, within tasks and across them
- `design/`: what so many seeds can show: power, seeds needed, seeds that draw overlapping splits
- `estimates/`: how large: means, effects and their intervals, aggregates over tasks, costs, sources of variance
- `predictions/`: stored predictions: both sources of luck, pairs on examples, ensembles, calibration, slices, curves
- `ranking/`: models over tasks: ranks, Friedman's test, groups that cannot be told apart, stability of the order
- `search/`: hyperparameter searches: expected best of a budget, importance, winners on a border
- `significance/`: tests of one pair of models, their families, equivalence, and posteriors
- `inputs`: before anything is computed: checks, and scores of any size scaled by a power of two
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "comparison.admission": ("Finding",),
    "comparison.cells": ("REQUIRED", "ScoreFrame", "ScoredCell", "lay_out", "read_cells"),
    "comparison.choices": ("Choices", "FAMILIES", "MISSING_POLICIES", "POSTHOCS", "TESTS", "choose", "value_for"),
    "comparison.compare": ("compare",),
    "comparison.comparison": (
        "AcrossTasks",
        "CellSummary",
        "Comparison",
        "ModelAggregates",
        "PairComparison",
        "TaskComparison",
        "Verdict",
        "judge",
        "write_across",
        "write_sentence",
    ),
    "comparison.costs": (
        "CPU_TIME",
        "WALL_TIME",
        "cost_doubts",
        "costs_by_seed",
        "mean_costs",
        "pareto_front",
        "time_column",
    ),
    "comparison.joins": ("SeedPairs", "join", "join_all", "quantise"),
    "comparison.task_pairs": ("compute_by",),
    "design.power": (
        "Attainability",
        "DesignPower",
        "attainability",
        "design_power",
        "margin_needed",
        "paired_t_power",
        "seeds_needed",
        "seeds_needed_rows",
        "smallest_effect",
        "smallest_p",
        "smallest_seeds",
        "tost_power",
    ),
    "estimates.aggregate": (
        "Aggregate",
        "Profile",
        "Resampling",
        "improve_probability",
        "interquartile_mean",
        "normalise",
        "optimality_gap",
        "performance_profile",
    ),
    "estimates.effects": (
        "Effects",
        "MeanAdvantage",
        "clopper_pearson",
        "effects",
        "effects_rows",
        "hedges_factor",
        "mean_advantage",
        "mean_advantage_rows",
        "wilson",
    ),
    "estimates.flags": ("PairFlags", "flag_pair", "flag_rows"),
    "estimates.intervals": ("INTERVALS", "MeanCurve", "MeanInterval", "intervals_of", "iqm", "mean_curve"),
    "estimates.variance": ("Component", "Decomposition", "decompose_variance"),
    "inputs": ("Floats", "number", "read_direction", "read_number"),
    "predictions.arrays": ("EXAMPLE_SCORES", "Integers", "decide", "mean_of_known", "probabilities", "score_examples"),
    "predictions.calibration": (
        "BINNINGS",
        "Calibration",
        "Reliability",
        "calibrate",
        "fit_temperature",
        "reliability",
    ),
    "predictions.curves": (
        "PrecisionRecallCurve",
        "RankHistogram",
        "RocCurve",
        "count_confusions",
        "count_ranks",
        "trace_precision_recall",
        "trace_roc",
    ),
    "predictions.ensembles": (
        "ENSEMBLE_SCORES",
        "GreedySelection",
        "average_models",
        "average_seeds",
        "blend",
        "select_greedily",
    ),
    "predictions.examples": ("Difficulty", "SuspectedLabels", "rate_difficulty", "suspect_labels"),
    "predictions.pairs": (
        "Agreement",
        "ClusteredMcNemar",
        "McNemar",
        "SolvedOverlap",
        "agree",
        "mcnemar",
        "mcnemar_pooled",
        "overlap",
    ),
    "predictions.slices": ("SliceDifference", "SliceScores", "bin_by_quantile", "explain_difference", "score_slices"),
    "predictions.two_levels": (
        "LevelInterval",
        "TwoLevelEstimate",
        "resample_means",
        "two_level_differences",
        "two_level_means",
    ),
    "ranking.friedman": ("Friedman", "exact_friedman_p", "run_friedman"),
    "ranking.groups": (
        "Group",
        "NemenyiGroups",
        "PairwiseGroups",
        "critical_difference",
        "group_by_nemenyi",
        "group_by_p",
        "nemenyi_p",
        "nemenyi_q",
    ),
    "ranking.ranks": ("RankTable", "check_printed_ranks", "rank_rows", "rank_table"),
    "ranking.stability": ("RankBootstrap", "RankJackknife", "bootstrap_ranks", "leave_one_task_out"),
    "search.borders": ("Border", "check_border", "place_in_range"),
    "search.expected_best": ("BudgetRanks", "ExpectedBest", "expected_best", "rank_by_budget"),
    "search.importance": ("Importance", "decompose_trials", "rank_hyperparameters"),
    "significance.bayes": ("BayesianSignedRank", "CorrelatedT", "correlated_t", "signed_rank_posterior"),
    "significance.equivalence": ("Equivalence", "tost", "tost_rows"),
    "significance.multiple": ("ADJUSTMENTS", "Family", "adjust", "benjamini_hochberg", "bonferroni", "holm", "shaffer"),
    "significance.paired": (
        "PairedTest",
        "nadeau_bengio",
        "nadeau_bengio_rows",
        "paired_t",
        "paired_t_rows",
        "sign_flip",
        "sign_flip_rows",
        "signed_rank_p",
        "signed_ranks",
        "wilcoxon",
        "wilcoxon_rows",
    ),
    "significance.sequential": (
        "AnytimeTest",
        "FixedLooks",
        "look_at_every_seed",
        "look_at_fixed_seeds",
        "paired_t_log_e",
        "t_at_looks",
    ),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
