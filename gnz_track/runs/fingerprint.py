"""Identity of cells: two of one fingerprint are the same."""

from __future__ import annotations

import functools
import hashlib
import json

from gnz_track.records import to_json
from gnz_track.types import Cell, ModelRow, Protocol, TaskType

__all__ = ["NUMBERS", "fingerprint"]

# Raised whenever a change of this package makes the same cell give other numbers: past results then no longer count
# as the same cell. Versions of Torch and PyG are recorded with each run and compared in reports, not here.
# 2: accuracy is a float64.
NUMBERS = 2
# The same for blind cells of some task types; a mere True of all others.
# link_pred 2: what is drawn beside the links knows no test link.
_BLIND: dict[TaskType, int] = {TaskType.link_pred: 2}


def fingerprint(cell: Cell) -> str:
    """Return 32 hexadecimal characters that change with all that decides a cell's numbers, and with nothing else.

    In: the names of task and model, task type and metric, where the model's code comes from and a digest of it, its
    options, the protocol's settings, epochs, hyperparameters, seed, the digest of the data, whether test labels are
    erased, the perturbation, digests of metrics, losses and perturbations that are the user's.
    Out: where the data lie, the device, descriptions, categories, and the usual number of epochs of the task.
    """
    task = cell.task
    parts = {
        "numbers": NUMBERS,
        "task": [task.name, task.task_type, task.metric],
        "epochs": cell.epochs,
        "hyperparameters": sorted([name, value] for name, value in cell.hyperparameters),
        "seed": cell.seed,
        "data": cell.dataset_digest,
        # A word only where it is true: cells of before keep their fingerprints.
        **({"blind": _BLIND.get(cell.task.task_type, True)} if cell.is_blind else {}),
        **({"perturbation": cell.perturbation} if cell.perturbation else {}),
        **({"code": cell.code} if cell.code else {}),
    }
    texts = {name: _write(value) for name, value in parts.items()}
    texts |= {"model": _text_of_model(cell.model), "protocol": _text_of_protocol(cell.protocol)}
    # JSON of all of it, keys sorted, put together from texts that cells share.
    content = ", ".join(f'"{name}": {texts[name]}' for name in sorted(texts))
    return hashlib.sha256(f"{{{content}}}".encode()).hexdigest()[:32]


# Cells by the hundred thousand share a few models and protocols.
@functools.lru_cache(maxsize=1024)
def _text_of_model(model: ModelRow) -> str:
    # One more item where there are options: rows of before had none.
    said = [sorted([name, value] for name, value in model.options.items())] if model.options else []
    return _write([model.name, model.target, model.factory, model.source_digest, model.is_encoder, *said])


@functools.lru_cache(maxsize=64)
def _text_of_protocol(protocol: Protocol) -> str:
    settings: dict[str, object] = json.loads(to_json(protocol))
    settings.pop("description")
    return _write(settings)


_write = json.JSONEncoder(sort_keys=True).encode
