"""All models over all tasks: ranks, Friedman, both ways to group, and whether the order would survive.

Tasks are what is sampled here, so that a task enters with the mean of its seeds: more seeds make no more tasks.
Models are ranked together that were planned on the same tasks; outcomes decide only where nothing came out.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnz_track.stats.comparison.cells import ModelCells, TaskCells
from gnz_track.stats.comparison.choices import Choices
from gnz_track.stats.comparison.comparison import AcrossTasks, ModelPair, Verdict, judge
from gnz_track.stats.comparison.joins import SeedPairs, join_all
from gnz_track.stats.design.power import Attainability, attainability
from gnz_track.stats.inputs import Floats
from gnz_track.stats.ranking.friedman import run_friedman
from gnz_track.stats.ranking.groups import NemenyiGroups, PairwiseGroups, group_by_nemenyi, group_by_p
from gnz_track.stats.ranking.ranks import PrintedRanks, RankTable, check_printed_ranks, rank_table
from gnz_track.stats.ranking.stability import leave_one_task_out
from gnz_track.stats.significance.bayes import BayesianSignedRank, signed_rank_posterior
from gnz_track.stats.significance.multiple import adjust
from gnz_track.stats.significance.paired import Outcome, PairedTest, wilcoxon_rows
from gnz_track.text import first_names
from gnz_track.types import Direction

__all__ = ["compare_across", "find_ranked", "largest_block"]


Places = npt.NDArray[np.intp]
# Fewer tasks in common than these test nothing.
FEWEST_TASKS = 2


def find_ranked(has_score: npt.NDArray[np.bool_]) -> tuple[Places, Places]:
    """Return the places of the tasks and of the models [N, k] that stay in a ranking.

    Tasks that no model finished go, models that finished no task, and models that leave no tasks in common: those have
    few tasks, and go only where fewer than two tasks have all models and without them two or more do.
    :func:`largest_block` then says which.
    """
    rows, columns = np.flatnonzero(has_score.any(axis=1)), np.flatnonzero(has_score.any(axis=0))
    left = has_score[np.ix_(rows, columns)]
    if left.all(axis=1).sum() < FEWEST_TASKS:
        tasks, models = largest_block(left)
        columns = columns[models] if min(len(tasks), len(models)) >= FEWEST_TASKS else columns
    return rows, columns


def largest_block(planned: npt.NDArray[np.bool_]) -> tuple[Places, Places]:
    """Return tasks and models of a large block in which every model was planned on every task.

    planned [N, k] -> places of tasks, places of models. Models join from the one with most tasks on; of the blocks on
    the way the one with most cells is taken, and of equal ones the one with more models. A block of one task or one
    model ranks nothing, and is taken only where there is no other. A model for graphs alone does not take the
    other tasks from the rest, then.
    """
    n_tasks, n_models = planned.shape
    # The sort is stable: of models with equally many tasks the first stays the first.
    order = np.argsort(-planned.sum(axis=0), kind="stable")
    best: tuple[bool, int, int] = (False, -1, -1)
    found = (np.arange(n_tasks), np.arange(n_models))
    for n in range(1, n_models + 1):
        columns = np.sort(order[:n])
        rows = np.flatnonzero(planned[:, columns].all(axis=1))
        size = (min(len(rows), n) >= 2, len(rows) * n, n)
        if size > best:
            best, found = size, (rows, columns)
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Means:
    """Mean scores [tasks, models], NaN where there is none, and the same with larger is better."""

    tasks: tuple[str, ...]
    models: tuple[str, ...]
    directions: tuple[Direction, ...]
    scores: Floats
    signed: Floats


def means_of(layout: Sequence[TaskCells], *, needs_all: bool) -> Means:
    """Return the mean over the seeds of every cell; with ``needs_all``, of those that lack no seed."""
    scores = np.array([[_mean_score(model, needs_all=needs_all) for model in task.models] for task in layout])
    signs = np.array([1.0 if task.direction is Direction.up else -1.0 for task in layout])
    return Means(
        tasks=tuple(task.task for task in layout),
        models=tuple(model.label for model in layout[0].models),
        directions=tuple(task.direction for task in layout),
        scores=scores,
        signed=scores * signs[:, None],
    )


def _mean_score(model: ModelCells, *, needs_all: bool) -> float:
    if not model.cells or (needs_all and not model.is_complete):
        return float("nan")
    return float(np.mean([cell.score for cell in model.cells if cell.score is not None]))


def take_design(layout: Sequence[TaskCells], means: Means) -> tuple[Means, dict[str, str]]:
    """Leave out the models that were planned on few tasks; return the rest, and those with what they were planned on.

    A ranking needs all of its models on each of its tasks.
    """
    planned = np.array([[model.was_run for model in task.models] for task in layout], dtype=np.bool_)
    _, columns = largest_block(planned)
    counts = planned.sum(axis=0).tolist()
    unranked = {
        model: f"{counts[place]} of {len(layout)}" for place, model in enumerate(means.models) if place not in columns
    }
    return take(means, range(len(means.tasks)), columns.tolist()), unranked


def leave_out_lost(means: Means, *, drops_models: bool) -> tuple[Means, tuple[list[str], list[str]], list[str]]:
    """Leave out what has no score at all, so that one model or task does not take the ranking from the rest.

    The names of the models and of the tasks that went come with the rest, and the reasons in words. Models stay where
    the policy for missing scores says what becomes of them.
    """
    has_score = ~np.isnan(means.scores)
    rows, columns = find_ranked(has_score)
    tasks = [name for place, name in enumerate(means.tasks) if place not in rows]
    notes = [f"no model finished {', '.join(tasks)}"] if tasks and rows.size else []
    if not drops_models:
        return take(means, rows, range(len(means.models))), ([], tasks), notes
    counts = has_score.sum(axis=0).tolist()
    gone = [(name, counts[place]) for place, name in enumerate(means.models) if place not in columns]
    empty, few = [name for name, n in gone if not n], [name for name, n in gone if n]
    told = ", ".join(f"{name} ({n} of {len(means.tasks)} tasks)" for name, n in gone if n)
    notes += [f"not ranked, because they finished no task: {', '.join(empty)}"] if empty and rows.size else []
    notes += [f"not ranked, because with them fewer than {FEWEST_TASKS} tasks have all models: {told}"] if few else []
    return take(means, rows, columns), ([*empty, *few], tasks), notes


def take(means: Means, rows: Iterable[int], columns: Iterable[int]) -> Means:
    """Return the means of some tasks and models.

    Parameters
    ----------
    means
        Means [tasks, models].
    rows, columns
        Places of the tasks and of the models.
    """
    rows, columns = list(rows), list(columns)
    return Means(
        tasks=tuple(means.tasks[row] for row in rows),
        models=tuple(means.models[column] for column in columns),
        directions=tuple(means.directions[row] for row in rows),
        scores=means.scores[np.ix_(rows, columns)],
        signed=means.signed[np.ix_(rows, columns)],
    )


def describe_design(unranked: Mapping[str, str]) -> list[str]:
    """Return a sentence on the models that were planned on too few tasks."""
    told = ", ".join(f"{model} ({tasks} tasks)" for model, tasks in unranked.items())
    return [f"not ranked, because planned on too few tasks: {told}"] if unranked else []


# Policy -> (that of the rank table, whether a mean needs all seeds, whether pairs use ranked tasks only).
POLICIES = {
    "drop_pair": ("drop_task", False, False),
    "drop_task": ("drop_task", False, True),
    "drop_model": ("drop_model", True, True),
    "worst_rank": ("worst_rank", True, False),
}
# Mean ranks below the critical difference by no more than the noise of a sum are not below it.
GUARD = 1e-12
TOO_FEW = "fewer than 2 tasks in common"


def compare_across(layout: Sequence[TaskCells], choices: Choices) -> AcrossTasks:
    """Rank the models over tasks, and test all of them and every pair."""
    policy, needs_all, ranked_only = POLICIES[choices.missing]
    every = means_of(layout, needs_all=needs_all)
    means, unranked = take_design(layout, every) if policy == "drop_task" else (every, {})
    means, lost, told = leave_out_lost(means, drops_models=policy == "drop_task")
    metrics = tuple(sorted({task.metric for task in layout}))
    table = _rank_models(means, policy, without=((*unranked, *lost[0]), lost[1]))
    notes = [*_metric_notes(metrics), *_seed_notes(layout, needs_all=needs_all), *describe_design(unranked)]
    notes += told
    if not table.tasks or not table.models:
        notes.append(f"no task has all models ({choices.missing}): {table.note or 'nothing is left to rank'}")
        return AcrossTasks(
            posthoc=choices.posthoc, metrics=metrics, notes=tuple(notes), **dict.fromkeys(_PARTS), pairs=()
        )
    friedman = run_friedman(table.ranks, alpha=choices.alpha)
    kept = _keep_ranked(means, table, ranked_only=ranked_only)
    nemenyi = group_by_nemenyi(table.mean_ranks, models=table.models, n_tasks=table.n_tasks, alpha=choices.alpha)
    joined = _join_on_tasks(kept)
    tests = [_in_tasks(test) for test in wilcoxon_rows(list(joined), zero_method=choices.zero_method)]
    family = adjust([test.p for test in tests], alpha=choices.alpha)
    groups = _group_models(table, family.p_adjusted, choices)
    pairs = _judge_pairs(table, (joined, tests, family.p_adjusted), nemenyi, choices)
    notes += _posthoc_notes(pairs, rejects=friedman.rejects)
    return AcrossTasks(
        posthoc=choices.posthoc,
        ranks=table,
        friedman=friedman,
        pairs=_with_posteriors(pairs, joined, table, choices) if len(metrics) == 1 else pairs,
        wilcoxon_holm=groups,
        nemenyi=nemenyi,
        stability=leave_one_task_out(table.ranks, models=table.models, tasks=table.tasks),
        attainability=_attainability(tests, family.m, choices.alpha),
        printed=_check_printed(kept, table, choices.decimals),
        metrics=metrics,
        notes=tuple(notes),
    )


def _rank_models(means: Means, policy: str, *, without: tuple[Sequence[str], Sequence[str]]) -> RankTable:
    """Rank the models; ``without`` are those models and tasks that were left out before."""
    table = rank_table(
        means.scores, models=means.models, tasks=means.tasks, directions=means.directions, missing=policy
    )
    return dataclasses.replace(
        table,
        dropped_models=(*table.dropped_models, *without[0]),
        dropped_tasks=(*table.dropped_tasks, *without[1]),
    )


_PARTS = ("ranks", "friedman", "wilcoxon_holm", "nemenyi", "stability", "attainability", "printed")


def _keep_ranked(means: Means, table: RankTable, *, ranked_only: bool) -> Means:
    """Return the means of the ranked models, on the ranked tasks or on all."""
    rows = [row for row, task in enumerate(means.tasks) if not ranked_only or task in table.tasks]
    return take(means, rows, [means.models.index(model) for model in table.models])


def _join_on_tasks(means: Means) -> tuple[SeedPairs, ...]:
    """Join all pairs of models on tasks, which stand where seeds stand within a task."""
    columns = [dict(enumerate(column)) for column in means.signed.T.tolist()]
    return join_all(list(itertools.combinations(columns, 2)), direction=Direction.up)


def _in_tasks(test: PairedTest) -> PairedTest:
    return dataclasses.replace(test, note=TOO_FEW) if test.outcome is Outcome.not_run else test


def _group_models(table: RankTable, p_adjusted: Sequence[float | None], choices: Choices) -> PairwiseGroups:
    matrix: list[list[float | None]] = [[1.0] * table.n_models for _ in range(table.n_models)]
    for (a, b), p in zip(itertools.combinations(range(table.n_models), 2), p_adjusted, strict=True):
        matrix[a][b] = matrix[b][a] = p
    return group_by_p(matrix, models=table.models, mean_ranks=table.mean_ranks, alpha=choices.alpha)


def _judge_pairs(
    table: RankTable,
    tested: tuple[Sequence[SeedPairs], Sequence[PairedTest], Sequence[float | None]],
    nemenyi: NemenyiGroups,
    choices: Choices,
) -> tuple[ModelPair, ...]:
    m = max(1, sum(p is not None for p in tested[2]))
    found = []
    for (a, b), joined, test, p in zip(itertools.combinations(range(table.n_models), 2), *tested, strict=True):
        gap = abs(table.mean_ranks[a] - table.mean_ranks[b])
        is_rejected, can_reject = POSTHOC_RULES[choices.posthoc](test, p, (gap, nemenyi), m, choices.alpha)
        found.append(
            ModelPair(
                first=table.models[a],
                second=table.models[b],
                n_tasks=joined.n_pairs,
                wins=sum(d > 0 for d in joined.quantised),
                ties=sum(d == 0 for d in joined.quantised),
                losses=sum(d < 0 for d in joined.quantised),
                wilcoxon=test,
                p_adjusted=p,
                nemenyi_p=nemenyi.p[a][b] if nemenyi.p else None,
                can_reject=can_reject,
                verdict=judge(is_rejected=is_rejected, is_within_margin=False, can_reject=can_reject),
                note=test.note,
            )
        )
    return tuple(found)


def _by_wilcoxon(
    test: PairedTest, p: float | None, ranked: tuple[float, NemenyiGroups], m: int, alpha: float
) -> tuple[bool, bool]:
    del ranked
    # The first step of Holm multiplies by m; among n signs no p-value is below 2 / 2^n.
    return p is not None and p <= alpha, m * 2.0 ** (1 - test.n_effective) <= alpha


def _by_nemenyi(
    test: PairedTest, p: float | None, ranked: tuple[float, NemenyiGroups], m: int, alpha: float
) -> tuple[bool, bool]:
    del test, p, m, alpha
    gap, groups = ranked
    limit = groups.critical_difference
    return limit is not None and gap >= limit - GUARD, limit is not None and limit <= len(groups.models) - 1


Rule = Callable[[PairedTest, float | None, tuple[float, NemenyiGroups], int, float], tuple[bool, bool]]
# Post-hoc test -> (whether a pair is rejected, whether the test could reject any).
POSTHOC_RULES: dict[str, Rule] = {"wilcoxon-holm": _by_wilcoxon, "nemenyi": _by_nemenyi}


def _attainability(tests: Sequence[PairedTest], m: int, alpha: float) -> Attainability | None:
    if not tests:
        return None
    return attainability(max(test.n_effective for test in tests), max(1, m), alpha=alpha, unit="task")


def _check_printed(means: Means, table: RankTable, decimals: int) -> PrintedRanks | None:
    rows = [row for row, task in enumerate(means.tasks) if task in table.tasks]
    scores = means.scores[rows]
    if np.isnan(scores).any():
        return None
    return check_printed_ranks(scores, [means.directions[row] for row in rows], decimals=decimals)


def _with_posteriors(
    pairs: tuple[ModelPair, ...], joined: Sequence[SeedPairs], table: RankTable, choices: Choices
) -> tuple[ModelPair, ...]:
    """Add the Bayesian signed-rank test to the pairs of the first model in the order, where a rope is declared."""
    if choices.rope is None:
        return pairs

    def posterior(pair: ModelPair, advantages: SeedPairs) -> BayesianSignedRank | None:
        if table.order[0] not in {pair.first, pair.second}:
            return None
        return signed_rank_posterior(advantages.quantised, rope=choices.rope or 0.0, base_seed=choices.seed)

    return tuple(
        dataclasses.replace(pair, posterior=posterior(pair, advantages))
        for pair, advantages in zip(pairs, joined, strict=True)
    )


def _metric_notes(metrics: Sequence[str]) -> list[str]:
    if len(metrics) < 2:
        return []
    listed = ", ".join(metrics)
    units = "mean ranks hide how large differences are, and the Wilcoxon test ranks differences in different units"
    return [f"the tasks have {len(metrics)} metrics ({listed}): {units}"]


def _seed_notes(layout: Sequence[TaskCells], *, needs_all: bool) -> list[str]:
    uneven = [task.task for task in layout if any(model.cells and not model.is_complete for model in task.models)]
    if not uneven or needs_all:
        return []
    return [f"means over unequal seeds are ranked on {first_names(uneven, 3)}"]


def _posthoc_notes(pairs: Sequence[ModelPair], *, rejects: bool | None) -> list[str]:
    n_different = sum(pair.verdict is Verdict.different for pair in pairs)
    if rejects is False and n_different:
        return [f"{n_different} pairs differ although Friedman's test does not reject; neither needs the other"]
    return []
