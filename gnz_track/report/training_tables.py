"""A table of what was trained: size, score, effort, and a place that the paired verdicts back."""

from __future__ import annotations

import pandas as pd

from gnz_track.stats.cells import Frame
from gnz_track.stats.comparison import CellSummary, Comparison, TaskComparison
from gnz_track.stats.pareto import mean_costs

__all__ = ["training_frame", "write_training_markdown"]

# Column of the results table -> column here, its mean over the seeds of a model.
MEANS = {
    "n_parameters": "n_parameters",
    "train_score": "train_mean",
    "selected_epoch": "n_epochs",
    "seconds_per_epoch": "seconds_per_epoch",
    "seconds": "seconds",
    "peak_rss_mib": "memory_mib",
}
PLACES = {1: "first", 2: "second", 3: "third"}


def training_frame(comparison: Comparison, table: Frame) -> pd.DataFrame:
    """Return a row per (task, model), best first: parameters, score, what training took, and the place.

    A model has one place for every model that is told to be better than it, and one more: what the adjusted paired test
    does not tell apart shares a place. ``n_epochs`` counts up to the selected epoch. What the table does not tell is
    left out.
    """
    known = {str(name) for name in table.columns}
    costs = {ours: mean_costs(comparison, table, column) for column, ours in MEANS.items() if column in known}
    rows = []
    for task in comparison.tasks:
        for cell in _best_first(task):
            told = {name: found.get((task.task, cell.model)) for name, found in costs.items()}
            if told.get("n_epochs") is not None:
                told["n_epochs"] += 1  # type: ignore[operator]
            place = _place(task, cell.model)
            found = {"mean": cell.mean, "sd": cell.sd, "n_seeds": cell.n_finished, "place": PLACES.get(place, "")}
            rows.append({"task": task.task, "model": cell.model, **told, **found})
    return pd.DataFrame(rows)


def write_training_markdown(comparison: Comparison, table: Frame) -> str:
    """Return the same as a Markdown table, a dash where nothing is known."""
    frame = training_frame(comparison, table)
    columns = [name for name in _WRITTEN if name in frame.columns]
    lines = [
        "| " + " | ".join(_WRITTEN[name][0] for name in columns) + " |",
        "|" + "|".join("---" if name in _WORDS else "---:" for name in columns) + "|",
    ]
    for row in frame[columns].itertuples(index=False):
        cells = [_write(name, value) for name, value in zip(columns, row, strict=True)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


# Column -> its heading, and how a value is written.
_WORDS = frozenset({"task", "model", "place"})
_WRITTEN: dict[str, tuple[str, str]] = {
    "task": ("task", "{}"),
    "model": ("model", "{}"),
    "n_parameters": ("#Param", "{:,.0f}"),
    "mean": ("test mean", "{:.4g}"),
    "sd": ("sd", "{:.2g}"),
    "train_mean": ("train mean", "{:.4g}"),
    "n_seeds": ("seeds", "{:.0f}"),
    "n_epochs": ("epochs", "{:.4g}"),
    "seconds_per_epoch": ("s / epoch", "{:.3g}"),
    "seconds": ("s in all", "{:.3g}"),
    "memory_mib": ("peak MiB", "{:,.0f}"),
    "place": ("place", "{}"),
}


def _write(name: str, value: object) -> str:
    if pd.isna(value):
        return "-"
    text = _WRITTEN[name][1].format(value)
    return text.replace("|", "\\|").replace("\n", " ") if name in _WORDS else text


def _best_first(task: TaskComparison) -> list[CellSummary]:
    sign = -1.0 if task.direction == "up" else 1.0
    return sorted(task.cells, key=lambda cell: (cell.mean is None, sign * (cell.mean or 0.0), cell.model))


def _place(task: TaskComparison, model: str) -> int:
    """Return 1 and one more for each model that a rejected pair tells to be better; 0 for a model without a score."""
    if not any(cell.model == model and cell.mean is not None for cell in task.cells):
        return 0
    n_better = 0
    for pair in task.pairs:
        advantage = pair.effects.mean.mean
        if pair.is_rejected and advantage is not None and model in {pair.first, pair.second}:
            # Positive where the first is better.
            n_better += (advantage < 0) is (model == pair.first)
    return 1 + n_better
