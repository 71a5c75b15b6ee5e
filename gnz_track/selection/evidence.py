"""Evidence of a store for one setting or another: scores of past graphs, and their features.

Features are computed once and kept beside the data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch_geometric.data import Data

from gnz_track.datasets.card import CARD, read_card
from gnz_track.datasets.catalogue import SUITES, TASKS
from gnz_track.datasets.collation import collate
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.mapped_tensors import digest_of
from gnz_track.datasets.steady import hold_steady
from gnz_track.errors import BadValue
from gnz_track.files import write_whole
from gnz_track.records import FrozenMapping
from gnz_track.selection.features.feature_sets import FEATURE_SETS
from gnz_track.selection.graph_input import describe_frozen
from gnz_track.selection.matrix import PerformanceMatrix, comparable_rows, matrix_from_table
from gnz_track.selection.visible_parts import VisiblePart
from gnz_track.store.address import Address, parse_address
from gnz_track.store.listings import has_tables
from gnz_track.store.reader import read_table
from gnz_track.store.results_table import empty_table
from gnz_track.types import TaskType
from gnz_track.user_code.digests import describe_own

__all__ = [
    "FEWEST_GRAPHS",
    "Evidence",
    "PastRuns",
    "digest_of_graphs",
    "features_of_tasks",
    "gather_evidence",
    "name_apart",
    "read_past",
]


Real = NDArray[np.float64]
# Not a name that a dataset may have.
KEPT, _WHOLE = ".features", "whole"
_OF_CODE = 12


FEWEST_GRAPHS, FEWEST_SETTINGS, FEWEST_EXAMPLES = 3, 2, 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """Scores and features ``[graphs, d]`` of past graphs, in one order; ``sizes [graphs]`` are nodes and edges.

    ``most_edges`` is how many the largest of them has, ``epochs`` how many were allowed on a graph under a protocol.
    ``whole`` are features by graph with what a split keeps for tests: by these a graph is known again, whatever form it
    has, and by nothing else.
    """

    task_type: TaskType
    matrix: PerformanceMatrix
    features: NDArray[np.float64]
    sizes: NDArray[np.float64]
    notes: tuple[str, ...] = ()
    epochs: Mapping[tuple[str, str], int] = field(default_factory=dict)
    most_edges: float = np.inf
    whole: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def epochs_on(self, graph: str, protocol: str) -> int | None:
        """Return the epochs that make a new cell comparable: those of this graph, or the median over past ones."""
        if (graph, protocol) in self.epochs:
            return self.epochs[graph, protocol]
        past = self.past_epochs(protocol)
        return round(float(np.median(past))) if past else None

    def past_epochs(self, protocol: str) -> list[int]:
        """Return the epochs of each past graph under a protocol, in ascending order."""
        return sorted(n for (_, name), n in self.epochs.items() if name == protocol)


@dataclass(frozen=True, kw_only=True, eq=False)
class PastRuns:
    """The finished cells of a kind of problem, read once, and the store that they are in.

    ``left_out`` names what is not learnt from, where something is not.
    """

    address: Address
    task_type: TaskType
    table: pd.DataFrame
    left_out: str = ""

    def without(self, task: str, digest: str = "", alike: Sequence[str] = ()) -> PastRuns:
        """Return the runs that are not of a task, not of its data, and not of the data of tasks that are alike.

        Parameters
        ----------
        task
            Name of the task; nothing for a graph that is none.
        digest
            Digest of its data.
        alike
            Names of tasks with the same data in another form.
        """
        digests = {digest, *self.table.loc[self.table["task"].isin(alike), "dataset_digest"]} - {""}
        kept = self.table[(self.table["task"] != task) & ~self.table["dataset_digest"].isin(digests)]
        return replace(self, table=kept, left_out=task or "this graph")


def read_past(address: Address, task_type: TaskType) -> PastRuns:
    """Return the finished cells of a kind of problem; none where there is no store."""
    table = read_table(address) if has_tables(address) else empty_table()
    kept = table[(table["task_type"] == task_type) & (table["status"] == "finished")]
    return PastRuns(address=address, task_type=task_type, table=kept)


def gather_evidence(
    runs: PastRuns,
    *,
    features: str,
    home: Path,
    protocol: str = "",
    known_as: Mapping[str, str] = FrozenMapping({}),
) -> Evidence:
    """Return what past runs of one kind of problem say; too few are refused with the command that makes more.

    The same data are one graph, whatever tasks they are.

    Parameters
    ----------
    runs
        Results table and kind of problem.
    features
        Name of the set of features.
    home
        Folder of data and kept features.
    protocol
        Protocol whose scores count; without, the one under which most is known.
    known_as
        Digest of data -> the name that they are given.
    """
    address, task_type, past = runs.address, runs.task_type, runs.table
    if past.empty:
        raise _too_little(task_type, address, 0, left_out=runs.left_out)
    protocol = protocol or _usual_protocol(past)
    rows = comparable_rows(past, task_type, protocol=protocol)
    rows = comparable_rows(_one_name_each(rows, known_as), task_type, protocol=protocol)
    kind = past[past["protocol"] == protocol]
    matrix = matrix_from_table(rows, task_type)
    described = features_of_tasks(rows, matrix.graphs, name=features, home=home)
    missing = [name for name in matrix.graphs if name not in described]
    kept = matrix.take([name for name in matrix.graphs if name in described]) if described else matrix
    n_useful = int((np.isfinite(kept.scores).sum(axis=1) >= FEWEST_SETTINGS).sum()) if described else 0
    others = "; ".join(
        words for words in (_note_other_epochs(kind, rows), _note_other_protocols(past, protocol)) if words
    )
    if n_useful < FEWEST_GRAPHS:
        raise _too_little(task_type, address, n_useful, left_out=runs.left_out, missing=missing, others=others)
    kept = replace(kept, seconds=_usual_seconds(kept, rows))
    of_graphs = np.stack([described[name] for name in kept.graphs])
    return Evidence(
        task_type=task_type,
        matrix=kept,
        features=of_graphs,
        sizes=_graph_sizes(of_graphs, features),
        notes=(
            *_notes_on_evidence(kind, kept, missing),
            *(words for words in (others, _note_tiny_tests(rows)) if words),
        ),
        epochs={
            (str(task), str(protocol)): int(n)
            for task, protocol, n in zip(rows["task"], rows["protocol"], rows["epochs"], strict=True)
            if task in kept.graphs
        },
        most_edges=_graph_sizes(of_graphs, features, "n_edges.log").max(),
        whole=features_of_tasks(rows, kept.graphs, name=features, home=home, is_whole=True),
    )


def _usual_seconds(matrix: PerformanceMatrix, rows: pd.DataFrame) -> NDArray[np.float64]:
    """Return the median seconds of the runs of each cell: the first one of a process takes many times as long.

    What processors computed counts in seconds of theirs: those of the clock hold what ran beside.
    """
    known = rows.drop_duplicates("run_id").set_index("run_id")
    computed = known["cpu_seconds"].where(known["device"].isin(["", "cpu"]))
    of_runs = computed.fillna(known["seconds"])
    runs = [(*place, run_id) for place, ids in np.ndenumerate(matrix.run_ids) for run_id in ids]
    placed = pd.DataFrame(runs, columns=["row", "column", "run_id"])
    medians = placed.assign(seconds=placed["run_id"].map(of_runs)).groupby(["row", "column"])["seconds"].median()
    found = np.full(matrix.seconds.shape, np.nan)
    found[tuple(medians.index.get_level_values(side).to_numpy() for side in ("row", "column"))] = medians
    return found


def _usual_protocol(past: pd.DataFrame) -> str:
    """Return the protocol under which most settings are known on most tasks."""
    cells = past.drop_duplicates(["task", "model", "hyperparameters", "protocol"])
    return str(cells.groupby("protocol").size().sort_values(kind="stable").index[-1])


def _note_other_protocols(past: pd.DataFrame, protocol: str) -> str:
    """Say what is left out because it was split and trained otherwise; nothing where all is under one protocol."""
    others = past[past["protocol"] != protocol]
    if others.empty:
        return ""
    names = sorted(set(others["protocol"]))
    return (
        f"scores are those under {protocol}; {len(others)} cells under {', '.join(names)} are left out, which split or "
        f"train otherwise: --protocol {names[0].partition('@')[0]} asks for them instead"
    )


def _one_name_each(rows: pd.DataFrame, known_as: Mapping[str, str]) -> pd.DataFrame:
    """Return rows in which the same data have one name: as they are to be called, of the catalogue, or the first."""
    order = rows.assign(is_own=~rows["task"].isin(TASKS.names())).sort_values(["is_own", "start_time"], kind="stable")
    names = order.drop_duplicates("dataset_digest").set_index("dataset_digest")["task"].to_dict()
    return rows.assign(task=rows["dataset_digest"].map({**names, **known_as}))


def _too_little(
    task_type: TaskType,
    address: Address,
    n: int,
    *,
    left_out: str,
    missing: Sequence[str] = (),
    others: str = "",
) -> BadValue:
    lost = f" ({_say_missing(missing)})" if missing else ""
    aside = "".join(f"; {words}" for words in (f"{left_out} was left out" if left_out else "", others) if words)
    allowed = (
        f"at least {FEWEST_GRAPHS} past tasks of one metric, with {FEWEST_SETTINGS} settings or more each{lost}; "
        f"nothing can be learnt from fewer{aside}"
    )
    # Whoever named a store means that one.
    flag = "" if address == parse_address("") else f" --store {address}"
    command = f"{_sweep_command(task_type)}{flag}"
    return BadValue(f"number of {task_type} tasks to learn from in {address}", n, allowed, command=command)


def _say_missing(tasks: Sequence[str]) -> str:
    """Say of which tasks the data are not on this machine, and what can be done about it."""
    known = sorted({TASKS.get(name).dataset for name in tasks if name in TASKS})
    own = [name for name in tasks if name not in TASKS]
    parts = [f"the data of {', '.join(tasks)} are not on this machine"]
    parts += [f"fetch with: gnz data get {' '.join(known)}"] * bool(known)
    parts += [f"{', '.join(own)} came from you: recommend for that graph with --run, and it is here again"] * bool(own)
    return "; ".join(parts)


def _sweep_command(task_type: TaskType) -> str:
    """Return a command that leaves enough tasks of a kind, one more for whoever leaves one out."""
    sizes = {name: [TASKS.get(task).task_type for task in SUITES.get(name).tasks].count(task_type) for name in SUITES}
    enough = [name for name, n in sizes.items() if n > FEWEST_GRAPHS]
    # The smallest sweep that serves.
    suite = min(enough, key=lambda name: len(SUITES.get(name).tasks), default="")
    if suite:
        return f"gnz run --task-type {task_type} --suite {suite} --seeds 0-2"
    if sum(task.task_type is task_type for task in TASKS.rows()) <= FEWEST_GRAPHS:
        # So few come with the package that others have to be brought.
        return "gnz data add FILE --name NAME, of four files, and gnz run --task NAME,... --seeds 0-2"
    return f"gnz run --task A,B,C,D --seeds 0-2 (names: gnz tasks --task-type {task_type})"


def _note_tiny_tests(rows: pd.DataFrame) -> str:
    """Name the tasks whose scores rest on a handful of examples; nothing where there are none."""
    # Runs of before do not say how many there were.
    sizes = rows.groupby("task")["n_test"].median().dropna()
    few = [f"{task} ({n:.0f})" for task, n in sizes.items() if n < FEWEST_EXAMPLES]
    return f"scores rest on fewer than {FEWEST_EXAMPLES} test examples on {', '.join(few)}: mostly luck" if few else ""


def _note_other_epochs(kind: pd.DataFrame, rows: pd.DataFrame) -> str:
    """Say which cells of the metric may not be set against the others, and why; nothing where all may."""
    of_metric = kind[(kind["metric"] == rows["metric"].iloc[0]) & kind["score"].notna()]
    others = of_metric.drop(rows.index)
    if others.empty:
        return ""
    names = sorted(set(others["task"]))
    return (
        f"{len(others)} cells of {', '.join(names)} are left out: they were trained for other numbers of epochs than "
        "most settings there, or on older data"
    )


def _graph_sizes(rows: NDArray[np.float64], features: str, *parts: str) -> NDArray[np.float64]:
    """Return the sums over some logarithms among the features; of nodes and edges where none is named."""
    names = FEATURE_SETS.get(features).names
    columns = [names.index(name) for name in parts or ("n_nodes.log", "n_edges.log")]
    return np.asarray(np.expm1(rows[:, columns]).sum(axis=1))


def _notes_on_evidence(kind: pd.DataFrame, matrix: PerformanceMatrix, missing: list[str]) -> tuple[str, ...]:
    notes = []
    others = sorted(set(kind["metric"]) - {matrix.metric})
    if others:
        n = kind[kind["metric"].isin(others)]["task"].nunique()
        notes.append(f"{n} tasks scored by {', '.join(others)} say nothing here: scores are in {matrix.metric}")
    if missing:
        notes.append(_say_missing(missing))
    share = matrix.n_known / matrix.scores.size
    if share < 1:
        notes.append(f"{1 - share:.0%} of the cells of past graphs were never run and are filled in")
    return tuple(notes)


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
    parts = {task: None if is_whole else VisiblePart(task_type=TaskType(kind)) for task, kind in kinds.items()}
    folders: dict[str, Path] | None = None
    described: dict[str, Real] = {}
    for task in tasks:
        files = [_feature_file(home, digest, name, parts[task]) for digest in digests[task]]
        found = next((kept for file in files if (kept := _read_features(file, name)) is not None), None)
        if found is None:
            # Cards are read where something is missing, and once.
            folders = _folders_by_digest(home) if folders is None else folders
            found = _compute_features(
                dict(zip(digests[task], files, strict=True)), folders, name=name, visible=parts[task]
            )
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


def _compute_features(
    files: Mapping[str, Path], folders: Mapping[str, Path], *, name: str, visible: VisiblePart | None
) -> Real | None:
    """Return the features of the first digest of ``files`` that is in a folder, and keep them in its file."""
    digest = next((digest for digest in files if digest in folders), None)
    if digest is None:
        return None
    # What is kept bears the digest of the data, for ever: they must be those while it is computed.
    with hold_steady(folders[digest], digest=digest) as dataset:
        found = FEATURE_SETS.get(name).compute(describe_frozen(digest, dataset, visible).parts)
    _write_features(files[digest], name, found)
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


def _feature_file(home: Path, digest: str, name: str, visible: VisiblePart | None) -> Path:
    # Files without a split in their name are of before, when labels of test examples were in them.
    wanted = FEATURE_SETS.get(name)
    # A set of somebody's own has its code in the name; of ours the version says all.
    own = describe_own(wanted.compute).digest[:_OF_CODE]
    return (
        home / KEPT / f"{digest}-{wanted.label}-{f'{own}-' if own else ''}{visible.label if visible else _WHOLE}.json"
    )


def _read_features(file: Path, name: str) -> Real | None:
    try:
        kept = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    wanted = FEATURE_SETS.get(name).names
    is_whole = isinstance(kept, dict) and list(kept) == list(wanted)
    return np.array(list(kept.values()), dtype=np.float64) if is_whole else None


def _write_features(file: Path, name: str, found: Real) -> None:
    values = dict(zip(FEATURE_SETS.get(name).names, found.tolist(), strict=True))
    try:
        with write_whole(file) as unfinished:
            unfinished.write_text(json.dumps(values), encoding="utf-8")
    except OSError:
        # A folder that cannot be written costs a second the next time, and nothing else.
        return
