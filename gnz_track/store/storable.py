"""Limits of a store on names that users choose: asked before any training, in words that name the limit."""

from __future__ import annotations

from collections.abc import Iterable

from gnz_track.errors import BadValue
from gnz_track.store import schema
from gnz_track.store.run_record import check_hyperparameters
from gnz_track.types import Cell

__all__ = ["check_cells", "written_out"]

COMMAND = "another name"


def check_cells(cells: Iterable[Cell], *, suite: str, sweep: str, metrics: Iterable[str]) -> None:
    """Refuse names that no store takes: of tasks, models, datasets, metrics, hyperparameters, suites and sweeps.

    Parameters
    ----------
    cells
        Cells of a sweep.
    suite, sweep
        Names of the sweep's suite and of itself.
    metrics
        Names of all metrics.
    """
    _check_text("name of a suite", suite, schema.MOST_EXPERIMENT_CHARACTERS)
    _check_text("name of a sweep", sweep, schema.MOST_TAG_CHARACTERS)
    # Its experiments are named after suite and task together.
    most_of_task = schema.MOST_EXPERIMENT_CHARACTERS - len(f"{schema.PREFIX}/{suite}//hpo")
    names: dict[tuple[str, str], int] = {}
    for cell in cells:
        check_hyperparameters(cell.hyperparameters)
        names |= {
            ("name of a task", cell.task.name): most_of_task,
            ("name of a dataset", cell.task.dataset): schema.MOST_DATASET_CHARACTERS,
            ("name of a model", cell.model.name): schema.MOST_TAG_CHARACTERS,
            ("import path of a model", cell.model.reference): schema.MOST_TAG_CHARACTERS,
            ("name of a protocol", cell.protocol.label): schema.MOST_TAG_CHARACTERS,
            **{("hyperparameter", f"{name}={value}"): schema.MOST_TEXT for name, value in cell.hyperparameters},
        }
    for (what, name), most in names.items():
        _check_text(what, name, most)
    for metric in metrics:
        # The longest key that is made of it.
        schema.curve_key(f"{schema.TEST_PREFIX}{metric}{schema.AT_BEST_VALIDATION}")


def _check_text(what: str, value: str, most: int) -> None:
    """Refuse a text that is longer than a store takes, or holds what no database does."""
    if len(value) > most:
        raise BadValue(what, value, f"at most {most} characters, which is what MLflow takes", command=COMMAND)
    if value != written_out(value):
        allowed = "characters that databases hold: no zero bytes, no half characters"
        raise BadValue(what, value, allowed, command=COMMAND)


def written_out(text: str) -> str:
    r"""Return a text in which what no database holds can be read: zero bytes, and bytes of names that are no UTF-8.

    >>> written_out("a\0b")
    'a\\x00b'
    """
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")
