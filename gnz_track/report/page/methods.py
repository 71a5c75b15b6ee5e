"""Methods and findings in sentences for a paper, with references: tests, rules of protocols, seeds that would help."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from gnz_track.stats.comparison.choices import Choices
from gnz_track.stats.comparison.comparison import Comparison, Verdict, write_sentence
from gnz_track.text import plural
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Optimiser, Protocol, TaskType

__all__ = ["REFERENCES", "look_ahead", "write_methods", "write_protocol_terms", "write_summary"]


# Nobody runs more than this many times the seeds that there are.
MOST_TIMES = 4


def look_ahead(comparison: Comparison) -> str:
    """Return in words the fewest seeds that settle half of the undetermined pairs, or as many as can be afforded.

    By the paired t at alpha / m with the chosen power, if pairs differ as much as was observed: for planning, no
    evidence. Empty where all pairs are settled.
    """
    pairs = [pair for pair in comparison.pairs if pair.verdict is Verdict.undetermined and pair.n_pairs]
    needed = sorted(
        max(1, pair.seeds_for_observed - pair.n_pairs)
        for pair in pairs
        if pair.seeds_for_observed is not None and pair.seeds_for_observed <= MOST_TIMES * max(2, pair.n_pairs)
    )
    if not pairs:
        return ""
    if not needed:
        return f"no affordable number of seeds (up to {MOST_TIMES} times as many) would settle any of them"
    n_more = needed[min(len(needed), math.ceil(len(pairs) / 2)) - 1]
    n_settled = sum(more <= n_more for more in needed)
    seeds = "1 more seed" if n_more == 1 else f"{n_more} more seeds"
    which = f"{n_settled} of them" if n_settled < len(pairs) else "all of them"
    return f"{seeds} would settle {which}" if len(pairs) > 1 else f"{seeds} would settle it"


def write_summary(comparison: Comparison) -> str:
    """Return the comparison in one sentence, with what more seeds would settle."""
    found = [write_sentence(comparison), look_ahead(comparison)]
    return f"{'; '.join(filter(None, found))}."


NEEDED = ("task", "task_type", "dataset", "protocol", "epochs", "hyperparameters")
CONSTANT = "constant"
# Schedule -> what it waits for.
AWAITED = {"plateau": "a smaller validation loss", "score_plateau": "a better score on validation"}
# What the hyperparameters of a cell may have otherwise.
OF_CELL = ("lr", "patience", "min_lr")


@dataclass(frozen=True)
class LearningRateTerms:
    """Schedule of the learning rate of some cells of a task, and the latest end of their training."""

    task: str
    optimiser: Optimiser
    epochs: int
    hours: float


def write_protocol_terms(table: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence for each protocol that has a budget of parameters or changes the learning rate.

    Numbers that differ from task to task, or from model to model, are given from the smallest to the largest. A
    protocol that is not in the catalogue is passed over.
    """
    if not set(NEEDED) <= set(table.columns):
        return
    known = {protocol.label: protocol for protocol in PROTOCOLS.rows()}
    for label, rows in table[list(NEEDED)].drop_duplicates().groupby("protocol", sort=True):
        protocol = known.get(str(label))
        if protocol is not None:
            found = [terms for row in rows.itertuples(index=False) for terms in _terms(protocol, row)]
            parts = [*_budget(protocol), *_rates(found)]
            yield from [f"Under the protocol {label}, {'; '.join(parts)}."] if parts else []


def _terms(protocol: Protocol, row: tuple[object, ...]) -> Iterator[LearningRateTerms]:
    said = dict(zip(NEEDED, row, strict=True))
    task_type = next((kind for kind in TaskType if kind == said["task_type"]), None)
    usual = None if task_type is None else protocol.optimiser_for(task_type, str(said["dataset"]))
    try:
        changed = json.loads(str(said["hyperparameters"]) or "{}")
    except json.JSONDecodeError:
        return
    if usual is not None and isinstance(changed, dict):
        given = {name: changed[name] for name in OF_CELL if isinstance(changed.get(name), int | float)}
        hours = protocol.override_for(str(said["dataset"])).hours or protocol.hours
        epochs = 0 if pd.isna(said["epochs"]) else int(float(str(said["epochs"])))
        yield LearningRateTerms(str(said["task"]), replace(usual, **given), epochs, hours)


def _budget(protocol: Protocol) -> Iterator[str]:
    if protocol.budget:
        yield (
            f"every network had on each task the width at which it has about {protocol.budget:,} parameters, within "
            f"{100 * protocol.tolerance:g} %"
        )


def _rates(found: Sequence[LearningRateTerms]) -> Iterator[str]:
    """Yield what is said of each schedule, and of which tasks where there are several."""
    by_schedule: dict[str, list[LearningRateTerms]] = {}
    for terms in found:
        by_schedule.setdefault(terms.optimiser.schedule, []).append(terms)
    if set(by_schedule) <= {CONSTANT}:
        return
    for schedule, group in by_schedule.items():
        where = f"on {', '.join(dict.fromkeys(terms.task for terms in group))} " if len(by_schedule) > 1 else ""
        rate = _span(terms.optimiser.lr for terms in group)
        if schedule == CONSTANT:
            yield f"{where}the learning rate was {rate}"
            continue
        yield (
            f"{where}the learning rate began at {rate} and was multiplied by "
            f"{_span(terms.optimiser.factor for terms in group)} after more than "
            f"{_span(terms.optimiser.patience for terms in group)} epochs without {AWAITED[schedule]}, and training "
            f"ended once it was below {_span(terms.optimiser.min_lr for terms in group)}{_limits(group)}"
        )


def _limits(group: Sequence[LearningRateTerms]) -> str:
    epochs = [terms.epochs for terms in group if terms.epochs]
    hours = [terms.hours for terms in group if terms.hours]
    limits = [*([f"{_span(epochs)} epochs"] if epochs else []), *([f"{_span(hours)} hours"] if hours else [])]
    return f", or after {' or '.join(limits)}" if limits else ""


def _span(values: Iterable[float]) -> str:
    ordered = sorted(set(values))
    return f"{ordered[0]:g}" if len(ordered) == 1 else f"{ordered[0]:g} to {ordered[-1]:g}"


REFERENCES = {
    "Student 1908": "Student. The probable error of a mean. Biometrika 6(1), 1-25, 1908.",
    "Friedman 1937": (
        "M. Friedman. The use of ranks to avoid the assumption of normality implicit in the analysis of variance. "
        "Journal of the American Statistical Association 32(200), 675-701, 1937."
    ),
    "Wilcoxon 1945": "F. Wilcoxon. Individual comparisons by ranking methods. Biometrics Bulletin 1(6), 80-83, 1945.",
    "Nemenyi 1963": "P. B. Nemenyi. Distribution-free multiple comparisons. PhD thesis, Princeton University, 1963.",
    "Holm 1979": (
        "S. Holm. A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6(2), "
        "65-70, 1979."
    ),
    "Shaffer 1986": (
        "J. P. Shaffer. Modified sequentially rejective multiple test procedures. Journal of the American Statistical "
        "Association 81(395), 826-831, 1986."
    ),
    "Efron 1987": (
        "B. Efron. Better bootstrap confidence intervals. Journal of the American Statistical Association 82(397), "
        "171-185, 1987."
    ),
    "Schuirmann 1987": (
        "D. J. Schuirmann. A comparison of the two one-sided tests procedure and the power approach for assessing the "
        "equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics 15(6), 657-680, 1987."
    ),
    "Benjamini and Hochberg 1995": (
        "Y. Benjamini, Y. Hochberg. Controlling the false discovery rate: a practical and powerful approach to "
        "multiple testing. Journal of the Royal Statistical Society B 57(1), 289-300, 1995."
    ),
    "Nadeau and Bengio 2003": (
        "C. Nadeau, Y. Bengio. Inference for the generalization error. Machine Learning 52(3), 239-281, 2003."
    ),
    "Demšar 2006": (
        "J. Demšar. Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning "
        "Research 7, 1-30, 2006."
    ),
    "Benavoli et al. 2016": (
        "A. Benavoli, G. Corani, F. Mangili. Should we really use post-hoc tests based on mean-ranks? Journal of "
        "Machine Learning Research 17(5), 1-10, 2016."
    ),
}
# (phrase, key of its reference) -> the phrase with the reference behind it.
Cite = Callable[[tuple[str, str]], str]
# What was chosen -> how a paper says it, and the key of its reference.
INTERVALS = {
    "t": ("Student's t", "Student 1908"),
    "bca": ("the BCa bootstrap", "Efron 1987"),
    "percentile": ("the percentile bootstrap", ""),
    "bootstrap_t": ("the bootstrap-t", ""),
}
TESTS = {
    "t": ("paired t tests", "Student 1908"),
    "wilcoxon": ("exact Wilcoxon signed-rank tests", "Wilcoxon 1945"),
    "sign_flip": ("sign-flip permutation tests of the mean difference", ""),
    "nadeau_bengio": ("t tests corrected for overlapping splits", "Nadeau and Bengio 2003"),
    "anytime": ("anytime-valid t tests with a look after every seed", ""),
    "fixed_looks": ("t tests at 3, 5, 10, 20 and 30 seeds, corrected for the looks", ""),
}
ADJUSTMENTS = {
    "holm": ("Holm's procedure", "Holm 1979"),
    "bonferroni": ("Bonferroni's correction", ""),
    "shaffer": ("Shaffer's procedure", "Shaffer 1986"),
    "benjamini_hochberg": ("the procedure of Benjamini and Hochberg", "Benjamini and Hochberg 1995"),
}
FRIEDMAN = ("Friedman's test", "Friedman 1937")
POSTHOCS = {
    "wilcoxon-holm": (
        "pairs of models were compared by exact Wilcoxon signed-rank tests with Holm's procedure",
        "Benavoli et al. 2016",
    ),
    "nemenyi": ("mean ranks were compared by Nemenyi's test", "Nemenyi 1963"),
}


def write_methods(comparison: Comparison, terms: Iterable[str] = ()) -> tuple[str, tuple[str, ...]]:
    """Return what was done, in a paragraph that can stand in a paper, and the references that it names, by year.

    ``terms`` are sentences on how cells were trained.
    """
    keys: list[str] = []

    def cite(phrase: tuple[str, str]) -> str:
        text, key = phrase
        keys.extend([key] if key else [])
        return f"{text} ({key})" if key else text

    sentences = [_ran(comparison), *terms, *_within(comparison, cite), *_across(comparison, cite), *_rest(comparison)]
    return " ".join(sentences), tuple(text for key, text in REFERENCES.items() if key in keys)


def _ran(comparison: Comparison) -> str:
    counts = sorted({len(task.seeds) for task in comparison.tasks})
    seeds = plural(counts[0], "seed") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    models, tasks = plural(len(comparison.models), "model"), plural(len(comparison.tasks), "task")
    return f"We ran {models} on {tasks} with {seeds}."


def _within(comparison: Comparison, cite: Cite) -> Iterator[str]:
    choices = comparison.choices
    level = f"{100 * (1 - choices.alpha):g} %"
    yield f"Scores are means over seeds with {level} confidence intervals by {cite(INTERVALS[choices.interval])}."
    family = "over all pairs of models of one task" if choices.family == "task" else "over all pairs of all tasks"
    yield (
        f"Within a task, models were compared over the seeds that both have by two-sided {cite(TESTS[choices.test])}; "
        f"p-values were adjusted by {cite(ADJUSTMENTS[choices.adjustment])} {family}, and a difference is claimed at "
        f"an adjusted p of at most {choices.alpha:g}."
    )
    if choices.margin is not None:
        tost = cite(("two one-sided tests", "Schuirmann 1987"))
        yield (
            f"Models are called equivalent where {tost}, adjusted in the same way, place the mean difference within "
            f"the margin of {_margin(choices)} that was declared."
        )
    if comparison.count(Verdict.identical):
        yield "Models with the same score on every seed are called identical, which is no statistical equivalence."
    if any(task.at_chance for task in comparison.tasks):
        yield (
            "Models are called equivalent or identical only where one of them was shown to be better than a constant "
            "answer, the commonest class or the mean (median) of training; otherwise both learnt nothing."
        )
    yield "All other pairs are undetermined, which is no evidence of equality."


def _across(comparison: Comparison, cite: Cite) -> Iterator[str]:
    ranks = comparison.across.ranks
    if ranks is None or ranks.n_tasks < 2 or ranks.n_models < 2:
        return
    found, was_run = comparison.across.friedman, "Friedman's test was not run"
    if found is not None and found.p is not None:
        was_run = f"{cite(FRIEDMAN)} was run on the ranks of {plural(ranks.n_tasks, 'task')}"
    posthoc = cite(POSTHOCS[comparison.across.posthoc])
    yield (
        f"Across tasks, models were ranked by their mean scores, {cite(('as is usual', 'Demšar 2006'))}; "
        f"{was_run}; {posthoc}."
    )


def _rest(comparison: Comparison) -> Iterator[str]:
    if comparison.n_finished < comparison.n_cells:
        yield (
            f"{comparison.n_failed} of {comparison.n_cells} runs failed and {comparison.n_missing} are missing: "
            f"{comparison.missing_policy}."
        )
    versions = comparison.versions
    yield (
        f"Statistics were computed with gnz_track {versions['gnz_track']}, NumPy {versions['numpy']} and SciPy "
        f"{versions['scipy']}."
    )


def _margin(choices: Choices) -> str:
    given = choices.margin
    if isinstance(given, dict):
        return ", ".join(f"{value:g} ({name})" for name, value in given.items())
    return f"{given:g}"
