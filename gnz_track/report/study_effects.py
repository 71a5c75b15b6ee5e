"""Results of a study: effects of its factors, paired and with verdicts, or components of the spread of scores.

A level and the reference are paired by task, model, seed and the levels of all other factors. Of one seed the pairs at
several levels of other factors are no independent observations: they are averaged, and seeds are what a test counts. A
seed without a score in one of the cells of such a mean is left out. All effects of one factor are a family for Holm's
correction; so are all that one factor does by levels of another, and all changes of these.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from gnz_track.stats.comparison.admission import Finding
from gnz_track.stats.comparison.choices import Choices, choose
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.comparison.comparison import PairComparison
from gnz_track.stats.estimates.variance import Decomposition, decompose_variance
from gnz_track.stats.inputs import read_number
from gnz_track.text import plural
from gnz_track.types import Value
from gnz_track.variant_labels import read_changes

__all__ = [
    "FactorEffect",
    "ScoreSpread",
    "StudyComponents",
    "StudyEffects",
    "find_components",
    "find_effects",
    "write_level",
]

# Sides of a pair, in the order in which they are compared: an advantage is that of the level.
LEVEL, REFERENCE = "level", "reference"
# Of the cells behind a mean the first tells these; an average has no run.
_TOLD = ("dataset_digest", "split_digest", "n_train", "n_test", "metric", "direction")
_OF_OVERLAP = ("split_digest", "n_test")
_TRAIN_SIZE = "train_size"
_BASELINE = "baseline"
# Between the task and the model of a comparison.
_BESIDE = " \u00b7 "

Levels = tuple[Value | None, ...]
# Cells of one task and model: levels of all factors -> seed -> row.
Cells = dict[Levels, dict[int, Mapping[str, Any]]]


@dataclass(frozen=True, kw_only=True)
class FactorEffect:
    """Effect of one level of a factor for a model on a task, held against the reference of the factor.

    ``at`` is the level of another factor at which that is so, and empty where it is the mean over all others. A
    ``is_change`` says by how much the effect there is another than at the reference of that other factor. ``pair`` is
    the test, whose advantages are positive where the level is better, or where its effect is better; ``n_missing``
    counts the cells without a score.
    """

    factor: str
    level: Value
    reference: Value
    task: str
    model: str
    metric: str
    direction: str
    mean: float | None
    mean_of_reference: float | None
    n_combinations: int
    n_missing: int
    pair: PairComparison
    other: str = ""
    at: Value = ""
    is_change: bool = False

    @property
    def outcome(self) -> str:
        """The verdict, and which of the two is better where it tells."""
        if not self.pair.n_pairs:
            return "no pair of scores"
        mean = self.pair.effects.mean.mean
        if not self.pair.is_apart or mean is None:
            return str(self.pair.verdict)
        word = "better" if mean > 0 else "worse"
        return word if str(self.pair.verdict) == "different" else f"{word}, but {self.pair.verdict}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on missing cells, on the test, and on the differences."""
        missing = (f"{plural(self.n_missing, 'cell')} without a score",) if self.n_missing else ()
        return (*missing, *self.pair.remarks)


@dataclass(frozen=True, kw_only=True)
class StudyEffects:
    """All effects of a study: ``main`` over all other levels, ``by_level`` of another factor, and their ``changes``.

    ``factors`` have their reference first; ``missing`` names cells without a score, and why, ``left_out`` pairs of a
    factor and a model of whose cells none has it.
    """

    factors: Mapping[str, tuple[Value, ...]]
    main: tuple[FactorEffect, ...]
    by_level: tuple[FactorEffect, ...]
    changes: tuple[FactorEffect, ...]
    missing: tuple[tuple[str, str, int, str], ...]
    left_out: tuple[str, ...]
    findings: tuple[Finding, ...]
    n_cells: int
    choices: Choices

    @property
    def sentences(self) -> list[str]:
        """A sentence for each level: on how many pairs of task and model it is better, worse, or neither."""
        keys = dict.fromkeys((one.factor, repr(one.level)) for one in self.main)
        return [_summarise([one for one in self.main if (one.factor, repr(one.level)) == key]) for key in keys]


def find_effects(table: pd.DataFrame, factors: Mapping[str, Sequence[Value]], **choices: Any) -> StudyEffects:
    """Find the effects of factors in a results table whose cells are variants by them.

    Parameters
    ----------
    table
        Results table of all combinations.
    factors
        Levels by the name of each factor, the reference first.
    **choices
        Fields of :class:`Choices`, such as alpha, margin and test.
    """
    chosen = replace(choose(None, choices), family="all")
    known = {name: tuple(levels) for name, levels in factors.items()}
    blocks, findings = _read_blocks(table, known), list[Finding]()
    couples = list(itertools.combinations(known, 2))

    def test(questions: Iterable[_Question]) -> tuple[FactorEffect, ...]:
        return tuple(one for asked in questions for one in _test(_plan(blocks, known, asked), chosen, findings))

    return StudyEffects(
        factors=known,
        main=test(_Question(name=name) for name in known),
        by_level=test(_Question(name=name, other=other) for name, other in couples),
        changes=test(_Question(name=name, other=other, is_change=True) for name, other in couples),
        missing=tuple(_list_missing(table, known)),
        left_out=tuple(_list_unused(blocks, known)),
        findings=tuple(_merge(findings)),
        n_cells=len(table),
        choices=chosen,
    )


@dataclass(frozen=True, kw_only=True)
class ScoreSpread:
    """Components of the spread of one model's scores on one task, by the factors whose levels were drawn."""

    task: str
    model: str
    metric: str
    direction: str
    found: Decomposition


@dataclass(frozen=True, kw_only=True)
class StudyComponents:
    """Components of all models on all tasks; ``missing`` names cells without a score, and why."""

    factors: tuple[str, ...]
    spreads: tuple[ScoreSpread, ...]
    missing: tuple[tuple[str, str, int, str], ...]
    n_cells: int

    @property
    def sentences(self) -> list[str]:
        """A sentence for each model and task: the components, and where another run tells most of the mean."""
        return [f"{one.model} on {one.task}: {one.found}" for one in self.spreads]


def find_components(table: pd.DataFrame, factors: Mapping[str, Sequence[Value]]) -> StudyComponents:
    """Find how much of the spread of scores comes from each factor of a study, and how much from none of them alone.

    Parameters
    ----------
    table
        Results table of all combinations.
    factors
        Levels by the name of each factor.
    """
    known = {name: tuple(levels) for name, levels in factors.items()}
    spreads = []
    for (task, model), block in _read_blocks(table, known).items():
        cells = [
            ((*levels, seed), cell)
            for levels, by_seed in block.items()
            for seed, cell in by_seed.items()
            if _score(cell) is not None
        ]
        if not cells:
            continue
        # One seed of cells beside those of the factors is no factor.
        names = (*known, "seed") if len({place[-1] for place, _ in cells}) > 1 else tuple(known)
        ids = {name: [place[number] for place, _ in cells] for number, name in enumerate(names)}
        found = decompose_variance([float(cell["score"]) for _, cell in cells], ids)
        about = {name: str(cells[0][1][name]) for name in ("metric", "direction")}
        spreads.append(ScoreSpread(task=task, model=model, found=found, **about))
    return StudyComponents(
        factors=tuple(known),
        spreads=tuple(spreads),
        missing=tuple(_list_missing(table, known)),
        n_cells=len(table),
    )


def write_level(factor: str, level: Value) -> str:
    """Return a level with the name of its factor, as labels of variants have it."""
    return f"{factor}={level}"


def _merge(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield what was found of several families once, with the tasks that it is about and the command of a study."""
    by_text: dict[tuple[str, str], dict[str, None]] = {}
    for one in findings:
        names = dict.fromkeys(name.partition(_BESIDE)[0] for name in one.tasks)
        by_text.setdefault((one.column, one.text.replace("gnz report", "gnz study NAME")), {}).update(names)
    for (column, text), tasks in by_text.items():
        yield Finding(column=column, tasks=tuple(tasks), text=text)


def _summarise(effects: Sequence[FactorEffect]) -> str:
    first = effects[0]
    counts: dict[str, int] = {}
    for one in effects:
        counts[one.outcome] = counts.get(one.outcome, 0) + 1
    said = ", ".join(f"{word} on {n}" for word, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    of = plural(len(effects), "pair")
    return f"{write_level(first.factor, first.level)} against {first.reference}: {said} of {of} of task and model"


def _read_blocks(table: pd.DataFrame, factors: Mapping[str, tuple[Value, ...]]) -> dict[tuple[str, str], Cells]:
    """Return the cells of each task and model by levels and seed; a scored one goes before attempts without a score."""
    blocks: dict[tuple[str, str], Cells] = {}
    for row in table.to_dict("records"):
        levels = _levels_of(row, factors)
        cells = blocks.setdefault((str(row["task"]), str(row["model"])), {}).setdefault(levels, {})
        if _score(cells.get(int(row["seed"]))) is None:
            cells[int(row["seed"])] = row
    return blocks


def _levels_of(row: Mapping[Any, Any], factors: Mapping[str, tuple[Value, ...]]) -> Levels:
    """Return the levels of a cell, None where a factor changes nothing of it."""
    changed = read_changes(str(row.get("hyperparameters") or "{}")) or {}
    return tuple(
        next((one for one in levels if name in changed and _are_same(one, changed[name])), None)
        for name, levels in factors.items()
    )


def _are_same(level: Value, value: Any) -> bool:
    return isinstance(level, bool) is isinstance(value, bool) and level == value


def _score(row: Mapping[str, Any] | None) -> float | None:
    if row is None or row.get("status", "finished") != "finished" or pd.isna(row["score"]):
        return None
    return float(row["score"])


@dataclass(frozen=True, kw_only=True)
class _Contrast:
    """Two sides that are to be compared, and the effect that this is, without its test.

    A side is a sum of means: each part of it names the combinations of levels that it is the mean of.
    """

    facts: Mapping[str, Any]
    block: Cells
    sides: Mapping[str, Sequence[Sequence[Levels]]]


@dataclass(frozen=True, kw_only=True)
class _Question:
    """A factor, and the other one by whose levels its effects are asked for; without one they are means."""

    name: str
    other: str = ""
    is_change: bool = False


def _plan(
    blocks: Mapping[tuple[str, str], Cells], factors: Mapping[str, tuple[Value, ...]], asked: _Question
) -> Iterator[_Contrast]:
    """Yield a contrast for each level of a factor, task and model, and each level of the other factor.

    A change is the effect at a level less that at the reference of the other factor, (a, b) - (ref, b) - (a, ref) +
    (ref, ref), as the difference of two sums of scores: rounding is then told by the size of scores, as everywhere.
    """
    reference, *levels = factors[asked.name]
    places = factors[asked.other] if asked.other else ("",)
    for (task, model), block in blocks.items():
        for level, at in itertools.product(levels, places[1:] if asked.is_change else places):
            sides = _pair_up(block, factors, asked, (level, at))
            usual = _pair_up(block, factors, asked, (level, places[0])) if asked.is_change else None
            if sides is None or (asked.is_change and usual is None):
                continue
            first, second = sides
            parts = {LEVEL: [first], REFERENCE: [second]}
            if usual is not None:
                parts = {LEVEL: [first, usual[1]], REFERENCE: [second, usual[0]]}
            facts = {"task": task, "model": model, "factor": asked.name, "level": level, "reference": reference}
            more = {"other": asked.other, "at": at, "is_change": asked.is_change}
            yield _Contrast(facts={**facts, **more}, block=block, sides=parts)


def _pair_up(
    block: Cells, factors: Mapping[str, tuple[Value, ...]], asked: _Question, place: tuple[Value, Value]
) -> tuple[list[Levels], list[Levels]] | None:
    """Return the combinations with a level and those with the reference that agree in all else; None without any.

    A combination that has no seed with a score on both sides says nothing, and would take all seeds from the others:
    it is left out, unless there is no other.
    """
    level, at = place
    fixed: dict[str, Value] = {asked.other: at} if asked.other else {}
    found: dict[bool, list[tuple[Levels, Levels]]] = {True: [], False: []}
    for levels in block:
        named = dict(zip(factors, levels, strict=True))
        if named[asked.name] == level and all(named[name] == value for name, value in fixed.items()):
            against = tuple({**named, asked.name: factors[asked.name][0]}.values())
            if against in block:
                found[_share_seeds(block[levels], block[against])].append((levels, against))
    pairs = found[True] or found[False]
    return ([one for one, _ in pairs], [other for _, other in pairs]) if pairs else None


def _share_seeds(first: Mapping[int, Mapping[str, Any]], second: Mapping[int, Mapping[str, Any]]) -> bool:
    return any(_score(row) is not None and _score(second.get(seed)) is not None for seed, row in first.items())


def _test(contrasts: Iterable[_Contrast], choices: Choices, findings: list[Finding]) -> list[FactorEffect]:
    """Test contrasts as one family."""
    planned = list(contrasts)
    rows = [row for place, one in enumerate(planned) for row in _rows_of(one, name=_name_block(place, one))]
    if not any(row["score"] is not None for row in rows):
        return []
    # What a table does not tell is not checked; a column that no cell knows is one that it does not tell.
    found = compare(pd.DataFrame(rows).dropna(axis="columns", how="all"), choices)
    findings += [one for one in found.findings if one.column in _OF_OVERLAP]
    pairs = {pair.task: pair for pair in found.pairs}
    return [_effect(one, pairs[_name_block(place, one)]) for place, one in enumerate(planned)]


def _name_block(place: int, contrast: _Contrast) -> str:
    """Return a name by which a contrast is found again, and known in what is said of it."""
    facts = contrast.facts
    at = f", {write_level(facts['other'], facts['at'])}" if facts["other"] else ""
    return f"{facts['task']}{_BESIDE}{facts['model']}, {write_level(facts['factor'], facts['level'])}{at} #{place + 1}"


def _effect(contrast: _Contrast, pair: PairComparison) -> FactorEffect:
    row = _first_row(contrast)
    means: dict[str, float | None] = dict.fromkeys(contrast.sides)
    if pair.n_pairs and not contrast.facts["is_change"]:
        means = {side: _mean_of(contrast, side, contrast.sides) for side in contrast.sides}
    cells = {levels for parts in contrast.sides.values() for part in parts for levels in part}
    return FactorEffect(
        **contrast.facts,
        metric=str(row["metric"]),
        direction=str(row["direction"]),
        mean=means[LEVEL],
        mean_of_reference=means[REFERENCE],
        n_combinations=len(contrast.sides[LEVEL][0]),
        n_missing=sum(_score(cell) is None for levels in cells for cell in contrast.block[levels].values()),
        pair=pair,
    )


def _mean_of(contrast: _Contrast, side: str, sides: Iterable[str]) -> float:
    """Return the mean of a side over the seeds that all sides have."""
    shared = [seed for seed in _seeds_of(contrast) if all(_value(contrast, one, seed) is not None for one in sides)]
    return sum(_value(contrast, side, seed) or 0.0 for seed in shared) / len(shared)


def _rows_of(contrast: _Contrast, *, name: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each side and seed, as a results table has them."""
    has_baseline = not contrast.facts["is_change"]
    for side, parts in contrast.sides.items():
        for seed in _seeds_of(contrast):
            cells = [contrast.block[levels].get(seed) for part in parts for levels in part]
            score = _value(contrast, side, seed)
            first = next((cell for cell in cells if cell is not None), {})
            failed = score is None and any(cell is not None and cell.get("status") == "failed" for cell in cells)
            size = (read_changes(str(first.get("hyperparameters") or "{}")) or {}).get(_TRAIN_SIZE)
            yield {
                "task": name,
                "model": side,
                "seed": seed,
                "score": score,
                "status": "finished" if score is not None else "failed" if failed else "missing",
                **{column: first.get(column) or None for column in _TOLD},
                # A smaller training part is another split by intention.
                "hyperparameters": json.dumps({_TRAIN_SIZE: size}) if size is not None else None,
                _BASELINE: _value(contrast, side, seed, column=_BASELINE) if has_baseline else None,
            }


def _seeds_of(contrast: _Contrast) -> list[int]:
    parts = itertools.chain(*contrast.sides.values())
    return sorted({seed for part in parts for levels in part for seed in contrast.block[levels]})


def _value(contrast: _Contrast, side: str, seed: int, *, column: str = "score") -> float | None:
    """Return the sum of means of a side on a seed; None where a cell has none."""
    total = 0.0
    for part in contrast.sides[side]:
        values = [_number(contrast.block[levels].get(seed), column) for levels in part]
        if any(value is None for value in values):
            return None
        total += math.fsum(value for value in values if value is not None) / len(values)
    return total


def _number(row: Mapping[str, Any] | None, column: str) -> float | None:
    if column == "score":
        return _score(row)
    return None if row is None else read_number(row.get(column, ""))


def _first_row(contrast: _Contrast) -> Mapping[str, Any]:
    """Return a cell of a contrast, one with a score where there is one."""
    levels = itertools.chain(*itertools.chain(*contrast.sides.values()))
    rows = [row for one in levels for row in contrast.block[one].values()]
    return next((row for row in rows if _score(row) is not None), rows[0])


def _list_missing(table: pd.DataFrame, factors: Mapping[str, tuple[Value, ...]]) -> Iterator[tuple[str, str, int, str]]:
    """Yield (task, model with its levels, seed, why) of each cell without a score."""
    for row in table.to_dict("records"):
        if _score(row) is None:
            levels = zip(factors, _levels_of(row, factors), strict=True)
            shown = " ".join(write_level(name, level) for name, level in levels if level is not None)
            reason = " ".join(str(row.get("error") or row.get("status") or "no score").split())
            yield str(row["task"]), f"{row['model']} {shown}".strip(), int(row["seed"]), reason


def _list_unused(blocks: Mapping[tuple[str, str], Cells], factors: Mapping[str, tuple[Value, ...]]) -> Iterator[str]:
    """Yield a sentence for each factor that changes nothing of a model on a task."""
    for place, name in enumerate(factors):
        for (task, model), block in blocks.items():
            if all(levels[place] is None for levels in block):
                yield f"{name} changes nothing of {model} on {task}"
