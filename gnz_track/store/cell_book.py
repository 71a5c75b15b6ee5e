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
from dataclasses import replace
from typing import Any

from gnz_track.errors import BadValue, GnzError
from gnz_track.records import from_plain, to_json
from gnz_track.types import Cell, ModelRow, Protocol, Task

__all__ = ["digest_of_book", "read_book", "write_book"]

FORMAT = 1
PAYLOAD_DIGEST = "payload_digest"


def write_book(cells: Mapping[str, Cell], *, numbers: int) -> str:
    """Return the book of cells by fingerprint; equal cells give equal texts, wherever their data lie."""
    tasks, models, protocols = _Shelf(_plain_task), _Shelf(_plain_model), _Shelf(_plain_record)
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
            **({"code": cell.code} if cell.code else {}),
        }
        for key, cell in cells.items()
    }
    shelves = {"tasks": tasks.items, "models": models.items, "protocols": protocols.items}
    return json.dumps({"format": FORMAT, "numbers": numbers, **shelves, "cells": rows}, sort_keys=True)


def read_book(text: str) -> tuple[dict[str, Cell], int]:
    """Return the cells by fingerprint, on no device and with data nowhere yet, and what fingerprints were made with."""
    try:
        found = json.loads(text)
        if found["format"] != FORMAT:
            raise BadValue("the format of a book of cells", found["format"], str(FORMAT))
        tasks = {key: _task(fields) for key, fields in found["tasks"].items()}
        models = {key: _model(fields) for key, fields in found["models"].items()}
        protocols = {key: from_plain(Protocol, fields) for key, fields in found["protocols"].items()}
        cells = {
            key: _read_cell(row, tasks[row["task"]], models[row["model"]], protocols[row["protocol"]])
            for key, row in found["cells"].items()
        }
        return cells, int(found["numbers"])
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
        self._plain_record = plain
        self._keys: dict[object, str] = {}

    def key_of(self, thing: object) -> str:
        if thing not in self._keys:
            fields = self._plain_record(thing)
            key = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:12]
            self.items[key] = fields
            self._keys[thing] = key
        return self._keys[thing]


def _plain_record(record: object) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(to_json(record))
    return fields


def _plain_task(task: Task) -> dict[str, Any]:
    # A loader that has no name cannot be told to anybody; its data are frozen.
    return _plain_record(task if isinstance(task.loader, str) else replace(task, loader=None))


def _plain_model(model: ModelRow) -> dict[str, Any]:
    fields = {**_plain_record(replace(model, payload=b"")), "payload": base64.b64encode(model.payload).decode()}
    # Of the bytes, so that it is compared before anything in them runs; source_digest is one of the code in them.
    return {**fields, PAYLOAD_DIGEST: _digest_of_payload(model.payload)} if model.payload else fields


def _digest_of_payload(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


def _model(fields: Mapping[str, Any]) -> ModelRow:
    payload = base64.b64decode(fields["payload"], validate=True)
    # Books of earlier versions have none: there the digest of the whole book speaks for these bytes too.
    recorded = fields.get(PAYLOAD_DIGEST, _digest_of_payload(payload))
    if recorded != _digest_of_payload(payload):
        raise BadValue(
            f"code of the model {fields['name']!r}", f"digest {_digest_of_payload(payload)}", f"digest {recorded}"
        )
    known = {name: value for name, value in fields.items() if name != PAYLOAD_DIGEST}
    _check_texts(known, "name", "target", "factory", "source_digest", "description")
    return replace(from_plain(ModelRow, {**known, "payload": b""}), payload=payload)


def _task(fields: Mapping[str, Any]) -> Task:
    _check_texts(fields, "name", "dataset", "metric")
    if not isinstance(fields["loader"], str | None):
        raise BadValue("loader in a book of cells", fields["loader"], "a text, or nothing")
    return from_plain(Task, fields)


def _read_cell(row: Mapping[str, Any], task: Task, model: ModelRow, protocol: Protocol) -> Cell:
    _check_texts(row, "data", "perturbation")
    numbers = {name: row[name] for name in ("seed", "epochs")}
    values = tuple((name, value) for name, value in row["hyperparameters"])
    wrong = [name for name, number in numbers.items() if type(number) is not int]
    wrong += [name for name, value in values if not (isinstance(name, str) and isinstance(value, int | float | str))]
    if wrong:
        raise BadValue("a cell in a book", ", ".join(map(str, wrong)), "whole numbers, and names with plain values")
    return Cell(
        task=task,
        model=model,
        protocol=protocol,
        **numbers,
        dataset_digest=row["data"],
        data="",
        hyperparameters=values,
        perturbation=row.get("perturbation", ""),
        code=tuple((str(what), str(digest)) for what, digest in row.get("code", ())),
    )


def _check_texts(fields: Mapping[str, Any], *names: str) -> None:
    """Refuse what is no text: names become parts of paths and of commands."""
    wrong = [name for name in names if not isinstance(fields.get(name, ""), str)]
    if wrong:
        raise BadValue("a book of cells", ", ".join(wrong), "texts")
