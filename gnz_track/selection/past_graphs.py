"""Features of the graphs that a store has scores for, each computed once and kept beside the data."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch_geometric.data import Data

from gnz_track.datasets.card import CARD, read_card
from gnz_track.datasets.catalogue import TASKS
from gnz_track.datasets.collation import collate
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.mapped import digest_of
from gnz_track.datasets.steady import hold_steady
from gnz_track.selection.features.feature_sets import FEATURE_SETS
from gnz_track.selection.graph_sources import describe_frozen
from gnz_track.selection.sights import VisiblePart
from gnz_track.types import TaskType
from gnz_track.user_code.digests import describe_own

__all__ = ["digest_of_graphs", "features_of_tasks", "name_apart"]

Real = NDArray[np.float64]
# Not a name that a dataset may have.
KEPT, _WHOLE = ".features", "whole"
_OF_CODE = 12


def features_of_tasks(
    table: pd.DataFrame, tasks: Iterable[str], *, name: str, home: Path, is_whole: bool = False
) -> dict[str, Real]:
    """Return the features of those tasks whose data, or whose kept features, are on this machine.

    A task whose data differ from seed to seed is described by one of its datasets, the same every time. Each is
    described as the problem that the table's rows are of.

    Parameters
    ----------
    table
        Results table, with rows of one version of the data of each task.
    tasks
        Names of tasks.
    name
        Name of the set of features.
    home
        Folder of data and kept features.
    is_whole
        Whether to describe what the usual split of seed 0 keeps for tests as well.
    """
    digests = {task: sorted(set(found)) for task, found in table.groupby("task")["dataset_digest"]}
    kinds = table.groupby("task")["task_type"].first()
    sights = {task: None if is_whole else VisiblePart(task_type=TaskType(kind)) for task, kind in kinds.items()}
    folders: dict[str, Path] | None = None
    described: dict[str, Real] = {}
    for task in tasks:
        files = [_file(home, digest, name, sights[task]) for digest in digests[task]]
        found = next((kept for file in files if (kept := _read(file, name)) is not None), None)
        if found is None:
            # Cards are read where something is missing, and once.
            folders = _folders_by_digest(home) if folders is None else folders
            found = _compute(dict(zip(digests[task], files, strict=True)), folders, name=name, sight=sights[task])
        if found is not None:
            described[task] = found
    return described


def digest_of_graphs(graphs: Sequence[Data]) -> str:
    """Return the digest under which a store knows a dataset, frozen or in memory."""
    return graphs.digest if isinstance(graphs, FrozenDataset) else digest_of(collate(graphs).tensors)


def name_apart(name: str, digest: str, table: pd.DataFrame) -> str:
    """Return a name for a graph of the user's own that no other graph of a results table bears.

    Two files may be called the same; the store keeps both, the second one with the beginning of its digest. One graph
    in two files has the name that it had first.

    Parameters
    ----------
    name, digest
        Name of the graph, and digest of its data.
    table
        Results table.
    """
    owners = table.loc[(table["dataset_digest"] == digest) & ~table["task"].isin(TASKS.names())]
    if len(owners):
        return str(owners.sort_values("start_time", kind="stable")["task"].iloc[0])
    return f"{name}-{digest[:8]}" if (table["task"] == name).any() else name


def _compute(
    files: Mapping[str, Path], folders: Mapping[str, Path], *, name: str, sight: VisiblePart | None
) -> Real | None:
    """Return the features of the first digest of ``files`` that is in a folder, and keep them in its file."""
    digest = next((digest for digest in files if digest in folders), None)
    if digest is None:
        return None
    # What is kept bears the digest of the data, for ever: they must be those while it is computed.
    with hold_steady(folders[digest], digest=digest) as dataset:
        found = FEATURE_SETS.get(name).compute(describe_frozen(digest, dataset, sight).parts)
    _write(files[digest], name, found)
    return found


def _folders_by_digest(home: Path) -> dict[str, Path]:
    found = {}
    for path in sorted(home.glob(f"*/**/{CARD}")):
        try:
            found[read_card(path).digest] = path.parent
        except (ValueError, OSError):
            # A card that does not read says nothing of any digest; whoever opens its dataset is told.
            continue
    return found


def _file(home: Path, digest: str, name: str, sight: VisiblePart | None) -> Path:
    # Files without a split in their name are of before, when labels of test examples were in them.
    wanted = FEATURE_SETS.get(name)
    # A set of somebody's own has its code in the name; of ours the version says all.
    own = describe_own(wanted.compute).digest[:_OF_CODE]
    return home / KEPT / f"{digest}-{wanted.label}-{f'{own}-' if own else ''}{sight.label if sight else _WHOLE}.json"


def _read(file: Path, name: str) -> Real | None:
    try:
        kept = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    wanted = FEATURE_SETS.get(name).names
    is_whole = isinstance(kept, dict) and list(kept) == list(wanted)
    return np.array(list(kept.values()), dtype=np.float64) if is_whole else None


def _write(file: Path, name: str, found: Real) -> None:
    values = dict(zip(FEATURE_SETS.get(name).names, found.tolist(), strict=True))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_name(file.name + ".part")
        unfinished.write_text(json.dumps(values), encoding="utf-8")
        unfinished.replace(file)
    except OSError:
        # A folder that cannot be written costs a second the next time, and nothing else.
        return
