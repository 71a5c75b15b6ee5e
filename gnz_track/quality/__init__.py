"""Quality of datasets for benchmarks: how much edges and features each say, and how much models make of it.

``spaces`` cuts graphs into the sets of nodes between which distances are taken; ``graph_distances`` and
``feature_distances`` are these distances; ``comparators`` set the two against one another; ``complementarity`` does so
for whole datasets, ``large_spaces`` where matrices do not fit. ``separability`` tests whether models do worse once a
mode is gone; ``ratings`` are the published rules as data; ``verdict`` says keep, realign or deprecate, and why;
``audit`` does all of it for a task. ``rings_api`` has the names of the published package.

- `audit`: the audit of a dataset without training: complementarity under all perturbations, diversity, what
  follows of it
- `complementarity`: mode complementarity: how unlike the distances along edges and those between features are,
  graph by graph
- `distances`: distances between the nodes of a graph, for many small graphs at once
- `judgement`: the audit of a dataset with training: what separability adds to the record, from the scores of a
  sweep
- `large_graphs`: complementarity of one large space, block of columns by block: memory grows with its nodes,
  not with their square
- `measures`: measures of graphs: the fixed modes by name, and how distances are taken and compared
- `node_sets`: graphs cut into spaces: the sets of nodes between which distances are compared, packed by size
- `separability`: performance separability: tests of scores on the graphs as they are against those on perturbed
  ones
- `verdict`: keep, realign or deprecate: which rule a dataset meets, and why
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "audit": ("Depth", "RANDOM_MODES", "audit_dataset", "audit_graphs", "sample_neighbourhoods"),
    "complementarity": (
        "Agreement",
        "Complementarity",
        "Diversity",
        "agree",
        "diversity_of",
        "measure_complementarity",
    ),
    "distances": (
        "FeatureMetric",
        "GRAPH_METRICS",
        "GraphMetric",
        "Powers",
        "find_feature_metric",
        "laplacian_powers",
        "walk_powers",
    ),
    "judgement": ("Scores", "TRAINED_MODES", "gather_scores", "judge", "usual_test"),
    "large_graphs": ("MOST_DENSE", "compare_large"),
    "measures": (
        "ALONG_EDGES",
        "COMPLETE_FEATURES",
        "COMPLETE_GRAPH",
        "EMPTY_FEATURES",
        "EMPTY_GRAPH",
        "FIXED_MODES",
        "FROBENIUS",
        "L11",
        "Measure",
        "NORMS",
        "Norm",
        "ORIGINAL",
    ),
    "node_sets": ("Bucket", "GraphSet", "Spaces", "bucket_spaces", "cut_into_components", "gather", "take_whole"),
    "separability": ("Pair", "SeparabilitySettings", "TESTS", "compare_pairs", "compare_samples", "smallest_p"),
    "verdict": (
        "ALPHA",
        "CORRELATION",
        "DIVERSITY_MEAN",
        "DIVERSITY_SD",
        "DatasetVerdict",
        "Decision",
        "GRADES",
        "GradeScale",
        "HIGH",
        "Informativeness",
        "OF_STRUCTURE",
        "PERFORMANCE",
        "decide",
        "find_informativeness",
        "rate_informativeness",
        "score_performance",
    ),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
