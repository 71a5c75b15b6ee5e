"""Quality of datasets for benchmarks: how much edges and features each say, and how much models make of it.

``audit_dataset`` measures a task without training, ``judge_dataset`` adds what models scored on perturbed versions.

- `audit`: the audit without training: complementarity under all perturbations, diversity, the verdict
- `complementarity`: mode complementarity and mode diversity of every graph
- `distances`: distances between nodes, by their features and along edges
- `judgement`: the audit with training: separability, from the scores of a sweep
- `large_graphs`: complementarity of a graph whose matrices do not fit
- `measures`: fixed modes, measures and norms by name
- `node_sets`: graphs cut into the sets of nodes between which distances are taken
- `separability`: tests of scores on the graphs as they are against those on perturbed ones
- `verdict`: keep, realign or deprecate, by the published rules
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "audit": ("Depth", "RANDOM_MODES", "audit_dataset", "audit_graphs", "sample_neighbourhoods"),
    "complementarity": ("Complementarity", "agree", "diversity_of", "measure_complementarity"),
    "distances": ("GRAPH_METRICS", "find_feature_metric"),
    "judgement": ("TRAINED_MODES", "gather_scores", "judge_dataset", "usual_test"),
    "measures": ("FIXED_MODES", "FROBENIUS", "L11", "Measure", "NORMS", "Norm"),
    "separability": ("SeparabilitySettings", "compare_pairs", "compare_samples", "smallest_p"),
    "verdict": ("Decision", "decide", "find_informativeness"),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
