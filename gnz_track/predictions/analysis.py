"""All that stored predictions of one task say of its models, as facts: no cell is trained, and no figure is drawn."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnz_track.predictions.explanation import explain_best
from gnz_track.predictions.facts import (
    CalibrationFacts,
    ConfusionFacts,
    EnsembleFacts,
    EnsembleScore,
    ExampleFacts,
    ModelFacts,
    PairFacts,
    RankFacts,
    ReliabilityFacts,
    RocFacts,
    TaskPredictions,
)
from gnz_track.stats.inputs import Floats, number
from gnz_track.stats.predictions.arrays import (
    Integers,
    decide,
    mean_of_known,
    probabilities,
    score_examples,
)
from gnz_track.stats.predictions.calibration import calibrate, fit_temperature, reliability
from gnz_track.stats.predictions.curves import count_confusions, count_ranks, trace_roc
from gnz_track.stats.predictions.ensembles import average_seeds, blend, select_greedily
from gnz_track.stats.predictions.examples import rate_difficulty, suspect_labels
from gnz_track.stats.predictions.pairs import agree, overlap
from gnz_track.stats.predictions.two_levels import TwoLevelEstimate, two_level_differences, two_level_means
from gnz_track.stats.significance.multiple import adjust
from gnz_track.text import remake_command
from gnz_track.types import Direction, TaskType

if TYPE_CHECKING:
    from gnz_track.datasets.frozen import FrozenDataset
    from gnz_track.store.cell_files.joined_predictions import Predictions

__all__ = ["analyse"]

ALPHA = 0.05
# Examples that are listed; all are counted.
MOST_LISTED = 25
MOST_CLASSES, MOST_POINTS, MOST_CURVE = 60, 1500, 200
BINS = 10
# Numbers in double precision that one task may take: a gigabyte.
MOST_NUMBERS = 120_000_000
# A probability that a logarithm can be taken of.
TINY = np.finfo(np.float64).tiny
# Score of an example -> what its mean is called, and which values are better.
SCORES: Mapping[str, tuple[str, Direction]] = {
    "correct": ("accuracy", Direction.up),
    "log_loss": ("log loss", Direction.down),
    "absolute_error": ("mean absolute error", Direction.down),
    "squared_error": ("mean squared error", Direction.down),
}
# Metrics of tasks that are means over examples -> score of an example.
MEANS = {"accuracy": "correct", "mae": "absolute_error", "mse": "squared_error"}
DIFFERENT = "different"
OWN_SPLITS = "each seed has a split of its own: another seed was trained on what one is tested on"


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    """Logits ``[model, seed, example, class]`` or values ``[model, seed, example]`` of a part, and its targets."""

    outputs: Floats
    targets: NDArray[Any]

    @property
    def has_classes(self) -> bool:
        return self.outputs.ndim == 4


def analyse(
    test: Predictions,
    *,
    task_type: TaskType | str,
    metric: str = "",
    validation: Predictions | None = None,
    dataset: FrozenDataset | None = None,
    missing: Sequence[str] = (),
    alpha: float = ALPHA,
) -> TaskPredictions:
    """Return what the predictions of a task say: intervals, pairs, slices, ensembles, calibration, single examples.

    Models are compared by the metric of the task where that is a mean over examples, by accuracy or mean absolute error
    elsewhere; links by the area under the ROC curve. What is not defined for the task is left out, in words.

    Parameters
    ----------
    test
        Predictions of the test part.
    task_type, metric
        Those of the task.
    validation
        Predictions of validation of the same runs, for temperatures and for the weights of ensembles.
    dataset
        Frozen data of the task, for slices.
    missing
        Runs of the task that have no predictions, beside those of ``test``.
    alpha
        Level of each family of tests.
    """
    task_type = TaskType(task_type)
    absent = (*missing, *map(str, test.run_ids[(test.run_ids != "") & ~test.mask.any(axis=2)]))
    facts = TaskPredictions(
        task=test.task,
        kind=test.kind,
        metric=metric,
        score="",
        direction=Direction.up,
        alpha=alpha,
        n_examples=len(test.ids),
        seeds=test.seeds,
        has_one_split=len(set(test.split_digests)) == 1,
        missing=absent,
        command=remake_command(absent[0]) if absent else "",
    )
    facts = replace(facts, left_out=test.unreadable)
    if test.outputs.size > MOST_NUMBERS:
        return _without(facts, f"{test.outputs.size:,} outputs are more than are judged at once, {MOST_NUMBERS:,}")
    if test.kind in {"link", "triple"}:
        return _judge_links(facts, test)
    part, reason = _read(test, task_type)
    if part is None:
        return _without(facts, reason)
    shown, why = (None, "") if validation is None else _read(validation, task_type)
    if shown is not None and (validation is None or not _is_of_same_cells(test, validation)):
        shown, why = None, "validation has other models or seeds"
    facts = _without(facts, f"no calibration by temperature, no ensemble of models: {why}") if why else facts
    return _judge(facts, (part, shown), test, dataset)


def _without(facts: TaskPredictions, reason: str) -> TaskPredictions:
    return replace(facts, left_out=(*facts.left_out, reason))


def _is_of_same_cells(one: Predictions, other: Predictions) -> bool:
    return (one.models, one.seeds) == (other.models, other.seeds)


def _read(given: Predictions, task_type: TaskType) -> tuple[_Part | None, str]:
    """Return outputs in double precision, NaN for cells that have others, and targets; or why there are none."""
    outputs, targets = np.array(given.outputs, dtype=np.float64), given.targets
    broken = (given.mask & ~np.isfinite(outputs).all(axis=3)).any(axis=2)
    outputs[broken] = np.nan
    if task_type.predicts_numbers and task_type is not TaskType.multi_task:
        if outputs.shape[3] > 1 or (targets.ndim == 2 and targets.shape[1] > 1):
            return None, "several numbers are predicted for each example"
        values = np.asarray(targets, dtype=np.float64).reshape(len(targets))
        return (
            (None, "some targets are unknown")
            if np.isnan(values).any()
            else (_Part(outputs=outputs[..., 0], targets=values), "")
        )
    if task_type not in {TaskType.node_cls, TaskType.edge_cls, TaskType.graph_cls}:
        return None, f"predictions of {task_type} are of several kinds"
    if targets.ndim == 2:
        if targets.shape[1] > 1 or not np.isin(targets, (0, 1)).all():
            return None, "an example has several labels, or unknown ones"
        targets = targets[:, 0]
    if outputs.shape[3] == 1:
        outputs = np.concatenate([np.where(np.isnan(outputs), np.nan, 0.0), outputs], axis=3)
    return _Part(outputs=outputs, targets=np.asarray(targets, dtype=np.int64)), ""


def _judge(
    facts: TaskPredictions, parts: tuple[_Part, _Part | None], test: Predictions, dataset: FrozenDataset | None
) -> TaskPredictions:
    """Return facts on classes or on numbers."""
    part, shown = parts
    usual = "correct" if part.has_classes else "absolute_error"
    score = MEANS.get(facts.metric, usual)
    name, direction = SCORES[score]
    if facts.metric and facts.metric not in MEANS:
        facts = _without(facts, f"the metric {facts.metric} is no mean over examples: models are compared by {name}")
    facts = replace(facts, score=name, direction=direction)
    gain = score_examples(part.outputs, part.targets, score=score)
    estimates = two_level_means(gain, alpha=facts.alpha)
    sign = 1.0 if direction is Direction.up else -1.0
    places = [place for place, one in enumerate(estimates) if one.value is not None]
    order = sorted(places, key=lambda place: (-sign * (estimates[place].value or 0.0), test.models[place]))
    if not order:
        return _without(facts, "no cell has finite predictions")
    part, shown = _take(part, order), None if shown is None else _take(shown, order)
    gain, models = gain[order], [test.models[place] for place in order]
    facts = replace(facts, best=models[0])
    facts = _with_models(facts, models, [estimates[place] for place in order], part)
    facts = _with_pairs(facts, models, gain, part)
    about: Mapping[str, Floats] = {}
    if dataset is not None:
        from gnz_track.predictions.descriptors import describe_tested

        about = describe_tested(dataset, test)
    else:
        facts = _without(facts, "no slices: the data are not on this machine as they were")
    facts = _with_explanations(facts, models, gain, about)
    facts = _with_ensembles(facts, models, (part, shown), score)
    if not part.has_classes:
        points = _points(part)
        return _without(
            replace(facts, points=points), "no calibration and no unsolved examples: they are those of classes"
        )
    return _with_examples(_with_calibration(facts, (part, shown)), part, test, about)


def _with_explanations(
    facts: TaskPredictions, models: Sequence[str], gain: Floats, about: Mapping[str, Floats]
) -> TaskPredictions:
    """Return facts on why the best model wins over the second, and over the next one that it is told from."""
    if not about:
        return facts
    pairs = list(facts.with_best())
    told = [place for place, pair in enumerate(pairs, 1) if pair.verdict_examples == DIFFERENT]
    found = [
        explain_best(gain[[0, place]], (models[0], models[place]), about, direction=facts.direction, alpha=facts.alpha)
        for place in dict.fromkeys([1, *told[:1]])
        if pairs and (pairs[place - 1].advantage.value or 0.0) > 0.0
    ]
    return replace(facts, explained=tuple(one for one in found if one is not None))


def _take(part: _Part, order: Sequence[int]) -> _Part:
    return _Part(outputs=part.outputs[list(order)], targets=part.targets)


def _with_models(
    facts: TaskPredictions, models: Sequence[str], estimates: Sequence[TwoLevelEstimate], part: _Part
) -> TaskPredictions:
    own = agree(decide(part.outputs)).kappa.diagonal() if part.has_classes else np.full(len(models), np.nan)
    found = (
        ModelFacts(model=model, n_seeds=one.n_seeds, score=one, kappa=number(kappa))
        for model, one, kappa in zip(models, estimates, own, strict=True)
    )
    return replace(facts, models=tuple(found))


def _with_pairs(facts: TaskPredictions, models: Sequence[str], gain: Floats, part: _Part) -> TaskPredictions:
    """Return facts with all pairs of models, the better one first, p adjusted over all of them."""
    places = list(itertools.combinations(range(len(models)), 2))
    advantages = two_level_differences(gain, pairs=places, direction=facts.direction, alpha=facts.alpha)
    judged = list(_adjusted(advantages, facts.alpha))
    kappas = agree(decide(part.outputs)).kappa if part.has_classes else None
    errors = overlap(gain).errors if part.has_classes and facts.score == "accuracy" else None
    pairs = (
        PairFacts(
            first=models[a],
            second=models[b],
            advantage=one,
            **verdicts,
            kappa=None if kappas is None else number(kappas[a, b]),
            shared_errors=None if errors is None else number(errors[a, b]),
        )
        for (a, b), one, verdicts in zip(places, advantages, judged, strict=True)
    )
    return replace(facts, pairs=tuple(pairs))


def _adjusted(estimates: Sequence[TwoLevelEstimate], alpha: float) -> Iterator[dict[str, Any]]:
    """Give for each difference the p-values and verdicts for new seeds, and for new seeds and examples, by Holm."""
    families = [
        adjust([getattr(one, level).p for one in estimates], alpha=alpha) for level in ("new_seeds", "new_examples")
    ]
    for place, one in enumerate(estimates):
        found: dict[str, Any] = {}
        for level, family in zip(("seeds", "examples"), families, strict=True):
            p = family.p_adjusted[place]
            said = getattr(one, f"new_{level}").note or "undetermined"
            is_same = p is not None and getattr(one, f"new_{level}").se == 0.0
            word = said if p is None else "identical" if is_same else DIFFERENT if p <= alpha else "undetermined"
            found |= {f"p_{level}": p, f"verdict_{level}": word}
        yield found


def _with_ensembles(
    facts: TaskPredictions, models: Sequence[str], parts: tuple[_Part, _Part | None], score: str
) -> TaskPredictions:
    """Return facts with the mean of the seeds of the best model, and with models weighted by validation."""
    part, shown = parts
    scores = (score, "log_loss") if part.has_classes else (score,)
    made: list[tuple[str, tuple[tuple[str, float], ...], Floats]] = []
    n_seeds = facts.models[0].n_seeds
    if n_seeds > 1 and facts.has_one_split:
        name = f"mean of {n_seeds} seeds of {models[0]}"
        made.append((name, ((models[0], 1.0),), _mean_of_seeds(part)))
    elif n_seeds > 1:
        facts = _without(facts, f"no ensemble of seeds: {OWN_SPLITS}")
    if len(models) > 1 and shown is not None:
        weights, mixed = _mix_models(part, shown)
        ranked = sorted(zip(weights.tolist(), models, strict=True), reverse=True)
        if ranked[0][0] > 0:
            shares = tuple((model, weight) for weight, model in ranked if weight > 0)
            made.append(("models weighted by validation", shares, mixed))
    elif len(models) > 1:
        facts = _without(facts, "no ensemble of models: validation, which chooses their weights, is not here")
    gains = [[_pair_of(part, mixed, one) for one in scores] for _, _, mixed in made]
    advantages = [
        two_level_differences(gain, pairs=[(0, 1)], direction=SCORES[one][1], alpha=facts.alpha)[0]
        for row in gains
        for one, gain in zip(scores, row, strict=True)
    ]
    judged = iter(list(zip(advantages, _adjusted(advantages, facts.alpha), strict=True)))
    found = []
    for (name, members, _), row in zip(made, gains, strict=True):
        lines = []
        for one, gain in zip(scores, row, strict=True):
            advantage, verdicts = next(judged)
            value, single = mean_of_known(mean_of_known(gain, axis=2), axis=1).tolist()
            lines.append(
                EnsembleScore(score=SCORES[one][0], value=value, single=single, advantage=advantage, **verdicts)
            )
        found.append(EnsembleFacts(name=name, members=members, scores=tuple(lines)))
    return replace(facts, ensembles=tuple(found))


def _as_predictions(part: _Part) -> Floats:
    return probabilities(part.outputs) if part.has_classes else part.outputs


def _pair_of(part: _Part, mixed: Floats, score: str) -> Floats:
    """Return scores [2, seed, example] of an ensemble's predictions [seed, example, ...] and of the best model."""
    outputs = np.log(np.maximum(mixed, TINY)) if part.has_classes else mixed
    return score_examples(np.stack([outputs, part.outputs[0]]), part.targets, score=score)


def _mean_of_seeds(part: _Part) -> Floats:
    """Return the mean prediction of the best model, once for each of its seeds: it is held against each of them."""
    each = _as_predictions(_take(part, [0]))
    return np.where(np.isnan(each[0]), np.nan, average_seeds(each)[0])


def _mix_models(part: _Part, shown: _Part) -> tuple[Floats, Floats]:
    """Return mean weights [model], and predictions [seed, example, ...] of the models of each seed, so weighted."""
    tested, chosen = _as_predictions(part), _as_predictions(shown)
    score = "log_loss" if part.has_classes else "absolute_error"
    mixed, weights = np.full(tested.shape[1:], np.nan), []
    for seed in range(tested.shape[1]):
        there = [
            model
            for model in range(len(tested))
            if not (np.isnan(tested[model, seed]).all() or np.isnan(chosen[model, seed]).all())
        ]
        if len(there) < 2:
            continue
        found = select_greedily(chosen[there, seed], shown.targets, score=score)
        mixed[seed] = blend(tested[there, seed], found.weights)
        row = np.zeros(len(tested))
        row[there] = found.weights
        weights.append(row)
    return (np.mean(weights, axis=0) if weights else np.zeros(len(tested))), mixed


def _with_calibration(facts: TaskPredictions, parts: tuple[_Part, _Part | None]) -> TaskPredictions:
    part, shown = parts
    before = calibrate(part.outputs, part.targets, n_bins=BINS)
    found: dict[str, Floats] = {"ece": before.ece_debiased, "brier": before.brier, "log_loss": before.log_loss}
    scaled = None
    if shown is not None:
        temperature = fit_temperature(shown.outputs, shown.targets)
        scaled = part.outputs / temperature[..., None, None]
        after = calibrate(scaled, part.targets, n_bins=BINS)
        found |= {"temperature": temperature, "ece_after": after.ece_debiased}
        found |= {"brier_after": after.brier, "log_loss_after": after.log_loss}
    means = {name: mean_of_known(values, axis=1) for name, values in found.items()}
    models = [
        replace(one, calibration=CalibrationFacts(**{name: number(row[place]) for name, row in means.items()}))
        for place, one in enumerate(facts.models)
    ]
    return replace(
        facts,
        models=tuple(models),
        reliability=_reliability(part.outputs[0], part.targets),
        reliability_after=None if scaled is None else _reliability(scaled[0], part.targets),
    )


def _reliability(outputs: Floats, targets: Integers) -> ReliabilityFacts:
    """Return bins of one model [seed, example, class], all seeds together."""
    n_seeds, _, n_classes = outputs.shape
    found = reliability(outputs.reshape(1, 1, -1, n_classes), np.tile(targets, n_seeds), n_bins=BINS)
    is_there = found.n[0, 0] > 0
    names = ("n", "confidence", "accuracy", "lows", "highs")
    return ReliabilityFacts(**{name: tuple(getattr(found, name)[0, 0][is_there].tolist()) for name in names})


def _with_examples(
    facts: TaskPredictions, part: _Part, test: Predictions, about: Mapping[str, Floats]
) -> TaskPredictions:
    """Return facts with confusions, with what no cell solves, and with labels that the cells reject."""
    decisions = decide(part.outputs)
    n_classes = part.outputs.shape[3]
    if n_classes <= MOST_CLASSES:
        counts = count_confusions(decisions[:1], part.targets, n_classes=n_classes)[0]
        is_there = counts.any(axis=(1, 2))
        rows = tuple(tuple(row) for row in counts[is_there].mean(axis=0).tolist())
        facts = replace(facts, confusion=ConfusionFacts(model=facts.best, counts=rows))
    difficulty = rate_difficulty(np.where(np.isnan(decisions), np.nan, decisions == part.targets))
    unsolved = list(_unsolved(difficulty.unsolved, decisions, part.targets, (test, about)))
    suspects = suspect_labels(part.outputs, part.targets)
    listed = [
        _example(
            int(suspects.places[row]),
            (int(suspects.labels[row]), int(suspects.proposed[row])),
            (float(suspects.agreement[row]), int(suspects.n_cells[row])),
            (test, about),
            margin=float(suspects.score[row]),
        )
        for row in range(min(MOST_LISTED, len(suspects.places)))
    ]
    return replace(
        facts,
        n_unsolved=len(difficulty.unsolved),
        n_divided=len(difficulty.divided),
        unsolved=tuple(unsolved[:MOST_LISTED]),
        n_suspects=len(suspects.places),
        suspects=tuple(listed),
    )


# Predictions of the test part, and descriptors of its examples.
_Known = tuple["Predictions", Mapping[str, Floats]]


def _unsolved(places: Integers, decisions: Floats, targets: Integers, known: _Known) -> list[ExampleFacts]:
    """Return what no cell solves, those on which the cells agree most first."""
    found = []
    for place in places.tolist():
        given = decisions[:, :, place]
        answers, counts = np.unique(given[~np.isnan(given)], return_counts=True)
        answer, n = int(answers[counts.argmax()]), int(counts.sum())
        found.append(_example(place, (int(targets[place]), answer), (float(counts.max()) / n, n), known))
    return sorted(found, key=lambda one: (-one.agreement, -one.n_cells, one.id))


def _example(
    place: int,
    classes: tuple[int, int],
    answered: tuple[float, int],
    known: _Known,
    *,
    margin: float | None = None,
) -> ExampleFacts:
    test, about = known
    facts = ((name, number(values[place])) for name, values in about.items() if name != "class")
    return ExampleFacts(
        id=int(test.ids[place]),
        ends=tuple(int(test.ends[name][place]) for name in ("head", "tail") if name in test.ends),
        label=classes[0],
        answer=classes[1],
        agreement=answered[0],
        n_cells=answered[1],
        margin=margin,
        about=tuple((name, value) for name, value in facts if value is not None),
    )


def _points(part: _Part) -> tuple[tuple[float, float], ...]:
    """Return true and predicted values of the best model, mean over the seeds that have the example, evenly thinned."""
    means = mean_of_known(part.outputs[0], axis=0)
    places = np.flatnonzero(~np.isnan(means))
    places = places[np.argsort(part.targets[places], kind="stable")]
    kept = (
        places[np.unique(np.linspace(0, len(places) - 1, MOST_POINTS).round().astype(np.int64))]
        if len(places)
        else places
    )
    return tuple(zip(part.targets[kept].tolist(), means[kept].tolist(), strict=True))


def _judge_links(facts: TaskPredictions, test: Predictions) -> TaskPredictions:
    """Return areas under ROC curves, and the curves of the best models under their first seed."""
    reason = "no intervals, slices, ensembles or calibration: a score of links is no mean over examples"
    facts = _without(replace(facts, score="area under the ROC curve", ranks=_count_ranks(test)), reason)
    logits, targets = np.array(test.outputs[..., 0], dtype=np.float64), np.asarray(test.targets)
    if test.outputs.shape[3] > 1 or not np.isin(targets, (0, 1)).all():
        return _without(facts, "links are not told from other pairs by one number")
    logits[(test.mask & ~np.isfinite(logits)).any(axis=2)] = np.nan
    curves = {
        (model, seed): trace_roc(logits[model, seed], targets)
        for model, seed in np.ndindex(*logits.shape[:2])
        if np.isfinite(logits[model, seed]).any()
    }
    areas = np.full(logits.shape[:2], np.nan)
    for place, curve in curves.items():
        areas[place] = np.nan if curve.area is None else curve.area
    means = mean_of_known(areas, axis=1)
    order = sorted((m for m in range(len(means)) if not np.isnan(means[m])), key=lambda m: (-means[m], test.models[m]))
    models = [
        ModelFacts(model=test.models[m], n_seeds=int((~np.isnan(areas[m])).sum()), area=float(means[m])) for m in order
    ]
    shown = []
    for m in order[:4]:
        seed = int(np.flatnonzero(~np.isnan(areas[m]))[0])
        curve = curves[m, seed]
        kept = np.unique(np.linspace(0, len(curve.true_positive) - 1, MOST_CURVE).round().astype(np.int64))
        xs, ys = (tuple(values[kept].tolist()) for values in (curve.false_positive, curve.true_positive))
        shown.append(
            RocFacts(
                model=test.models[m],
                seed=test.seeds[seed],
                area=float(areas[m, seed]),
                false_positive=xs,
                true_positive=ys,
            )
        )
    best = models[0].model if models else ""
    return replace(facts, best=best, models=tuple(models), curves=tuple(shown))


def _count_ranks(test: Predictions) -> tuple[RankFacts, ...]:
    """Return the ranks of true triples by model, the one with the best mean reciprocal rank first."""
    if not test.ranks:
        return ()
    ranks = np.concatenate(list(test.ranks.values()), axis=2)
    found = count_ranks(ranks)
    n_ranks = found.counts.sum(axis=2)
    shares = found.counts / np.where(n_ranks == 0, np.nan, n_ranks)[..., None]
    means = [mean_of_known(values, axis=1) for values in (mean_of_known(1.0 / ranks, axis=2), shares, found.hits)]
    models = [
        RankFacts(
            model=model,
            n_seeds=int((n_ranks[place] > 0).sum()),
            n_ranks=int(n_ranks[place].max()),
            reciprocal=float(means[0][place]),
            uppers=tuple(int(edge) if np.isfinite(edge) else None for edge in found.edges),
            shares=tuple(means[1][place].tolist()),
            hits=tuple(means[2][place].tolist()),
        )
        for place, model in enumerate(test.models)
        if n_ranks[place].any()
    ]
    return tuple(sorted(models, key=lambda one: (-one.reciprocal, one.model)))
