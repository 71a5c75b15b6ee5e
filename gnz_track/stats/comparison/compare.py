"""From a results table to one comparison: read, admitted, tested within tasks and across them.

On the way each model is held against its baseline, whoever has learnt nothing, seed by seed; scores of all tasks are
taken together on one declared scale; and the variance of a task is split among models, seeds and splits.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy

from gnz_track import __version__
from gnz_track.errors import BadValue
from gnz_track.records import FrozenMapping
from gnz_track.stats.comparison.across_tasks import compare_across
from gnz_track.stats.comparison.admission import Finding, check_admission
from gnz_track.stats.comparison.cells import FACTORS, ModelCells, ScoreFrame, TaskCells, lay_out, read_cells
from gnz_track.stats.comparison.choices import MISSING_POLICIES, Choices, choose, value_for
from gnz_track.stats.comparison.comparison import (
    CellSummary,
    Comparison,
    FamilySummary,
    ModelAggregates,
    PairComparison,
    TaskComparison,
)
from gnz_track.stats.comparison.joins import join
from gnz_track.stats.comparison.task_pairs import compare_pairs, count_lasting, first_factor
from gnz_track.stats.design.overlap import (
    FOR_OVERLAP,
    draws_splits,
    recorded_sizes,
    write_assumed,
    write_given,
    write_overlap,
)
from gnz_track.stats.design.power import Attainability, attainability
from gnz_track.stats.estimates.aggregate import (
    Aggregate,
    Resampling,
    improve_probability,
    interquartile_mean,
    normalise,
    optimality_gap,
    performance_profile,
)
from gnz_track.stats.estimates.effects import mean_advantage
from gnz_track.stats.estimates.intervals import intervals_of, iqm
from gnz_track.stats.estimates.variance import Decomposition, decompose_variance
from gnz_track.stats.inputs import Floats, read_number
from gnz_track.stats.ranking.ranks import quantise_rows
from gnz_track.text import plural
from gnz_track.types import Direction

__all__ = ["aggregate_models", "compare", "decompose_task", "find_at_chance"]


BASELINE = "baseline"


def _baselines_of(model: ModelCells) -> dict[int, float | None]:
    """Return seed -> baseline, as far as the cells tell it."""
    return {cell.seed: read_number(cell.facts.get(BASELINE, "")) for cell in model.cells}


def _is_at_chance(task: TaskCells, model: ModelCells, *, alpha: float, margin: float | None = None) -> bool | None:
    """Tell whether a model has not been shown to be better than its baseline; None where that is not known.

    So it is where the interval of its advantage over the baseline reaches down to 0, and moreover some seed is no
    better, or the mean is within the margin: with few seeds an interval alone is too wide to say that nothing was
    learnt. What is worse than the baseline has learnt nothing either.
    """
    baselines = _baselines_of(model)
    if len(model.cells) < 2 or any(value is None for value in baselines.values()):
        return None
    joined = join(model.scores, baselines, direction=task.direction)
    found = mean_advantage(joined, alpha=alpha)
    if found.mean is None or joined.n_pairs < 2:
        return None
    low = found.mean if found.low is None else found.low
    return low <= 0 and (min(joined.quantised) <= 0 or (margin is not None and found.mean < margin))


def find_at_chance(
    entrants: Iterable[tuple[TaskCells, Sequence[ModelCells]]], choices: Choices
) -> dict[str, frozenset[str]]:
    """Return the labels of the models that are at chance, by task."""
    found = {}
    for task, models in entrants:
        margin = value_for(choices.margin, task.task, task.metric)
        at_chance = (model for model in models if _is_at_chance(task, model, alpha=choices.alpha, margin=margin))
        found[task.task] = frozenset(model.label for model in at_chance)
    return found


THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(21))
N_RESAMPLES = 2_000


def aggregate_models(
    layout: Sequence[TaskCells], tasks: Sequence[str], order: Sequence[str], choices: Choices
) -> tuple[ModelAggregates, ...]:
    """Return the aggregates of models over those tasks on which all of them have scores; none without declared bounds.

    Parameters
    ----------
    layout
        Cells by task.
    tasks
        Tasks that may count.
    order
        Labels of the models, the best one first.
    choices
        Bounds, level and resamples.
    """
    if choices.bounds is None or not tasks or not order:
        return ()
    unknown = [task.task for task in layout if value_for(choices.bounds, task.task, task.metric) is None]
    if unknown:
        raise BadValue("bounds", dict(_items(choices)), f"(worst, best) also for {', '.join(unknown)}")
    # A model that is ranked last for lack of a score has none to aggregate.
    chosen = [
        task
        for task in layout
        if task.task in set(tasks) and all(model.cells for model in task.models if model.label in order)
    ]
    strata = {name: [_normalised(task, name, choices) for task in chosen] for name in order}
    how = Resampling(
        n_resamples=min(choices.n_resamples, N_RESAMPLES), base_seed=choices.seed, level=1.0 - choices.alpha
    )
    return tuple(
        ModelAggregates(
            model=name,
            n_tasks=len(chosen),
            interquartile_mean=interquartile_mean(strata[name], resampling=how),
            optimality_gap=optimality_gap(strata[name], resampling=how),
            profile=performance_profile(strata[name], THRESHOLDS, resampling=how),
            improvement_by_first=_improvement(strata[order[0]], strata[name], how) if name != order[0] else None,
        )
        for name in order
    )


def decompose_task(task: TaskCells) -> Decomposition:
    """Split the variance of the scores of a task among models, seeds and what else the table tells of its runs."""
    cells = task.cells
    ids: dict[str, list[object]] = {"model": [cell.label for cell in cells], "seed": [cell.seed for cell in cells]}
    told = [name for name in FACTORS if all(name in cell.facts for cell in cells)]
    for name in told:
        ids[name] = [cell.facts[name] for cell in cells]
    if told:
        # A seed is then no more than the name of a run.
        del ids["seed"]
    return decompose_variance([cell.score for cell in cells if cell.score is not None], ids)


def _improvement(first: Sequence[Floats], other: Sequence[Floats], how: Resampling) -> Aggregate:
    return improve_probability(first, other, resampling=how)


def _normalised(task: TaskCells, name: str, choices: Choices) -> Floats:
    worst, best = value_for(choices.bounds, task.task, task.metric)
    model = next(model for model in task.models if model.label == name)
    return normalise(np.array([cell.score for cell in model.cells], dtype=np.float64), worst=worst, best=best)


def _items(choices: Choices) -> Sequence[tuple[str, object]]:
    return tuple(choices.bounds.items()) if isinstance(choices.bounds, dict) else ()


def compare(table: ScoreFrame, choices: Choices | None = None, **given: Any) -> Comparison:
    """Compare the models of a results table, within tasks and across them.

    ``table`` is a DataFrame with a row per cell: task, model, seed, score, metric and direction (up or down); of the
    further columns of a results table those are used that it has. ``given`` are fields of :class:`Choices` by name:
    alpha, margin, family, posthoc, test, adjustment, missing, ... Cells that differ in data, split, protocol or budget
    are refused; what deserves a warning is in ``findings``.
    """
    chosen = choose(choices, given)
    with _no_collector():
        return _compare(table, chosen)


def _compare(table: ScoreFrame, chosen: Choices) -> Comparison:
    cells = read_cells(table)
    layout = lay_out(cells)
    findings = check_admission(layout)
    entrants = [(task, _entrants(task, chosen)) for task in layout]
    at_chance = find_at_chance(entrants, chosen)
    pairs, families = compare_pairs(entrants, chosen, at_chance)
    findings += _note_overlap(entrants, pairs, chosen)
    by_task = {task: tuple(group) for task, group in itertools.groupby(pairs, key=lambda pair: pair.task)}
    summaries = _summarise(layout, chosen)
    tasks = []
    for task, models in entrants:
        scope = task.task if chosen.family == "task" else ""
        found = (by_task.get(task.task, ()), families.get(scope, ()))
        tasks.append(_compare_task(task, models, summaries[task.task], found, at_chance[task.task], chosen))
    every = [cell for task in tasks for cell in task.cells]
    across = compare_across(layout, chosen)
    ranks = across.ranks
    return Comparison(
        choices=chosen,
        models=tuple(model.label for model in layout[0].models),
        tasks=tuple(tasks),
        across=across,
        aggregates=() if ranks is None else aggregate_models(layout, ranks.tasks, ranks.order, chosen),
        n_cells=sum(cell.n_planned for cell in every),
        n_finished=sum(cell.n_finished for cell in every),
        n_failed=sum(cell.n_failed for cell in every),
        n_missing=sum(cell.n_missing for cell in every),
        missing_policy=MISSING_POLICIES[chosen.missing],
        findings=findings,
        versions=FrozenMapping({"gnz_track": __version__, "numpy": np.__version__, "scipy": scipy.__version__}),
    )


@contextlib.contextmanager
def _no_collector() -> Iterator[None]:
    """Make a hundred thousand records, none of which refers back, without a search for cycles every few thousand."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _note_overlap(
    entrants: Sequence[tuple[TaskCells, tuple[ModelCells, ...]]], pairs: Sequence[PairComparison], chosen: Choices
) -> tuple[Finding, ...]:
    """Return a warning of seeds that draw splits where the test that was chosen does not know of it; else its premises.

    The test stays the one that was chosen, and nothing is chosen by its outcome: the warning says what the other one
    would leave of the differences that were found.
    """
    if chosen.test == FOR_OVERLAP:
        return _note_assumptions([task for task, models in entrants if len(models) > 1], chosen)
    unused = _note_unused_sizes([task.task for task, _ in entrants], chosen)
    drawn = [(task, models) for task, models in entrants if draws_splits(task)]
    if not drawn:
        return unused
    tasks = [task for task, _ in drawn]
    names = tuple(task.task for task in tasks)
    counts = None
    # A family over all tasks is adjusted as a whole.
    if all(map(recorded_sizes, tasks)) and (chosen.family == "task" or len(drawn) == len(entrants)):
        own = [pair for pair in pairs if pair.task in names]
        other = dataclasses.replace(chosen, test=FOR_OVERLAP, split_sizes=None)
        counts = (sum(pair.is_apart for pair in own), count_lasting(drawn, own, other))
    text, examples = write_overlap(tasks, counts)
    return (Finding(column="split_digest", tasks=names, text=text, examples=examples), *unused)


def _note_unused_sizes(tasks: Sequence[str], chosen: Choices) -> tuple[Finding, ...]:
    """Return that sizes of splits were given by hand to a test that has no use for them."""
    if not chosen.split_sizes:
        return ()
    text = f"sizes of splits were given by hand, and the test {chosen.test} uses none; {FOR_OVERLAP} does"
    return (Finding(column="n_test", tasks=tuple(tasks), text=text),)


def _note_assumptions(tasks: Sequence[TaskCells], chosen: Choices) -> tuple[Finding, ...]:
    """Return what the test for overlapping splits took for granted, and where that is not what the runs recorded."""
    names = tuple(task.task for task in tasks)
    if not names:
        return ()
    text, examples = write_assumed(tasks, chosen)
    found = [Finding(column="split_digest", tasks=names, text=text, examples=examples)]
    against = [task for task in tasks if write_given([task], chosen)[1]]
    if against:
        text, examples = write_given(against, chosen)
        found.append(Finding(column="n_test", tasks=tuple(task.task for task in against), text=text, examples=examples))
    return tuple(found)


def _entrants(task: TaskCells, choices: Choices) -> tuple[ModelCells, ...]:
    """Return the models whose pairs were planned; under ``drop_model`` only those with all seeds."""
    planned = (model for model in task.models if model.was_run)
    return tuple(model for model in planned if choices.missing != "drop_model" or model.is_complete)


def _summarise(layout: Sequence[TaskCells], choices: Choices) -> dict[str, tuple[CellSummary, ...]]:
    """Return the summaries of all cells that were planned, by task; all intervals are computed at once."""
    planned = [(task, model) for task in layout for model in task.models if model.was_run]
    scores = [list(_scores_of(model)) for _, model in planned]
    intervals = intervals_of(
        scores, method=choices.interval, alpha=choices.alpha, n_resamples=choices.n_resamples, seed=choices.seed
    )
    found: dict[str, list[CellSummary]] = {}
    for (task, model), values, interval in zip(planned, scores, intervals, strict=True):
        summary = CellSummary(
            task=task.task,
            model=model.label,
            n_planned=len(task.seeds),
            n_finished=len(values),
            n_failed=len(model.failed_seeds),
            n_missing=len(model.missing_seeds),
            seeds=tuple(cell.seed for cell in model.cells),
            scores=tuple(values),
            run_ids=tuple(cell.run_id for cell in model.cells),
            mean=interval.mean,
            sd=interval.sd,
            iqm=iqm(values),
            interval=interval,
        )
        found.setdefault(task.task, []).append(summary)
    return {task: tuple(summaries) for task, summaries in found.items()}


def _compare_task(
    task: TaskCells,
    entrants: Sequence[ModelCells],
    cells: tuple[CellSummary, ...],
    found: tuple[tuple[PairComparison, ...], tuple[FamilySummary, ...]],
    at_chance: frozenset[str],
    choices: Choices,
) -> TaskComparison:
    pairs, families = found
    names = tuple(model.label for model in entrants)
    best = _best_model([cell for cell in cells if cell.model in names], task.direction)
    with_best = [pair for pair in pairs if best in {pair.first, pair.second}]
    return TaskComparison(
        task=task.task,
        metric=task.metric,
        direction=task.direction,
        seeds=task.seeds,
        models=names,
        at_chance=tuple(sorted(at_chance)),
        not_planned=tuple(model.label for model in task.models if not model.was_run),
        dropped=tuple(model.label for model in task.models if model.was_run and model.label not in names),
        cells=cells,
        pairs=pairs,
        families=families,
        best=best,
        not_distinguishable=tuple(
            pair.second if pair.first == best else pair.first
            for pair in with_best
            # A model without a score is no tie.
            if not pair.is_rejected and pair.n_pairs
        ),
        attainability=_attainability(pairs, families, choices),
        variance=decompose_task(task),
        margin=value_for(choices.margin, task.task, task.metric),
        note="" if len(names) > 1 else f"{plural(len(names), 'model')}: no pair to compare",
    )


def _scores_of(model: ModelCells) -> Iterator[float]:
    yield from (cell.score for cell in model.cells if cell.score is not None)


def _best_model(cells: Sequence[CellSummary], direction: Direction) -> str | None:
    """Return the model with the best mean, after rounding noise away; of equal ones the first by name."""
    means = [(cell.mean, cell.model) for cell in cells if cell.mean is not None]
    if not means:
        return None
    rounded = quantise_rows([[mean for mean, _ in means]])[0].tolist()
    best = max(rounded) if direction is Direction.up else min(rounded)
    return min(model for value, (_, model) in zip(rounded, means, strict=True) if value == best)


def _attainability(
    pairs: Sequence[PairComparison], families: Sequence[FamilySummary], choices: Choices
) -> Attainability | None:
    """Return what an exact test could reach on the pair with the most seeds; if that cannot reject, no pair can."""
    if not pairs:
        return None
    m = first_factor(choices.adjustment, families[-1].m if choices.test not in {"t", "wilcoxon"} else families[1].m)
    return attainability(max(pair.n_pairs for pair in pairs), m, alpha=choices.alpha)
