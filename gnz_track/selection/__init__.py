"""Selection of models for a graph: features, matrices of past scores, selectors, testbeds, recommendations.

`features/` turns a graph into numbers, `matrix.py` a results table into graphs x settings, `selectors/` learns the one
from the other (one file and one row each), `testbeds.py` says how well, and `recommendation.py` answers for one graph.

- `confirmation`: the first of a ranking, trained: ordinary cells for the ordinary runs
- `cost_estimates`: costs of a confirmation: epochs and seconds of a cell, and the seeds that tell the first two
  settings apart
- `evidence`: evidence of a store for one setting or another: scores of past graphs, and their features
- `expectations`: expected score of each setting on a new graph, and how far that was off on past ones
- `feasibility`: reasons against posing a graph as a kind of problem, as far as they show before anything is
  trained
- `graph_files`: files of graphs from anywhere: edge lists, tables, arrays, matrices, GraphML, GML, Pajek;
  packed by gzip or not
- `graph_input`: whatever a user calls a graph: a file, a name of the catalogue, a PyG object, a networkx graph
- `matrix`: past scores as graphs x settings: what a selector learns from
- `recommendation`: recommendation of models for a graph: settings ranked by what was measured on past graphs,
  without training
- `visible_parts`: part of a dataset that a search may see under one split: no label of a test example, no link
  that is held out
- `features/`: features of graphs: vectors over nodes and edges, statistics of vectors, and named, versioned
  sets of them
- `selectors/`: selectors: from graphs whose scores are known to the ranking of settings on one whose are not
- `study/`: TODO of this folder
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "confirmation": ("model_of", "plan_confirmation", "scores_of", "task_of", "warm_starts"),
    "cost_estimates": (
        "FEWEST_SEEDS",
        "MOST_SEEDS",
        "SeedCount",
        "choose_epochs",
        "count_seeds",
        "expect_seconds",
        "say_epochs",
        "say_extrapolated",
    ),
    "evidence": (
        "Evidence",
        "FEWEST_GRAPHS",
        "Omission",
        "PastRuns",
        "digest_of_graphs",
        "features_of_tasks",
        "gather_evidence",
        "name_apart",
        "read_past",
    ),
    "expectations": ("Expectation", "LEVEL", "expect_scores"),
    "feasibility": ("check_labels", "find_alike", "note_on_alike", "note_on_labels", "reason_against"),
    "features.feature_sets": (
        "FEATURE_SETS",
        "FeatureSet",
        "GraphParts",
        "TASK_FEATURES",
        "describe_problem",
        "features_of",
    ),
    "features.graph": (
        "Contents",
        "MOST_NODES",
        "Network",
        "STATISTICS",
        "check_arcs",
        "core_numbers",
        "describe_vector",
        "loop_degrees",
        "make_network",
        "page_ranks",
        "wedge_counts",
    ),
    "features.orbits": ("EdgeOrbits", "ORBITS", "Triangles", "count_edge_orbits"),
    "graph_files": (
        "FORMS",
        "LABELLED_FORMS",
        "PACKED",
        "READERS",
        "check_graph_name",
        "find_graph_file",
        "form_of",
        "graph_of_matrix",
        "open_archive",
        "read_graph_file",
        "read_labelled_file",
        "without_words",
    ),
    "graph_input": ("OpenedGraph", "describe_frozen", "open_graph", "posed_as", "whole_of"),
    "matrix": ("ModelSetting", "PerformanceMatrix", "bare_matrix", "comparable_rows", "matrix_from_table"),
    "recommendation": ("RankedSetting", "Recommendation", "rank_settings", "recommend"),
    "selectors.catalogue": ("Fitted", "SELECTORS", "fit_selector", "load_fitted"),
    "selectors.factor_models": ("ALORS_ROWS", "complete", "factorise"),
    "selectors.forest_neighbours": ("weigh_past_graphs", "weigh_themselves"),
    "selectors.forests": ("find_leaves", "forest_arrays", "predict_forest"),
    "selectors.meta_gl": ("KINDS", "MetaNetwork", "RELATIONS", "Ties"),
    "selectors.neural": (
        "COLLABORATIVE_ROWS",
        "Stopping",
        "arrays_of",
        "fit_surrogate",
        "hold_out",
        "load_arrays",
        "masked_squares",
        "seeded_network",
        "train_by_hits",
    ),
    "selectors.simple": ("CONSTANTS_ROWS",),
    "selectors.training_set": ("Arrays", "Real", "Selector", "TrainingSet", "fill_rows"),
    "study.evaluation": (
        "Advantage",
        "SelectorFold",
        "SelectorScores",
        "Trial",
        "compare_selectors",
        "cross_task",
        "fold_by_groups",
        "fold_by_numbers",
        "fold_by_strata",
        "small_to_large",
        "try_selector",
        "try_selectors",
    ),
    "study.glemos": (
        "CORES",
        "FAMILIES",
        "PublishedSetting",
        "SettingFamily",
        "TRANSLATIONS",
        "Values",
        "list_published_settings",
        "list_scored_settings",
        "plan_published_settings",
    ),
    "study.matrix_files": ("read_matrix", "write_matrix"),
    "study.ranking_metrics": (
        "RANKING_METRICS",
        "area_under_curve",
        "gain_at_one",
        "hit_rate",
        "reciprocal_rank",
        "regret",
    ),
    "visible_parts": ("VisiblePart", "are_classes", "reason_against_split", "seen_edges", "seen_labels", "sight_of"),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
