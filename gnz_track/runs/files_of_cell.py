"""Files that a trained cell leaves, as bytes: they travel with its result, and the one writer of a sweep stores them.

Equal cells give equal bytes: no time, no machine and no folder is in them.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnz_track.errors import BadValue, UnknownName
from gnz_track.store.cell_files.configuration import encode_configuration
from gnz_track.store.cell_files.kept_files import LARGEST_FILE
from gnz_track.store.cell_files.predictions import PartPredictions, encode_predictions
from gnz_track.store.cell_files.series import encode_series
from gnz_track.store.cell_files.splits import encode_split
from gnz_track.store.schema import CONFIGURATION_FILE, PREDICTIONS_FILE, SERIES_FILE, SPLIT_FILE
from gnz_track.text import format_size, parse_size
from gnz_track.types import Cell, CellSettings

if TYPE_CHECKING:
    # Who asks which files there may be has no need of Torch.
    from torch import Tensor

    from gnz_track.training.answers import Answers
    from gnz_track.training.loop import Trained

__all__ = [
    "KEEPS",
    "NOTHING",
    "PREDICTIONS",
    "check_keep",
    "check_most_bytes",
    "make_files",
    "read_most_bytes",
    "tell_too_large",
]

# Predictions, settings and curves; or none of these.
PREDICTIONS, NOTHING = "predictions", "nothing"
KEEPS = (PREDICTIONS, NOTHING)

# Tensors are hardly compressed to less than a part of so much.
MOST_COMPRESSED = 8


def check_keep(keep: str) -> None:
    """Refuse what is no name of files to keep."""
    if keep not in KEEPS:
        raise UnknownName("files to keep", keep, KEEPS, command="gnz run --help")


def read_most_bytes(text: str) -> int:
    """Return the bytes that a file of a cell may have, from a size such as 16MiB."""
    try:
        n_bytes = parse_size(text)
    except ValueError:
        n_bytes = 0
    return check_most_bytes(n_bytes, said=text)


def check_most_bytes(n_bytes: int, *, said: object = None) -> int:
    """Return the bytes that a file of a cell may have; refuse what is none, or more than can be read back."""
    if not 0 < n_bytes <= LARGEST_FILE:
        allowed = f"a size such as 16MiB, at most {format_size(LARGEST_FILE)}"
        raise BadValue("--keep-at-most", n_bytes if said is None else said, allowed, command="gnz run --help")
    return n_bytes


def tell_too_large(name: str, n_bytes: int, cell: Cell) -> str:
    """Say that a file of a cell is not kept since it is too large, and which option keeps it.

    Parameters
    ----------
    name, n_bytes
        The file, and its size.
    cell
        Cell that it is of.
    """
    enough = math.ceil(n_bytes / 2**20) * 2**20
    remedy = f"; to keep it: --keep-at-most {format_size(enough)}" if enough <= LARGEST_FILE else ""
    most = format_size(cell.keep_at_most)
    return f"{name} of {cell.task.name} is not kept: {format_size(n_bytes)} a cell, and at most {most} are{remedy}"


def make_files(
    cell: Cell,
    settings: CellSettings | None,
    trained: Trained,
    split: Mapping[str, Mapping[str, Tensor]],
    *,
    is_finished: bool,
) -> tuple[dict[str, bytes], dict[str, int]]:
    """Return the files that a cell asks for, by name, and the bytes of each that would be too large.

    A cell that failed leaves no prediction: labels of a test part are nowhere without a score.

    Parameters
    ----------
    cell, settings
        The cell, and its settings where they were resolved.
    trained
        What came out of its training, as far as that went.
    split
        Numbers of the examples of each part.
    is_finished
        Whether it went to its end.
    """
    if cell.keep == NOTHING:
        return {}, {}
    files = {CONFIGURATION_FILE: encode_configuration(_configuration_of(cell, settings))} if settings else {}
    files |= {SERIES_FILE: encode_series(trained.series)} if trained.series else {}
    if not is_finished or not trained.answers:
        return files, {}
    tensors = [one.outputs for answers in trained.answers.values() for one in answers]
    found = {PREDICTIONS_FILE: _within(cell, tensors, lambda: encode_predictions(list(_parts_of(trained))))}
    tensors = [column for part in split.values() for column in part.values()]
    found[SPLIT_FILE] = _within(cell, tensors, lambda: encode_split(_arrays_of(split)))
    files |= {name: content for name, content in found.items() if isinstance(content, bytes)}
    return files, {name: size for name, size in found.items() if isinstance(size, int)}


def _within(cell: Cell, tensors: Sequence[Tensor], encode: Callable[[], bytes]) -> bytes | int:
    """Return a file, or its size where that is too large; what is hopelessly large is not even tried."""
    n_bytes = sum(one.numel() * one.element_size() for one in tensors)
    if n_bytes > MOST_COMPRESSED * cell.keep_at_most:
        return n_bytes
    content = encode()
    return content if len(content) <= cell.keep_at_most else len(content)


def _arrays_of(split: Mapping[str, Mapping[str, Tensor]]) -> dict[str, dict[str, NDArray[np.int64]]]:
    return {part: {name: column.numpy(force=True) for name, column in found.items()} for part, found in split.items()}


def _configuration_of(cell: Cell, settings: CellSettings) -> dict[str, Any]:
    """Return every setting of a cell; options of its model are those given, beside the defaults of its constructor."""
    from gnz_track.models.building import options_of

    options: dict[str, Any] = {}
    with contextlib.suppress(Exception, SystemExit):
        # Code of users, looked at: what is wrong with it has been said.
        options |= options_of(cell.model).defaults
    model = {
        "name": cell.model.name,
        "source": cell.model.reference,
        "digest": cell.model.source_digest,
        "options": {**options, **cell.model.options, **settings.options},
    }
    return {
        "format": 1,
        "task": cell.task.name,
        "dataset": cell.task.dataset,
        "dataset_digest": cell.dataset_digest,
        "protocol": cell.protocol.label,
        "model": model,
        "settings": {name: value for name, value in vars(settings).items() if name != "options"},
    }


def _parts_of(trained: Trained) -> Iterator[PartPredictions]:
    for part, answers in trained.answers.items():
        for one in answers:
            yield _predictions_of(part, one)


def _predictions_of(part: str, answers: Answers) -> PartPredictions:
    ranks = {name: fact.numpy(force=True) for name, fact in answers.facts.items() if fact.is_floating_point()}
    numbers = {**answers.examples.numbers, **{name: fact for name, fact in answers.facts.items() if name not in ranks}}
    return PartPredictions(
        part=part,
        kind=answers.examples.kind,
        numbers={name: number.numpy(force=True) for name, number in numbers.items()},
        targets=answers.targets.numpy(force=True),
        outputs=answers.outputs.float().numpy(force=True).astype(np.float32, copy=False),
        ranks=ranks,
    )
