"""Statistics of differences between scores, as pure functions with frozen results.

One cell: ``intervals`` of its mean over seeds. Two models on one task: ``joins`` pairs their scores by seed and
quantises the differences; ``paired`` (t, Nadeau-Bengio), ``signed_rank`` and ``sign_flip`` test them, ``effects`` says
how large they are, ``equivalence`` whether they lie within a margin, ``flags`` where not to trust a test. The design:
``power`` and ``attainability`` say what so many seeds can show. Families of tests, tasks and aggregates have files of
their own. ``compare`` does all of it for a results table and returns one ``comparison``.

Functions whose name ends in ``_rows`` do the same for many pairs at once and give the same results. Undefined values
are ``None`` with a note, never NaN. Advantages are positive where the first model is better, whatever the direction of
the metric. NumPy and SciPy only.

- `inputs`: checks before anything is computed: values must be numbers, and levels probabilities
- `magnitude`: scores of any size: a power of two is taken out of a sample before anything is squared, and put
  back afterwards
- `comparison/`: TODO of this folder
- `design/`: TODO of this folder
- `estimates/`: TODO of this folder
- `ranking/`: TODO of this folder
- `search/`: TODO of this folder
- `significance/`: TODO of this folder
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "comparison.across_tasks": ("compare_across",),
    "comparison.admission": ("Finding", "check_admission"),
    "comparison.cells": (
        "COMPARED",
        "FACTORS",
        "ModelCells",
        "OPTIONAL",
        "REQUIRED",
        "ScoreFrame",
        "ScoredCell",
        "TaskCells",
        "lay_out",
        "read_cells",
    ),
    "comparison.choices": ("Choices", "FAMILIES", "MISSING_POLICIES", "POSTHOCS", "TESTS", "choose", "value_for"),
    "comparison.compare": ("aggregate_models", "compare", "decompose_task", "find_at_chance"),
    "comparison.comparison": (
        "AcrossTasks",
        "CellSummary",
        "Comparison",
        "FamilySummary",
        "ModelAggregates",
        "ModelPair",
        "PairComparison",
        "TaskComparison",
        "Versions",
    ),
    "comparison.comparison_text": ("write_across", "write_comparison", "write_sentence", "write_task"),
    "comparison.costs": ("BUSY", "CPU_TIME", "WALL_TIME", "cost_doubts", "time_column"),
    "comparison.families": ("Adjusted", "adjust_by_scope", "first_factor"),
    "comparison.joins": ("ManyPairs", "SeedPairs", "StackedPairs", "join", "join_all", "quantise", "stack"),
    "comparison.task_means": (
        "FEWEST_TASKS",
        "LeftOut",
        "Lost",
        "Means",
        "describe_design",
        "find_lost",
        "largest_block",
        "leave_out_lost",
        "means_of",
        "take",
        "take_design",
    ),
    "comparison.task_pairs": ("FURTHER_TESTS", "PlannedPair", "compare_pairs", "compute_by", "count_lasting"),
    "comparison.verdicts": ("EXACT_TESTS", "Verdict", "judge", "judge_sameness"),
    "design.noncentral": (
        "FloatArray",
        "nodes_between",
        "noncentral_t_cdf",
        "noncentrality_at",
        "scale_bounds",
        "scale_density",
    ),
    "design.overlap": (
        "FOR_OVERLAP",
        "draws_splits",
        "recorded_sizes",
        "sizes_for",
        "write_assumed",
        "write_given",
        "write_overlap",
    ),
    "design.power": (
        "DesignPower",
        "design_power",
        "margin_needed",
        "paired_t_power",
        "seeds_needed",
        "seeds_needed_rows",
        "smallest_effect",
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
    "estimates.curves": ("MeanCurve", "mean_curve"),
    "estimates.effects": (
        "Effects",
        "MeanAdvantage",
        "SHARE_INTERVALS",
        "StandardisedAdvantage",
        "Superiority",
        "clopper_pearson",
        "effects",
        "effects_rows",
        "hedges_factor",
        "mean_advantage",
        "mean_advantage_rows",
        "widen_for_overlap",
        "wilson",
    ),
    "estimates.flags": ("LIMITS", "PairFlags", "flag_limits", "flag_pair", "flag_rows"),
    "estimates.intervals": ("INTERVALS", "MeanInterval", "coverage_warning", "intervals_of", "iqm"),
    "estimates.pareto": ("costs_by_seed", "mean_costs", "pareto_front"),
    "estimates.variance": ("Component", "Decomposition", "REST", "decompose_variance"),
    "inputs": ("Floats", "check_level", "check_whole", "number", "read_finite", "read_scores"),
    "magnitude": ("centre_and_spread", "put_back", "take_out"),
    "ranking.friedman": ("EXACT_LIMIT", "Friedman", "exact_friedman_p", "is_enumerable", "run_friedman"),
    "ranking.groups": (
        "Group",
        "MOST_CLIQUES",
        "NemenyiGroups",
        "PairwiseGroups",
        "cover_edges",
        "critical_difference",
        "find_maximal_cliques",
        "group_by_nemenyi",
        "group_by_p",
        "nemenyi_p",
        "nemenyi_q",
        "range_quantile",
        "range_tail",
    ),
    "ranking.ranks": (
        "MISSING",
        "PrintedRanks",
        "RankTable",
        "check_printed_ranks",
        "order_models",
        "quantise_rows",
        "rank_rows",
        "rank_table",
    ),
    "ranking.stability": ("ModelStability", "RankBootstrap", "RankJackknife", "bootstrap_ranks", "leave_one_task_out"),
    "search.borders": ("Border", "ZONE", "check_border", "place_in_range"),
    "search.expected_best": ("BudgetRanks", "ExpectedBest", "expected_best", "rank_by_budget", "spread_budgets"),
    "search.importance": ("Importance", "ValueGroup", "decompose_trials", "midranks", "rank_hyperparameters"),
    "significance.attainability": ("Attainability", "attainability", "smallest_p", "smallest_seeds"),
    "significance.bayes": ("BayesianSignedRank", "CorrelatedT", "correlated_t", "signed_rank_posterior"),
    "significance.equivalence": ("Equivalence", "tost", "tost_rows"),
    "significance.multiple": (
        "ADJUSTMENTS",
        "Adjustment",
        "Family",
        "adjust",
        "benjamini_hochberg",
        "bonferroni",
        "holm",
        "shaffer",
        "shaffer_multipliers",
        "simultaneous_level",
    ),
    "significance.paired": (
        "Outcome",
        "PairedTest",
        "moments",
        "nadeau_bengio",
        "nadeau_bengio_rows",
        "paired_t",
        "paired_t_rows",
        "unrunnable",
    ),
    "significance.sequential": (
        "AnytimeTest",
        "FixedLooks",
        "LOOKS",
        "Look",
        "anytime_p",
        "look_at_every_seed",
        "look_at_fixed_seeds",
        "paired_t_log_e",
        "t_at_looks",
    ),
    "significance.sign_flip": ("sign_flip", "sign_flip_rows"),
    "significance.signed_rank": (
        "SignedRanks",
        "ZERO_METHODS",
        "signed_rank_p",
        "signed_ranks",
        "wilcoxon",
        "wilcoxon_rows",
    ),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
