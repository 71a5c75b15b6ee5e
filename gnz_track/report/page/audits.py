"""Audits on pages: a section of reports whose tasks were audited, badges beside these tasks, a page of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from gnz_track import __version__
from gnz_track.report.figures.audits import draw_diversity_plane, draw_performance, draw_strips
from gnz_track.report.page.figures import ShownFigure
from gnz_track.report.page.template import part_of_page, render_template, write_whole
from gnz_track.store.audits import AuditRecord, PairRecord
from gnz_track.types import unperturbed_name

__all__ = ["AuditView", "view_audits", "warn_of_versions", "write_audit_page"]

TEMPLATE, STYLE = "audit.html.j2", "report.css"
ORIGINAL = "original"
RATED = ("no", "in part", "yes")
# Times that the table has columns for: the first, and the last.
MOST_FIGURES = 12


@dataclass(frozen=True, kw_only=True)
class AuditView:
    """One audit as texts: facts as (name, value), a row per version of the graphs, pairs, figures."""

    record: AuditRecord
    facts: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    modes: tuple[tuple[str, ...], ...]
    pairs: tuple[tuple[str, ...], ...]
    figures: tuple[ShownFigure, ...]

    @property
    def badge(self) -> str:
        """Words beside the task."""
        return self.record.decision if self.record.is_full else f"{self.record.decision} (fast)"


def view_audits(records: Mapping[str, AuditRecord]) -> dict[str, AuditView]:
    """Return what a page shows of audits, by task."""
    return {task: _view(place, record) for place, (task, record) in enumerate(records.items())}


def warn_of_versions(table: pd.DataFrame) -> list[str]:
    """Return a sentence where tasks are perturbed versions of others, which are no tasks to average over."""
    versions = sorted({str(task) for task in table["task"] if unperturbed_name(str(task)) != str(task)})
    if not versions:
        return []
    shown = ", ".join(versions[:3]) + (f" and {len(versions) - 3} more" if len(versions) > 3 else "")
    apart = f"{len(versions)} tasks are perturbed versions of datasets ({shown}): they stand apart from the originals"
    return [f"{apart}, and what is said across tasks counts each as one; gnz audit says what they are for"]


def draw_plane(records: Sequence[AuditRecord]) -> ShownFigure:
    """Return the plane of diversities of all audits."""
    return ShownFigure(name="diversity_plane", title="Mode diversity", task="", figure=draw_diversity_plane(records))


def write_audit_page(records: Sequence[AuditRecord], path: str | Path) -> Path:
    """Write a page of audits alone into a file, whole or not at all; its figures stand beside it as SVG and PDF."""
    target = Path(path)
    views = view_audits({record.task: record for record in records})
    plane = draw_plane(records)
    content = {
        "audits": views,
        "plane": plane,
        "css": part_of_page(STYLE),
        "version": __version__,
        "title": _title(records),
    }
    figures = target.parent / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for shown in (plane, *(figure for view in views.values() for figure in view.figures)):
        for kind in ("svg", "pdf"):
            shown.figure.savefig(figures / f"{shown.name}.{kind}")
    return write_whole(target, render_template(TEMPLATE, content))


def _title(records: Sequence[AuditRecord]) -> str:
    return f"Audit of {records[0].task}" if len(records) == 1 else f"Audit of {len(records)} datasets"


def _view(place: int, record: AuditRecord) -> AuditView:
    shown = []
    if place < MOST_FIGURES:
        figure, name = draw_strips(record), f"strips_{place:02}"
        shown.append(ShownFigure(name=name, title="Perturbations", task=record.task, figure=figure))
    if place < MOST_FIGURES and record.is_full:
        figure, name = draw_performance(record), f"performance_{place:02}"
        title = "Complementarity and performance"
        shown.append(ShownFigure(name=name, title=title, task=record.task, figure=figure))
    metrics = tuple(dict.fromkeys(sample.metric for sample in record.samples))
    first, last = record.times[0], record.times[-1]
    times = (first,) if first == last else (first, last)
    columns = (
        "version",
        *(f"\u03b3 (t = {time})" for time in times),
        *(f"{metric} (best model)" for metric in metrics),
    )
    return AuditView(
        record=record,
        facts=tuple(_facts(record)),
        columns=columns,
        modes=tuple(_mode_rows(record, metrics, n_times=len(times))),
        pairs=tuple(_pair_row(pair) for pair in record.pairs if pair.first == ORIGINAL),
        figures=tuple(shown),
    )


def _facts(record: AuditRecord) -> Iterable[tuple[str, str]]:
    yield "graphs", f"{record.n_graphs:,}; measured: {record.source}"
    for name, found in (("structure", record.structure), ("features", record.features)):
        if found.mean is not None and found.sd is not None:
            graded = f"grade {found.grade}, spread {found.sd_grade}"
            yield f"diversity of {name}", f"{found.mean:.2f} \u00b1 {found.sd:.2f} ({graded})"
    if record.informative:
        rated = {name: RATED[value] for name, value in record.informative.items()}
        words = f"structure {rated['structure']}, features {rated['features']}"
        yield "informative for models", f"{words}: score {record.score:g} of 5, grade {record.performance}"
    if record.test:
        family = "Bonferroni over all pairs of versions under one metric"
        yield "test", f"{record.test}, {record.n_permutations:,} resamples, level {record.alpha:g}, {family}"
    if record.correlation is not None:
        words = f"{record.correlation:.2f} (grade {record.correlation_grade})"
        yield "correlation of complementarity and performance", words
    if record.agreement.get("jaccard") is not None:
        yield "graphs diverse in both modes, of those in either", f"{100 * (record.agreement['jaccard'] or 0.0):.0f} %"
    yield "distances", ", ".join(f"{name}: {value}" for name, value in record.measure.items())
    if record.seconds:
        yield "measured in", f"{record.seconds:.1f} s, without training"


def _mode_rows(record: AuditRecord, metrics: Sequence[str], *, n_times: int) -> Iterable[tuple[str, ...]]:
    samples = {(sample.mode, sample.metric): sample for sample in record.samples}
    for mode in record.modes:
        ends = (0, -1)[:n_times]
        gammas = [_mean(mode.means[end], mode.sds[end]) for end in ends]
        scores = []
        for metric in metrics:
            sample = samples.get((mode.name, metric))
            scores.append(f"{sample.mean:.4f} ({sample.model})" if sample else "")
        yield (mode.name, *gammas, *scores)


def _mean(mean: float | None, sd: float | None) -> str:
    return "undefined" if mean is None or sd is None else f"{mean:.3f} \u00b1 {sd:.3f}"


def _pair_row(pair: PairRecord) -> tuple[str, ...]:
    interval = "" if pair.low is None or pair.high is None else f" [{pair.low:.4g}, {pair.high:.4g}]"
    words = "outperforms" if pair.outperforms else "separable, and worse" if pair.is_significant else "not separable"
    return (pair.metric, pair.second, f"{pair.statistic:.3f}{interval}", f"{pair.p_adjusted:.3g}", words)
