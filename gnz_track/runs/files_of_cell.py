"""Files that a trained cell leaves, as bytes: they travel with its result, and the one writer of a sweep stores them.

Equal cells give equal bytes: no time, no machine and no folder is in them.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gnz_track.errors import BadValue, UnknownName
from gnz_track.store.cell_files.configuration import encode_configuration
from gnz_track.store.cell_files.kept_files import LARGEST_FILE
from gnz_track.store.cell_files.predictions import PartPredictions, encode_predictions
from gnz_track.store.cell_files.series import encode_series
from gnz_track.store.cell_files.splits import encode_split
from gnz_track.store.cell_files.weights import encode_mlmodel, encode_weights
from gnz_track.store.schema import (
    CONFIGURATION_FILE,
    LAST_FILE,
    MLMODEL_FILE,
    PREDICTIONS_FILE,
    SERIES_FILE,
    SPLIT_FILE,
    WEIGHTS_FILE,
)
from gnz_track.text import format_size, parse_size
from gnz_track.training.compiler import OF_TORCH
from gnz_track.types import Cell, CellSettings

if TYPE_CHECKING:
    # Who asks which files there may be has no need of Torch.
    from torch import Tensor

    from gnz_track.models.options import Sizes
    from gnz_track.problems.forms import Form
    from gnz_track.training.answers import Answers
    from gnz_track.training.loop import Trained

__all__ = [
    "BEST",
    "KEEPS",
    "KEEPS_WEIGHTS",
    "NOTHING",
    "PREDICTIONS",
    "WEIGHTS",
    "Posed",
    "check_keep",
    "check_most_bytes",
    "make_files",
    "predictions_of",
    "read_most_bytes",
    "tell_too_large",
]

# Predictions, settings and curves; these and weights; these, and weights of the best cell of a task and model; none.
PREDICTIONS, WEIGHTS, BEST, NOTHING = "predictions", "weights", "best", "nothing"
KEEPS = (PREDICTIONS, WEIGHTS, BEST, NOTHING)
KEEPS_WEIGHTS = frozenset({WEIGHTS, BEST})

# Tensors are hardly compressed to less than a part of so much.
MOST_COMPRESSED = 8


def check_keep(keep: str) -> None:
    """Refuse what is no name of files to keep."""
    if keep not in KEEPS:
        raise UnknownName("files to keep", keep, KEEPS, command="gnz run --help")


@dataclass(frozen=True, kw_only=True, eq=False)
class Posed:
    """Facts of a cell's data that its files tell: numbers of the examples of each part, sizes of its model, its form.

    ``state`` is that of the model at the selected epoch, where it is asked for.
    """

    split: Mapping[str, Mapping[str, Tensor]] = field(default_factory=dict)
    sizes: Sizes | None = None
    form: Form | None = None
    state: Mapping[str, Any] = field(default_factory=dict)


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
    cell: Cell, settings: CellSettings | None, trained: Trained, posed: Posed, *, is_finished: bool
) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the files that a cell asks for, by name, and why others are not made.

    A cell that failed leaves no prediction: labels of a test part are nowhere without a score.

    Parameters
    ----------
    cell, settings
        The cell, and its settings where they were resolved.
    trained
        What came out of its training, as far as that went.
    posed
        What its data made of it.
    is_finished
        Whether it went to its end.
    """
    if cell.keep == NOTHING:
        return {}, {}
    files = {CONFIGURATION_FILE: encode_configuration(_configuration_of(cell, settings, posed))} if settings else {}
    files |= {SERIES_FILE: encode_series(trained.series)} if trained.series else {}
    if not is_finished or not trained.answers:
        return files, {}
    tensors = [one.outputs for answers in trained.answers.values() for one in answers]
    found = {PREDICTIONS_FILE: _within(cell, tensors, lambda: encode_predictions(list(_parts_of(trained))))}
    tensors = [column for part in posed.split.values() for column in part.values()]
    found[SPLIT_FILE] = _within(cell, tensors, lambda: encode_split(_arrays_of(posed.split)))
    found |= _weights_of(cell, posed, trained, files[CONFIGURATION_FILE]) if cell.keep in KEEPS_WEIGHTS else {}
    files |= {name: content for name, content in found.items() if isinstance(content, bytes)}
    sizes = {name: n_bytes for name, n_bytes in found.items() if isinstance(n_bytes, int)}
    left_out = {name: tell_too_large(name, n_bytes, cell) for name, n_bytes in sizes.items()}
    others = {name: reason for name, reason in found.items() if isinstance(reason, str)}
    return files, left_out | {name: f"{name} of {cell.task.name} is not kept: {of}" for name, of in others.items()}


# A file, its size where that is too large, or why there is none.
_Made = bytes | int | str


def _within(cell: Cell, tensors: Sequence[Tensor], encode: Callable[[], bytes]) -> _Made:
    """Return a file, or its size where that is too large; what is hopelessly large is not even tried."""
    n_bytes = _count_bytes(tensors)
    if n_bytes > MOST_COMPRESSED * cell.keep_at_most:
        return n_bytes
    content = encode()
    return content if len(content) <= cell.keep_at_most else len(content)


def _count_bytes(tensors: Iterable[Tensor]) -> int:
    return sum(one.numel() * one.element_size() for one in tensors)


def _weights_of(cell: Cell, posed: Posed, trained: Trained, configuration: bytes) -> dict[str, _Made]:
    """Return the folder of a model; where its weights are not kept, nothing of it is."""
    states = {WEIGHTS_FILE: posed.state, **({LAST_FILE: trained.last} if trained.last else {})}
    found = {name: _encode_state(cell, state, configuration) for name, state in states.items()}
    if found.get(LAST_FILE) == found[WEIGHTS_FILE]:
        del found[LAST_FILE]
    if posed.form is None or not isinstance(found[WEIGHTS_FILE], bytes):
        return {WEIGHTS_FILE: found[WEIGHTS_FILE]}
    return {**found, MLMODEL_FILE: encode_mlmodel(posed.form.inputs, posed.form.outputs)}


def _encode_state(cell: Cell, state: Mapping[str, Any], configuration: bytes) -> _Made:
    import torch

    odd = [name for name, one in state.items() if not isinstance(one, torch.Tensor) or one.layout != torch.strided]
    if odd:
        return f"its part {odd[0]!r} is no tensor of plain numbers, and nothing else is written"
    if (n_bytes := _count_bytes(state.values())) > cell.keep_at_most:
        return n_bytes + len(configuration)
    try:
        content = encode_weights({name: one.numpy(force=True) for name, one in state.items()}, configuration)
    except (TypeError, ValueError, KeyError) as error:
        # Numbers of a kind that NumPy does not have.
        return f"weights of this kind are not written ({error})"
    return content if len(content) <= cell.keep_at_most else len(content)


def _arrays_of(split: Mapping[str, Mapping[str, Tensor]]) -> dict[str, dict[str, NDArray[np.int64]]]:
    return {part: {name: column.numpy(force=True) for name, column in found.items()} for part, found in split.items()}


def _configuration_of(cell: Cell, settings: CellSettings, posed: Posed) -> dict[str, Any]:
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
        "is_encoder": cell.model.is_encoder,
        "options": {**options, **cell.model.options, **settings.options},
    }
    return {
        "format": 1,
        "task": cell.task.name,
        "dataset": cell.task.dataset,
        "dataset_digest": cell.dataset_digest,
        "protocol": cell.protocol.label,
        "model": model,
        "settings": {
            name: value
            for name, value in vars(settings).items()
            if name != "options" and (value or name not in OF_TORCH)
        },
        **({} if posed.sizes is None else {"sizes": posed.sizes}),
        **({} if posed.form is None else posed.form.as_text()),
    }


def _parts_of(trained: Trained) -> Iterator[PartPredictions]:
    for part, answers in trained.answers.items():
        for one in answers:
            yield predictions_of(part, one)


def predictions_of(part: str, answers: Answers) -> PartPredictions:
    """Return the answers to the examples of a part as they are written."""
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
