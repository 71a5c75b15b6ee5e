"""Two sweeps against one another, before and after an upgrade, mine and theirs; and how their environments differ."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from gnz_track.errors import BadValue, NothingToCompare
from gnz_track.stats.comparison.cells import ScoredCell, read_cells
from gnz_track.stats.comparison.choices import choose
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.comparison.comparison import PairComparison, Verdict
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.artifacts import read_artifact
from gnz_track.store.past_runs import read_sweep_run
from gnz_track.user_code.modules import lasting_name

__all__ = ["ComparedCell", "Difference", "SweepComparison", "compare_environments", "compare_sweeps", "shared_rows"]


# What must be the same for two scores of one seed to be set against one another, and what a reader is told of.
REQUIRED = {
    "dataset_digest": "other data",
    "split_digest": "another split",
    "metric": "another metric",
    "direction": "another direction",
}
TOLD = {
    "protocol": "protocol",
    "epochs": "epochs",
    "version": "gnz_track",
    "git_commit": "git commit",
    "environment": "environment",
    "git_dirty": "changes that no commit holds",
    "device": "device",
    "instructions": "instructions of the processor",
}
TOLD_BY_TASK = {"dataset_digest": "digest of the data"}
# What belongs to a model: where sweeps differ in it, that model is named.
TOLD_BY_MODEL = {
    "model_digest": "source of the model",
    "model_source": "import path of the model",
    "hyperparameters": "hyperparameters of",
}
UNTOLD = "something that neither sweep tells, such as code of the model (fingerprints of cells)"
Key = tuple[str, str, int]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One thing in which two sweeps differ, with all of its values in each."""

    what: str
    first: str
    second: str
    tasks: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = f" ({', '.join(self.tasks)})" if self.tasks else ""
        return f"{self.what}{where}: {self.first or 'none'} -> {self.second or 'none'}"


@dataclass(frozen=True, kw_only=True)
class ComparedCell:
    """One (task, model) in both sweeps; ``advantage`` is that of the second one, over the seeds that both have."""

    task: str
    model: str
    metric: str
    n_seeds: int
    n_identical: int
    first: float | None
    second: float | None
    advantage: float | None
    low: float | None
    high: float | None
    p_adjusted: float | None
    verdict: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class SweepComparison:
    """Two sweeps: their cells in common, how many of them are bit-identical, and in what the sweeps differ."""

    first: str
    second: str
    cells: tuple[ComparedCell, ...]
    differences: tuple[Difference, ...]
    left_out: tuple[str, ...]
    n_compared: int
    n_identical: int
    choices: str

    def count(self, verdict: str) -> int:
        """Return how many (task, model) have a verdict."""
        return sum(cell.verdict == verdict for cell in self.cells)

    def __str__(self) -> str:
        found = ", ".join(f"{self.count(verdict)} {verdict}" for verdict in Verdict if self.count(verdict))
        return (
            f"{self.first} against {self.second}: {self.n_identical} of {self.n_compared} cells bit-identical; "
            f"of {len(self.cells)} pairs of task and model {found or 'none could be tested'}"
        )


def compare_sweeps(
    first: pd.DataFrame, second: pd.DataFrame, *, names: tuple[str, str], **choices: Any
) -> SweepComparison:
    """Compare the scores of two results tables, paired by seed within each (task, model).

    The verdicts are those of one family over all of them. Cells whose data, split or metric differ are left out.

    Parameters
    ----------
    first, second
        Results tables.
    names
        Names of the two sweeps.
    **choices
        Fields of :class:`Choices`.
    """
    chosen = dataclasses.replace(choose(None, choices), family="all")
    if names[0] == names[1]:
        raise BadValue("the second sweep", names[1], "another sweep than the first", command="gnz ls")
    cells = (_cells_of(first), _cells_of(second))
    common, left_out = _pair_up(*cells)
    if not common:
        because = left_out[0] if left_out else "they have no task, model and seed in common"
        raise NothingToCompare(f"{names[0]} and {names[1]} share no finished cell: {because}")
    places = [(f"{one.task} \u00b7 {one.label}", one, two) for one, two in common]
    table = pd.DataFrame(
        [
            {"task": task, "model": name, "seed": cell.seed, "score": cell.score, "metric": cell.metric}
            | {"direction": cell.direction, "run_id": cell.run_id}
            for task, one, two in places
            for name, cell in zip(names, (one, two), strict=True)
        ]
    )
    found = {pair.task: pair for pair in compare(table, chosen).pairs}
    by_task: dict[str, list[tuple[ScoredCell, ScoredCell]]] = {}
    for task, one, two in places:
        by_task.setdefault(task, []).append((one, two))
    return SweepComparison(
        first=names[0],
        second=names[1],
        cells=tuple(_compared(pairs, found.get(task), names) for task, pairs in by_task.items()),
        differences=tuple(_differences(*shared_rows(first, second))),
        left_out=tuple(left_out),
        n_compared=len(common),
        n_identical=sum(one.score == two.score for one, two in common),
        choices=str(chosen),
    )


def shared_rows(first: pd.DataFrame, second: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of the cells that both tables have: what is in one alone explains no difference of scores."""
    cells = (_cells_of(first), _cells_of(second))
    keys = cells[0].keys() & cells[1].keys()
    kept = []
    for table, found in zip((first, second), cells, strict=True):
        runs = {found[key].run_id for key in keys} - {""}
        places = {(found[key].task, found[key].model, found[key].seed) for key in keys}
        names = zip(table["task"], table["model"], table["seed"], strict=True)
        is_shared = [(task, model, int(seed)) in places for task, model, seed in names]
        by_run = table["run_id"].isin(runs) if "run_id" in table.columns else is_shared
        kept.append(table[by_run if runs else is_shared])
    return kept[0], kept[1]


def _cells_of(table: pd.DataFrame) -> dict[Key, ScoredCell]:
    return {(cell.task, cell.label, cell.seed): cell for cell in read_cells(table)}


def _pair_up(
    first: Mapping[Key, ScoredCell], second: Mapping[Key, ScoredCell]
) -> tuple[list[tuple[ScoredCell, ScoredCell]], list[str]]:
    """Return the scored cells that both have and that may be compared, and sentences about those that are left out."""
    common, differing = [], dict.fromkeys(REQUIRED.values(), 0)
    n_failed = 0
    for key in sorted(set(first) & set(second)):
        one, two = first[key], second[key]
        reason = next((name for column, name in REQUIRED.items() if _differ(one, two, column)), "")
        if one.score is None or two.score is None:
            n_failed += 1
        elif reason:
            differing[reason] += 1
        else:
            common.append((one, two))
    said = [f"{n} cells have {name} in the second sweep" for name, n in differing.items() if n]
    said += [f"{n_failed} cells have no score in one of them"] if n_failed else []
    for name, n in (("first", len(set(first) - set(second))), ("second", len(set(second) - set(first)))):
        said += [f"{n} cells are in the {name} sweep alone"] if n else []
    return common, said


def _differ(one: ScoredCell, two: ScoredCell, column: str) -> bool:
    """Tell whether two cells differ in a column; what one of them does not tell is not known to differ."""
    a, b = (cell.facts.get(column, "") or getattr(cell, column, "") for cell in (one, two))
    return bool(a and b and a != b)


def _compared(
    cells: Iterable[tuple[ScoredCell, ScoredCell]], pair: PairComparison | None, names: tuple[str, str]
) -> ComparedCell:
    pairs = list(cells)
    one, n_identical = pairs[0][0], sum(a.score == b.score for a, b in pairs)
    means = [sum(cell.score or 0.0 for cell in column) / len(pairs) for column in zip(*pairs, strict=True)]
    facts: dict[str, Any] = {
        "advantage": None,
        "low": None,
        "high": None,
        "p_adjusted": None,
        "verdict": "",
        "note": "",
    }
    if pair is not None:
        sign, mean = (-1.0 if pair.first == names[0] else 1.0), pair.effects.mean
        ends = [None if end is None else sign * end for end in (mean.low, mean.high)]
        low, high = ends if sign > 0 else reversed(ends)
        facts = {
            # 0.0, and not -0.0, where there is none.
            "advantage": None if mean.mean is None else sign * mean.mean + 0.0,
            "low": low,
            "high": high,
            "p_adjusted": pair.p_adjusted,
            "verdict": str(pair.verdict),
            "note": "bit-identical" if n_identical == len(pairs) else "; ".join([*_notes(pair)]),
        }
    return ComparedCell(
        task=one.task,
        model=one.label,
        metric=one.metric,
        n_seeds=len(pairs),
        n_identical=n_identical,
        first=means[0],
        second=means[1],
        **facts,
    )


def _notes(pair: PairComparison) -> Iterator[str]:
    yield from pair.remarks


def _differences(first: pd.DataFrame, second: pd.DataFrame) -> Iterator[Difference]:
    """Yield what the rows of shared cells tell differently: data by task, code by model, everything else over all."""
    for column, what in TOLD.items():
        yield from _difference(what, column, first, second)
    for column, what in TOLD_BY_TASK.items():
        for task in sorted(set(first["task"])):
            yield from _difference(what, column, *(rows[rows["task"] == task] for rows in (first, second)), task=task)
    for column, what in TOLD_BY_MODEL.items():
        for model in sorted(set(first["model"])):
            rows = [table[table["model"] == model] for table in (first, second)]
            # What a sweep of before did not tell is not known to differ.
            if all(_values_of(part, column) for part in rows):
                yield from _difference(f"{what} {model}", column, rows[0], rows[1])
    yield from _untold(first, second)


def _difference(
    what: str, column: str, first: pd.DataFrame, second: pd.DataFrame, *, task: str = ""
) -> Iterator[Difference]:
    one, two = _values_of(first, column), _values_of(second, column)
    if one != two:
        yield Difference(
            what=what, first=", ".join(sorted(one)), second=", ".join(sorted(two)), tasks=(task,) if task else ()
        )


def _untold(first: pd.DataFrame, second: pd.DataFrame) -> Iterator[Difference]:
    """Yield that cells are others though all that is told of them is the same."""
    decisive = ("dataset_digest", "protocol", "epochs", "hyperparameters", "model_digest", "model_source", "metric")
    keys = ["task", "model", "seed"]
    if not {"fingerprint", *keys} <= {*first.columns} & {*second.columns}:
        return
    columns = [name for name in decisive if name in first.columns and name in second.columns]
    both = first.merge(second, on=keys, suffixes=("_a", "_b"))
    is_told = pd.Series(data=False, index=both.index)
    for name in columns:
        a, b = both[f"{name}_a"].astype(str), both[f"{name}_b"].astype(str)
        if name == "model_source":
            a, b = a.map(lasting_name), b.map(lasting_name)
        is_told |= (a != b) & (a != "") & (b != "")
    is_other = (both["fingerprint_a"] != both["fingerprint_b"]) & (both["fingerprint_a"] != "")
    found = both[is_other & (both["fingerprint_b"] != "") & ~is_told]
    if len(found):
        tasks = tuple(sorted(set(found["task"])))
        models = ", ".join(sorted(set(found["model"])))
        yield Difference(what=UNTOLD, first=models, second=models, tasks=tasks)


def _values_of(rows: pd.DataFrame, column: str) -> set[str]:
    if column not in rows.columns:
        return set()
    found = {str(value) for value in rows[column].dropna()} - {""}
    return set(map(lasting_name, found)) if column == "model_source" else found


FACTS = {"python": "Python", "os": "operating system", "cpu": "processor", "gpu": "GPU", "cuda": "CUDA"}


def compare_environments(address: Address, first: pd.DataFrame, second: pd.DataFrame) -> list[Difference]:
    """Return the differences between the environments of two results tables; none where they are the same one.

    Parameters
    ----------
    address
        Store of both tables.
    first, second
        Results tables.
    """
    digests = [set(table["environment"]) - {""} for table in (first, second)]
    if digests[0] == digests[1]:
        return []
    found = [_read_environment(address, table) for table in (first, second)]
    if not all(found):
        return []
    return [*_compare_facts(*found), *_compare_packages(*found)]


def _read_environment(address: Address, table: pd.DataFrame) -> dict[str, Any]:
    """Return the environment that most cells of a table ran in; nothing where its file is gone."""
    ran = table[table["environment"] != ""]
    if ran.empty:
        return {}
    (suite, sweep, digest) = ran.groupby(["suite", "sweep", "environment"]).size().idxmax()
    run = read_sweep_run(address, suite=str(suite), sweep=str(sweep))
    text = read_artifact(address, run.artifacts, schema.environment_file(str(digest))) if run else None
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _compare_facts(first: dict[str, Any], second: dict[str, Any]) -> Iterator[Difference]:
    for name, what in FACTS.items():
        one, two = str(first.get(name, "")), str(second.get(name, ""))
        if one != two:
            yield Difference(what=what, first=one, second=two)


def _compare_packages(first: dict[str, Any], second: dict[str, Any]) -> Iterator[Difference]:
    one, two = first.get("packages", {}), second.get("packages", {})
    for name in sorted({*one, *two}):
        if one.get(name) != two.get(name):
            yield Difference(what=f"package {name}", first=str(one.get(name, "")), second=str(two.get(name, "")))
