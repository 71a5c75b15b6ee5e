"""``gnz tasks NAME``: all that one task is, and what is to be typed next."""

from __future__ import annotations

from textwrap import fill

from gnz_track.cli.saying import say

__all__ = ["print_task"]

WIDTH = 100
_BETTER = {"up": "higher is better", "down": "lower is better"}


def print_task(name: str) -> None:
    """Print what a task asks, how it is scored, how large and how dear it is, and what is wrong with its data."""
    from gnz_track.cli.data_list import show_download
    from gnz_track.cli.tables import print_rows
    from gnz_track.datasets.catalogue import DATASETS, SUITES, TASKS
    from gnz_track.datasets.rows.times import SECONDS
    from gnz_track.models.catalogue import MODELS, usual_models
    from gnz_track.runs.one import presumed_metric
    from gnz_track.training.protocols import PROTOCOLS

    task = TASKS.get(name)
    row = DATASETS.get(task.dataset) if task.dataset in DATASETS else None
    metric = presumed_metric(task)
    serving = [model.name for model in MODELS.rows() if task.task_type in model.task_types]
    usual = [model.name for model in usual_models() if task.task_type in model.task_types]
    protocols = [protocol.label for protocol in PROTOCOLS.rows() if task.task_type in protocol.optimisers]
    facts = {
        "kind of problem": task.task_type,
        "category": task.category,
        "metric": f"{metric.name}, {_BETTER[metric.direction]}",
        "epochs": f"{task.epochs:,}",
        "seconds a cell": f"about {SECONDS[name]:.1f} on one core" if name in SECONDS else "not measured",
        "suites": ", ".join(suite for suite in SUITES if name in SUITES.get(suite).tasks),
        "protocols": ", ".join(protocols),
        "models": f"{len(serving)} of {len(MODELS)} serve it; where none is named: {', '.join(usual)}",
        "dataset": task.dataset,
    }
    if row is not None:
        facts |= {
            "source": row.source,
            "licence": row.licence,
            "size": ", ".join(f"{size:,} {what.removeprefix('n_')}" for what, size in row.expected.items()),
            "to be fetched": show_download(row),
            "needs": f"pip install 'gnz-track[{row.extra}]'" if row.extra else "",
            "retired": row.retired,
        }
    print_rows(name, ("fact", "value"), [(fact, value) for fact, value in facts.items() if value])
    say()
    for sentence in [
        *(row.defects if row is not None else ()),
        *_following(name, task.dataset, is_known=row is not None),
    ]:
        say(fill(sentence, width=WIDTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False))


def _following(name: str, dataset: str, *, is_known: bool) -> list[str]:
    found = [f"train on it: gnz run --task {name}"]
    return [*found, f"all of its dataset, and how to cite it: gnz data card {dataset}"] if is_known else found
