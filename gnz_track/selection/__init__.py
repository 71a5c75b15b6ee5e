"""Selection of models for a graph: settings ranked by what was measured on past graphs, without training.

``recommend`` answers for one graph, ``warm_starts`` for the beginning of a search. A setting is a model with its
hyperparameters under a protocol; a selector learns from past graphs, their features and scores, and ranks settings.

The way of ``recommend``: `graph_input` opens the graph, `evidence` reads what a store knows of others as a `matrix`,
`features` describe all of them, a selector orders the settings, `expectations` says what to expect.
``gnz recommend --run`` then trains the first of them by `confirmation`.

- `recommendation`: settings ranked for a graph, and why
- `confirmation`: the first of a ranking, trained, or taken as starting points of a search
- `expectations`: the expected score of each setting, and the epochs, seconds and seeds that a confirmation takes
- `evidence`: scores of past graphs in a store, and their features
- `matrix`: past scores as graphs x settings
- `graph_names`: files and names by which a user may call a graph
- `graph_input`: the graph behind a path, a name or an object
- `graph_files`: files of graphs in many forms
- `visible_parts`: what of a dataset may be seen under a split
- `feasibility`: reasons against a kind of problem, and past graphs that are the same
- `features/`: features of graphs in named, versioned sets
- `selectors/`: selectors, one row each
- `study/`: how well selectors do: testbeds, published settings and matrices in files
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "confirmation": ("model_of", "plan_confirmation", "scores_of", "task_of", "warm_starts"),
    "evidence": ("Evidence", "FEWEST_GRAPHS", "gather_evidence", "read_past"),
    "expectations": ("Expectation", "expect_scores"),
    "feasibility": ("reason_against",),
    "features.feature_sets": ("FEATURE_SETS", "FeatureSet", "GraphParts", "TASK_FEATURES", "features_of"),
    "features.graph": ("Contents", "Network", "describe_vector", "make_network"),
    "features.orbits": ("ORBITS", "count_edge_orbits", "count_subgraphs"),
    "graph_files": ("open_archive", "read_graph_file"),
    "graph_input": ("OpenedGraph", "open_graph", "view_whole"),
    "graph_names": ("check_graph_name", "find_graph_file"),
    "matrix": ("ModelSetting", "PerformanceMatrix", "bare_matrix", "comparable_rows", "matrix_from_table"),
    "recommendation": ("RankedSetting", "Recommendation", "rank_settings", "recommend"),
    "selectors.catalogue": ("Fitted", "SELECTORS", "fit_selector", "load_fitted"),
    "selectors.training_set": ("Arrays", "Selector", "TrainingSet"),
    "study.evaluation": (
        "Advantage",
        "ScoredGraphs",
        "SelectorFold",
        "SelectorScores",
        "compare_selectors",
        "cross_task",
        "fold_by_numbers",
        "fold_by_strata",
        "small_to_large",
        "try_selector",
        "try_selectors",
    ),
    "study.glemos": ("PublishedSetting", "list_published_settings", "list_scored_settings", "plan_published_settings"),
    "study.matrix_files": ("read_matrix", "write_matrix"),
    "study.ranking_metrics": (
        "RANKING_METRICS",
        "area_under_curve",
        "gain_at_one",
        "hit_rate",
        "reciprocal_rank",
        "regret",
    ),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
