"""A comparison as a page of plain text: what differs, what cannot be said, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnz_track.stats.comparison.choices import POSTHOCS
from gnz_track.stats.comparison.comparison import AcrossTasks, Comparison, TaskComparison
from gnz_track.stats.comparison.verdicts import EXACT_TESTS, Verdict
from gnz_track.text import first_names, plural

__all__ = ["write_across", "write_comparison", "write_sentence", "write_task"]

MOST_TASKS, MOST_NAMES = 12, 6


def write_comparison(comparison: Comparison) -> str:
    """Return the page."""
    lines = [write_sentence(comparison), f"  {comparison.choices}", "Across tasks"]
    lines += [f"  {line}" for line in write_across(comparison.across)]
    if comparison.aggregates:
        lines += ["On the declared scale", *(f"  {item}" for item in comparison.aggregates[:MOST_TASKS])]
    lines.append("Within tasks")
    shown = comparison.tasks if len(comparison.tasks) <= MOST_TASKS + 1 else comparison.tasks[:MOST_TASKS]
    lines += [f"  {task}" for task in shown]
    if len(shown) < len(comparison.tasks):
        lines.append(f"  ... and {len(comparison.tasks) - len(shown)} more tasks")
    lines += [f"  {line}" for line in _attainability(comparison)]
    lines += _left_out(comparison)
    if comparison.findings:
        lines += ["Warnings", *(f"  {finding}" for finding in comparison.findings)]
    versions = comparison.versions
    lines.append(
        f"gnz_track {versions.gnz_track}, numpy {versions.numpy}, scipy {versions.scipy}; "
        f"seed of all resampling {comparison.choices.seed}"
    )
    return "\n".join(lines)


def write_sentence(comparison: Comparison) -> str:
    """Return the comparison in one sentence."""
    seeds = sorted({len(task.seeds) for task in comparison.tasks})
    n_seeds = plural(seeds[0], "seed") if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
    found = [_across(comparison.across)]
    # A pair without a seed in common was planned, and says nothing yet.
    compared = [pair for pair in comparison.pairs if pair.n_pairs]
    n_pairs, n_without = len(compared), len(comparison.pairs) - len(compared)
    if n_pairs:
        n_different = comparison.count(Verdict.different)
        verb = "differs" if n_different == 1 else "differ"
        more = f" ({plural(n_without, 'further pair')} without a seed in common)" if n_without else ""
        found.append(f"{n_different} of {plural(n_pairs, 'within-task pair')} {verb}{more}")
        for verdict, word in (
            (Verdict.trivial, "trivial"),
            (Verdict.equivalent, "equivalent"),
            (Verdict.undetermined, "undetermined"),
            (Verdict.identical, "identical"),
            (Verdict.nothing, "in which both learnt nothing"),
        ):
            count = sum(pair.verdict is verdict for pair in compared)
            found += [f"{count} {word}"] if count else []
    models, tasks = plural(len(comparison.models), "model"), plural(len(comparison.tasks), "task")
    is_whole = comparison.n_finished == comparison.n_cells
    kept = "" if is_whole else f", {comparison.n_finished} of {plural(comparison.n_cells, 'cell')} finished"
    return f"{models}, {tasks}, {n_seeds}{kept}: {'; '.join(found)}"


def write_across(across: AcrossTasks) -> list[str]:
    """Return the lines on all tasks together."""
    lines = [str(part) for part in (across.ranks, across.friedman) if part is not None]
    if across.ranks is not None and across.ranks.n_models > 1 and across.ranks.n_tasks > 1:
        for name, groups in (("wilcoxon-holm", across.wilcoxon_holm), ("nemenyi", across.nemenyi)):
            lines.append(f"{groups}{' (chosen)' if name == across.posthoc else ''}")
        lines.append(str(across.stability))
        if across.attainability is not None and not across.attainability.can_reject:
            lines.append(f"Wilcoxon: {across.attainability}")
    if across.printed is not None and not across.printed.are_reproducible:
        lines.append(str(across.printed))
    return lines + list(across.notes)


def write_task(task: TaskComparison) -> str:
    """Return one line on a task: the best model, whom it cannot be told from, and how many pairs differ."""
    title = f"{task.task} ({task.metric}, {task.direction})"
    best = next((cell for cell in task.cells if cell.model == task.best), None)
    if best is None or best.mean is None:
        return f"{title}: no score"
    interval = best.interval
    bounds = "" if interval.low is None or interval.high is None else f" [{interval.low:.4g}, {interval.high:.4g}]"
    parts = [f"best {task.best} {best.mean:.4g}{bounds}"]
    if task.pairs:
        parts.append(f"not distinguishable: {_list_names(task.not_distinguishable)}")
        counts = ", ".join(f"{task.count(verdict)} {verdict}" for verdict in Verdict if task.count(verdict))
        parts.append(f"{counts} ({plural(task.families[0].m, 'test')} corrected together)")
        parts += _flagged(task)
    parts += [f"no better than a constant answer: {_list_names(task.at_chance)}"] if task.at_chance else []
    parts += [f"dropped {_list_names(task.dropped)}"] if task.dropped else []
    parts += [task.note] if task.note else []
    return f"{title}: {'; '.join(parts)}"


def _flagged(task: TaskComparison) -> list[str]:
    """Say how many pairs should not be trusted to a test, and for which reasons."""
    raised = [pair.flags.words for pair in task.pairs if pair.flags.words]
    reasons = dict.fromkeys(word for words in raised for word in words)
    return (
        [f"handle with care: {len(raised)} of {plural(len(task.pairs), 'pair')} ({', '.join(reasons)})"]
        if raised
        else []
    )


def _across(across: AcrossTasks) -> str:
    n_pairs = len(across.pairs)
    if not n_pairs or across.ranks is None or across.ranks.n_tasks < 2:
        return "nothing to test across tasks"
    n_different = sum(pair.verdict is Verdict.different for pair in across.pairs)
    if not any(pair.can_reject for pair in across.pairs):
        return f"no pair can differ across tasks ({POSTHOCS[across.posthoc]})"
    if not n_different:
        return "no pair differs across tasks"
    return f"{n_different} of {plural(n_pairs, 'pair')} {'differs' if n_different == 1 else 'differ'} across tasks"


def _attainability(comparison: Comparison) -> Iterator[str]:
    """Say once for all tasks of the same design that an exact test cannot reject, and whether that binds."""
    found: dict[str, list[str]] = {}
    for task in comparison.tasks:
        if task.attainability is not None and not task.attainability.can_reject:
            found.setdefault(str(task.attainability), []).append(task.task)
    binds = comparison.choices.test in EXACT_TESTS
    for text, tasks in found.items():
        meaning = "so its verdicts are undetermined" if binds else "the verdicts rest on the t test, and on normality"
        if max((len(task.seeds) for task in comparison.tasks), default=0) < 2:
            meaning = "so nothing can differ"
        where = "" if len(tasks) == len(comparison.tasks) else f" ({_list_names(tasks)})"
        yield f"exact Wilcoxon: {text}; {meaning}{where}"


def _left_out(comparison: Comparison) -> list[str]:
    across = comparison.across.ranks
    if comparison.n_finished == comparison.n_cells and (across is None or not across.n_missing):
        return []
    counts = (
        f"{comparison.n_finished} of {plural(comparison.n_cells, 'cell')} finished, {comparison.n_failed} failed, "
        f"{comparison.n_missing} missing; {comparison.choices.missing}: {comparison.missing_policy}"
    )
    lines = ["Missing", f"  {counts}"]
    short = [pair for pair in comparison.pairs if pair.n_unmatched]
    lines += [f"  {len(short)} of {plural(len(comparison.pairs), 'pair')} lack seeds"] if short else []
    for name in ("task", "model"):
        dropped = [] if across is None else getattr(across, f"dropped_{name}s")
        lines += [f"  {plural(len(dropped), name)} left out of the ranks: {_list_names(dropped)}"] if dropped else []
    return lines


def _list_names(names: Sequence[str]) -> str:
    return first_names(names, MOST_NAMES) if names else "none"
