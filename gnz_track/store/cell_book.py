"""The cells of a sweep as one text, from which each of them can be trained again.

What cells share is said once: tasks, models and protocols stand under digests of themselves, and a cell names them. The
text is JSON and reading it runs nothing. A model that travels by value lies in it as bytes: who unpickles them runs the
code of whoever wrote them.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gnz_track.errors import BadValue, GnzError
from gnz_track.records import to_json
from gnz_track.types import Cell, ModelRow, Optimiser, Protocol, Selection, Task, TaskType

__all__ = ["CellBook", "digest_of_book", "read_book", "write_book"]

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class CellBook:
    """Cells by fingerprint, on no device and with data nowhere yet; ``numbers`` is what fingerprints were made with."""

    numbers: int
    cells: Mapping[str, Cell]


def write_book(cells: Mapping[str, Cell], *, numbers: int) -> str:
    """Return the book of cells by fingerprint; equal cells give equal texts, wherever their data lie."""
    tasks, models, protocols = _Shelf(_plain_task), _Shelf(_plain_model), _Shelf(_plain)
    rows = {
        key: {
            "task": tasks.key_of(cell.task),
            "model": models.key_of(cell.model),
            "protocol": protocols.key_of(cell.protocol),
            "seed": cell.seed,
            "epochs": cell.epochs,
            "data": cell.dataset_digest,
            "hyperparameters": cell.hyperparameters,
            **({"perturbation": cell.perturbation} if cell.perturbation else {}),
        }
        for key, cell in cells.items()
    }
    shelves = {"tasks": tasks.items, "models": models.items, "protocols": protocols.items}
    return json.dumps({"format": FORMAT, "numbers": numbers, **shelves, "cells": rows}, sort_keys=True)


def read_book(text: str) -> CellBook:
    """Read what :func:`write_book` wrote."""
    try:
        found = json.loads(text)
        if found["format"] != FORMAT:
            raise BadValue("the format of a book of cells", found["format"], str(FORMAT))
        tasks = {key: Task(**fields) for key, fields in found["tasks"].items()}
        models = {key: _model(fields) for key, fields in found["models"].items()}
        protocols = {key: _protocol(fields) for key, fields in found["protocols"].items()}
        cells = {
            key: Cell(
                task=tasks[row["task"]],
                model=models[row["model"]],
                protocol=protocols[row["protocol"]],
                seed=row["seed"],
                epochs=row["epochs"],
                dataset_digest=row["data"],
                data="",
                hyperparameters=tuple((name, value) for name, value in row["hyperparameters"]),
                perturbation=row.get("perturbation", ""),
            )
            for key, row in found["cells"].items()
        }
        return CellBook(numbers=int(found["numbers"]), cells=cells)
    except (ValueError, KeyError, TypeError, AttributeError, GnzError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise BadValue("a book of cells", reason, "what this version of gnz_track writes") from error


def digest_of_book(text: str) -> str:
    """Return 16 hexadecimal characters under which a book is kept."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Shelf:
    """Things that cells share, each written once under a digest of itself."""

    def __init__(self, plain: Callable[[Any], dict[str, Any]]) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self._plain = plain
        self._keys: dict[object, str] = {}

    def key_of(self, thing: object) -> str:
        if thing not in self._keys:
            fields = self._plain(thing)
            key = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:12]
            self.items[key] = fields
            self._keys[thing] = key
        return self._keys[thing]


def _plain(record: object) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(to_json(record))
    return fields


def _plain_task(task: Task) -> dict[str, Any]:
    # A loader that has no name cannot be told to anybody; its data are frozen.
    return _plain(task if isinstance(task.loader, str) else replace(task, loader=None))


def _plain_model(model: ModelRow) -> dict[str, Any]:
    payload = base64.b64encode(model.payload).decode()
    return {**_plain(replace(model, payload=b"")), "payload": payload}


def _model(fields: Mapping[str, Any]) -> ModelRow:
    task_types = tuple(map(TaskType, fields["task_types"]))
    payload = base64.b64decode(fields["payload"], validate=True)
    return ModelRow(**{**fields, "task_types": task_types, "payload": payload})


def _protocol(fields: Mapping[str, Any]) -> Protocol:
    optimisers = {TaskType(name): Optimiser(**settings) for name, settings in fields["optimisers"].items()}
    return Protocol(**{**fields, "optimisers": optimisers, "selection": Selection(fields["selection"])})
