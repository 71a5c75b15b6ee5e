"""The section of the page on stored predictions: what they say of each task, in words and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gnz_track.predictions.facts import BestExplained, EnsembleScore, ExampleFacts, PairFacts, TaskPredictions
from gnz_track.stats.predictions.two_levels import LevelInterval
from gnz_track.text import plural
from gnz_track.types import Direction

__all__ = ["PredictionView", "view_predictions"]

MOST_SLICES, MOST_EXAMPLES, MOST_MISSING, MOST_NAMED, MOST_EDGES = 6, 10, 5, 3, 7
SEEDS, EXAMPLES = "new seeds", "new seeds and examples"
# Advantages below this are rounding.
NOISE = 1e-12


@dataclass(frozen=True, kw_only=True)
class ShownTable:
    """A table of texts, and what stands above it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class PredictionView:
    """View of what the predictions of one task say, as texts: sentences, tables, and what is left out."""

    task: str
    lines: tuple[str, ...]
    tables: tuple[ShownTable, ...]
    notes: tuple[str, ...]


def view_predictions(predictions: Mapping[str, TaskPredictions]) -> list[PredictionView]:
    """Return what a page shows of the predictions of each task."""
    return [_view(facts) for facts in predictions.values()]


def _view(facts: TaskPredictions) -> PredictionView:
    compared = (_models(facts), _pairs(facts), *map(_slices, facts.explained), _ensembles(facts))
    tables = (*compared, *_examples(facts), _calibration(facts), _ranks(facts))
    notes = [f"{reason[:1].upper()}{reason[1:]}." for reason in facts.left_out]
    if facts.missing:
        shown = ", ".join(run_id[:12] for run_id in facts.missing[:MOST_MISSING])
        more = f" and {len(facts.missing) - MOST_MISSING} more" if len(facts.missing) > MOST_MISSING else ""
        runs = plural(len(facts.missing), "run")
        notes.append(f"Without predictions, and in nothing above: {runs} ({shown}{more}). Make them: {facts.command}")
    return PredictionView(
        task=facts.task,
        lines=tuple(_say(facts)),
        tables=tuple(table for table in tables if table.rows),
        notes=tuple(notes),
    )


def _say(facts: TaskPredictions) -> Iterator[str]:
    """Give what matters, first things first."""
    pair = next(facts.with_best(), None)
    if pair is not None and pair.advantage.value is not None:
        ahead = f"is ahead of {pair.second} by {_number(pair.advantage.value)} {facts.score}"
        level = f"has the {facts.score} of {pair.second}"
        yield (
            f"{pair.first} {level if abs(pair.advantage.value) < NOISE else ahead}: for {SEEDS} "
            f"{_verdict(pair.verdict_seeds, pair.p_seeds)}, for {EXAMPLES} "
            f"{_verdict(pair.verdict_examples, pair.p_examples)}."
        )
    elif facts.models:
        best = facts.models[0]
        value = best.area if best.score is None else best.score.value
        yield f"{best.model} is best: {facts.score} {_number(value)}, mean over {plural(best.n_seeds, 'seed')}."
    if facts.ranks:
        ranked = facts.ranks[0]
        said = f"mean reciprocal rank {_number(ranked.reciprocal)}, the best"
        yield f"Of {ranked.n_ranks:,} ranks a seed, {ranked.model} has {ranked.hits[0]:.1%} at 1 ({said})."
    for one in facts.explained:
        yield _say_why(facts, one)
    if facts.n_unsolved is not None and facts.n_suspects is not None:
        named = ", ".join(one.name for one in facts.unsolved[:MOST_NAMED])
        first = f" (first {named})" if named else ""
        yield (
            f"Of {facts.n_examples:,} tested examples no cell solves {facts.n_unsolved:,}{first}; {facts.n_suspects:,} "
            "have a label that at least 80 % of the cells reject for one other class, by a margin of 0.1 or more."
        )
    for ensemble in facts.ensembles:
        said = "; ".join(_say_gain(line) for line in ensemble.scores)
        weights = ", ".join(f"{model} {weight:.2f}" for model, weight in ensemble.members if len(ensemble.members) > 1)
        yield f"Ensemble, {ensemble.name}{f' ({weights})' if weights else ''}, against {facts.best} alone: {said}."


def _say_why(facts: TaskPredictions, one: BestExplained) -> str:
    parts = "; ".join(
        f"{part.descriptor} {part.slice} has {part.share:.0%} of the examples and gives {_signed(part.part)} "
        f"({'clear of 0' if part.is_clear else 'may be chance'})"
        for part in one.slices[:MOST_NAMED]
        if part.excess > 0.0
    )
    lead = f"Where {one.first} is ahead of {one.second}, by {_signed(one.advantage)} {facts.score}"
    return f"{lead}: {parts or 'alike everywhere'}."


def _say_gain(line: EnsembleScore) -> str:
    value = line.advantage.value or 0.0
    better = "no gain" if abs(value) < NOISE else f"{'better' if value > 0.0 else 'worse'} by {_number(abs(value), 3)}"
    return (
        f"{line.score} {_number(line.value)} for {_number(line.single)}, {better}, for {SEEDS} "
        f"{_verdict(line.verdict_seeds, line.p_seeds)}, for {EXAMPLES} "
        f"{_verdict(line.verdict_examples, line.p_examples)}"
    )


def _verdict(verdict: str, p: float | None) -> str:
    return verdict if p is None else f"{verdict} (p {_p(p)})"


def _models(facts: TaskPredictions) -> ShownTable:
    arrow = "\u2191" if facts.direction is Direction.up else "\u2193"
    has_score = any(one.score is not None for one in facts.models)
    columns = ("model", f"{facts.score} {arrow}", "seeds", *((SEEDS, EXAMPLES) if has_score else ()))
    rows = []
    for one in facts.models:
        value = one.area if one.score is None else one.score.value
        ends = () if one.score is None else (_interval(one.score.new_seeds), _interval(one.score.new_examples))
        rows.append((one.model, _number(value), str(one.n_seeds), *ends))
    return ShownTable(title="Means over seeds, and their intervals:", columns=columns, rows=tuple(rows))


def _calibration(facts: TaskPredictions) -> ShownTable:
    columns = ("model", "calibration error", "Brier score", "log loss", "temperature", "error after", "log loss after")
    rows = []
    for one in facts.models:
        kept = one.calibration
        if kept is not None:
            before = (kept.ece, kept.brier, kept.log_loss, kept.temperature)
            numbers = (*before, kept.ece_after, kept.log_loss_after, one.kappa)
            rows.append((one.model, *(_number(number, 3) for number in numbers)))
    title = "Calibration (debiased error, temperature of validation), and how far two seeds decide alike (\u03ba):"
    return ShownTable(title=title, columns=(*columns, "own seeds agree"), rows=tuple(rows))


def _ranks(facts: TaskPredictions) -> ShownTable:
    """Return the shares of ranks up to the first edges, where the task has ranks."""
    uppers = facts.ranks[0].uppers if facts.ranks else ()
    shown = [place for place, upper in enumerate(uppers) if upper is not None][:MOST_EDGES]
    rows = tuple(
        (
            one.model,
            _number(one.reciprocal),
            *(_number(one.hits[place], 3) for place in shown),
            str(one.n_seeds),
            f"{one.n_ranks:,}",
        )
        for one in facts.ranks
    )
    columns = ("model", "mean reciprocal rank", *(f"rank up to {uppers[place]}" for place in shown))
    title = "Ranks of true triples among their candidates, by tail and by head: shares, means over seeds:"
    return ShownTable(title=title, columns=(*columns, "seeds", "ranks a seed"), rows=rows)


def _pairs(facts: TaskPredictions) -> ShownTable:
    pairs = list(facts.with_best())
    columns = ["against", "ahead by", SEEDS, "p", "verdict", EXAMPLES, "p", "verdict"]
    has_decisions = any(pair.kappa is not None for pair in pairs)
    columns += ["agree (\u03ba)", "errors shared (Jaccard)"] if has_decisions else []
    family = plural(len(facts.pairs), "pair")
    adjusted = f"p adjusted by Holm over {family}, all of the task; intervals are of single pairs, unadjusted"
    title = f"{facts.best} against each other model ({adjusted}):"
    rows = tuple(_pair(pair)[: len(columns)] for pair in pairs)
    return ShownTable(title=title, columns=tuple(columns), rows=rows)


def _pair(pair: PairFacts) -> tuple[str, ...]:
    found = pair.advantage
    return (
        pair.second,
        _number(found.value),
        _interval(found.new_seeds),
        _p(pair.p_seeds),
        pair.verdict_seeds,
        _interval(found.new_examples),
        _p(pair.p_examples),
        pair.verdict_examples,
        _number(pair.kappa, 3),
        _number(pair.shared_errors, 3),
    )


def _slices(one: BestExplained) -> ShownTable:
    rows = tuple(
        (
            f"{part.descriptor} {part.slice}",
            f"{part.n_examples:,}",
            f"{part.share:.1%}",
            _signed(part.part),
            "" if part.low is None or part.high is None else f"{_signed(part.low)} to {_signed(part.high)}",
            _number(part.first),
            _number(part.second),
        )
        for part in one.slices[:MOST_SLICES]
    )
    return ShownTable(
        title=f"Slices that give {one.first} more of its {_signed(one.advantage)} over {one.second} than their share "
        f"of the examples (first of {len(one.slices)}; intervals hold for all of them at once):",
        columns=("slice", "examples", "share", "of the difference", "interval", one.first, one.second),
        rows=rows,
    )


def _ensembles(facts: TaskPredictions) -> ShownTable:
    rows = tuple(
        (
            f"{ensemble.name}: {line.score}",
            _number(line.value),
            _number(line.single),
            _signed(line.advantage.value or 0.0),
            _verdict(line.verdict_seeds, line.p_seeds),
            _verdict(line.verdict_examples, line.p_examples),
        )
        for ensemble in facts.ensembles
        for line in ensemble.scores
    )
    return ShownTable(
        title=f"Ensembles of cells that were trained anyway, against {facts.best} alone (positive is better):",
        columns=("ensemble", "score", "alone", "better by", SEEDS, EXAMPLES),
        rows=rows,
    )


def _examples(facts: TaskPredictions) -> Iterator[ShownTable]:
    listed = (
        (f"Solved by no cell ({facts.n_unsolved} in all), unanimous ones first:", facts.unsolved),
        (f"Labels to look at ({facts.n_suspects} in all), most suspect first:", facts.suspects),
    )
    for title, examples in listed:
        about = list(dict.fromkeys(key for one in examples for key, _ in one.about))
        has_margin = any(one.margin is not None for one in examples)
        rows = tuple(_example(one, about) for one in examples[:MOST_EXAMPLES])
        columns = (facts.kind, "label", "answer", "cells that agree", *(("margin",) if has_margin else ()), *about)
        yield ShownTable(title=title, columns=columns, rows=rows)


def _example(one: ExampleFacts, about: Sequence[str]) -> tuple[str, ...]:
    known = dict(one.about)
    margin = () if one.margin is None else (_number(one.margin, 3),)
    agreed = f"{one.agreement:.0%} of {one.n_cells}"
    return (one.name, str(one.label), str(one.answer), agreed, *margin, *(_number(known.get(key), 3) for key in about))


def _number(value: float | None, digits: int = 4) -> str:
    return "" if value is None else f"{value:.{digits}g}"


def _signed(value: float) -> str:
    return "0" if abs(value) < NOISE else f"{value:+.3g}".replace("-", "\u2212")


def _p(p: float | None) -> str:
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.2g}"


def _interval(one: LevelInterval) -> str:
    return one.note if one.low is None or one.high is None else f"{_number(one.low)} to {_number(one.high)}"
