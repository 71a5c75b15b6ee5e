"""The paragraph on methods that a paper needs, and its references, from the choices of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from gnz_track.stats.choices import Choices
from gnz_track.stats.comparison import Comparison
from gnz_track.stats.verdicts import Verdict

__all__ = ["REFERENCES", "Methods", "write_methods"]

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
    "bh": ("the procedure of Benjamini and Hochberg", "Benjamini and Hochberg 1995"),
    "none": ("no correction", ""),
}
FRIEDMAN = ("Friedman's test", "Friedman 1937")
POSTHOCS = {
    "wilcoxon-holm": (
        "pairs of models were compared by exact Wilcoxon signed-rank tests with Holm's procedure",
        "Benavoli et al. 2016",
    ),
    "nemenyi": ("mean ranks were compared by Nemenyi's test", "Nemenyi 1963"),
}


@dataclass(frozen=True, kw_only=True)
class Methods:
    """A paragraph, and the references that it names, by year."""

    paragraph: str
    references: tuple[str, ...]


def write_methods(comparison: Comparison, terms: Iterable[str] = ()) -> Methods:
    """Return what was done, in words that can stand in a paper; ``terms`` are sentences on how cells were trained."""
    keys: list[str] = []

    def cite(phrase: tuple[str, str]) -> str:
        text, key = phrase
        keys.extend([key] if key else [])
        return f"{text} ({key})" if key else text

    sentences = [_ran(comparison), *terms, *_within(comparison, cite), *_across(comparison, cite), *_rest(comparison)]
    return Methods(
        paragraph=" ".join(sentences),
        references=tuple(text for key, text in REFERENCES.items() if key in keys),
    )


def _ran(comparison: Comparison) -> str:
    counts = sorted({len(task.seeds) for task in comparison.tasks})
    seeds = _many(counts[0], "seed") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"
    models, tasks = _many(len(comparison.models), "model"), _many(len(comparison.tasks), "task")
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
        was_run = f"{cite(FRIEDMAN)} was run on the ranks of {_many(ranks.n_tasks, 'task')}"
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
        f"Statistics were computed with gnz_track {versions.gnz_track}, NumPy {versions.numpy} and SciPy "
        f"{versions.scipy}."
    )


def _margin(choices: Choices) -> str:
    given = choices.margin
    if isinstance(given, dict):
        return ", ".join(f"{value:g} ({name})" for name, value in given.items())
    return f"{given:g}"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
