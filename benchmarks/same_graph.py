"""What scores of the very same graph for another kind of problem are worth, beside the mean over other graphs.

    OMP_NUM_THREADS=1 python benchmarks/same_graph.py FOLDER

FOLDER is that of model_selection.py: published scores, which are no part of this project. On the graphs that were
scored for links and for nodes, the settings that both kinds have are ranked for the one by scores for the other.
Printed is the mean AUC, the share of other settings that are ranked below the best one.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from model_selection import KINDS, TASK_TYPES, load, trial_of

from gnz_track.selection.selectors.training_set import fill_rows
from gnz_track.selection.study.glemos import list_scored_settings
from gnz_track.selection.study.ranking_metrics import area_under_curve

Array = np.ndarray[Any, Any]


def scores_in_common(arrays: Mapping[str, Array], kind: str, other: str) -> Array:
    """Return the scores of all graphs of a kind ``[graphs, m]`` for the settings that both kinds have."""
    names = [one.name for one in list_scored_settings(TASK_TYPES[kind])]
    # In one order for both kinds: among settings that tie for the best it decides which one counts.
    links, nodes = ([one.name for one in list_scored_settings(TASK_TYPES[key])] for key in sorted([kind, other]))
    return trial_of(arrays).scores[:, [names.index(one) for one in links if one in set(nodes)]]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    arrays = {kind: load(folder, kind) for kind in KINDS}
    graphs = {kind: arrays[kind]["graph_names"].tolist() for kind in KINDS}
    shared = sorted(set.intersection(*map(set, graphs.values())))
    rows = {kind: [graphs[kind].index(one) for one in shared] for kind in KINDS}
    for source, target in (("lp", "nc"), ("nc", "lp")):
        known = scores_in_common(arrays[source], source, target)
        asked = scores_in_common(arrays[target], target, source)[rows[target]]
        same = fill_rows(known[rows[source]])
        others = np.stack([np.nanmean(np.delete(known, row, axis=0), axis=0) for row in rows[source]])
        found = [float(np.nanmean(area_under_curve(asked, predicted))) for predicted in (same, others)]
        print(f"{source} to {target}: {len(asked)} graphs, the same graph {found[0]:.3f}, other graphs {found[1]:.3f}")


if __name__ == "__main__":
    main()
