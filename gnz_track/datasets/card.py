"""The card of a frozen dataset, and its page: where data come from, how large they are, how they are cut. No torch."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gnz_track.datasets.references import bibtex_of
from gnz_track.errors import DataUnusable, TargetMissing
from gnz_track.registry import import_target
from gnz_track.types import DatasetRow, PackageFile, Task
from gnz_track.user_code.digests import describe_own
from gnz_track.user_code.modules import is_ours

__all__ = [
    "CARD",
    "FORMAT",
    "Card",
    "Field",
    "card_from_json",
    "card_page",
    "card_record",
    "card_to_json",
    "digest_loader",
    "make_card",
    "read_card",
]

FORMAT = 1
# Its file in a frozen folder.
CARD = "card.json"


@dataclass(frozen=True)
class Field:
    """Storage of one field of the graphs.

    ``kind`` is ``tensor`` or the Python type (``int``, ``float``, ``bool``, ``str``) that it was. ``along`` says what
    cuts it along dimension ``dim``: ``node`` and ``edge`` the common pointers, ``own`` the pointer ``cut/<key>``,
    ``fixed`` a constant ``stride`` per graph, ``each`` one index of a stacked dimension per graph.
    """

    kind: str
    along: str
    dim: int = 0
    stride: int = 0


@dataclass(frozen=True, kw_only=True)
class Card:
    """All that is known of a frozen dataset without looking at its tensors.

    ``sizes`` has ``n_graphs``, ``n_nodes``, ``n_edges``, ``n_features``, ``n_classes``, ``n_targets`` and
    ``n_relations`` (0 where there are none). ``vocabularies`` has, for integer features, one past the largest value of
    each column. ``digest`` is the content digest of the tensors, ``loader`` that of the code which made them where the
    loader is not of this package. No time and no path is on a card.
    """

    name: str
    category: str
    task_types: tuple[str, ...]
    source: str
    licence: str
    citation: str
    digest: str
    sizes: Mapping[str, int]
    fields: Mapping[str, Field]
    is_directed: bool
    is_multi_label: bool
    has_num_nodes: bool
    vocabularies: tuple[int, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    url: str = ""
    notes: str = ""
    loader: str = ""
    format: int = FORMAT


def make_card(row: DatasetRow, *, seed: int | None, digest: str, **found: Any) -> Card:
    """Return the card of graphs.

    Parameters
    ----------
    row, seed, digest
    **found
        The fields of the card that were found of the tensors.
    """
    return Card(
        name=row.name,
        category=str(row.category),
        task_types=tuple(map(str, row.task_types)),
        source=row.source,
        licence=row.licence,
        citation=row.citation,
        url=row.url,
        notes=row.notes,
        options=dict(row.options),
        seed=seed,
        digest=digest,
        loader=digest_loader(row),
        **found,
    )


def digest_loader(row: DatasetRow) -> str:
    """Return the digest of the code of a row's loader; nothing of one of this package, or of one that is not here."""
    if not row.loader or is_ours(row.loader):
        return ""
    try:
        return describe_own(import_target(row.loader)).digest
    except (TargetMissing, ImportError):
        return ""


_KINDS = ("tensor", "int", "float", "bool", "str")
_ALONG = ("node", "edge", "own", "fixed", "each")
_SIZES = ("n_graphs", "n_nodes", "n_edges", "n_features", "n_classes", "n_targets", "n_relations")
_TYPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("name", "category", "source", "licence", "citation", "digest", "url", "notes"), str),
    **dict.fromkeys(("sizes", "fields", "options"), dict),
    **dict.fromkeys(("is_directed", "is_multi_label", "has_num_nodes"), bool),
    **dict.fromkeys(("task_types", "vocabularies"), list),
    "seed": (int, type(None)),
    "loader": str,
    "format": int,
}


def card_to_json(card: Card) -> str:
    """Write a card: sorted keys, two spaces, a newline at the end; the same card is always the same text."""
    # A word only where there is one: cards of before stay as they were, byte by byte.
    said = {name: value for name, value in dataclasses.asdict(card).items() if name != "loader" or value}
    return json.dumps(said, sort_keys=True, indent=2, allow_nan=False) + "\n"


def card_from_json(text: str) -> Card:
    """Read a card; raises ``ValueError`` with the reason where the text is not one."""
    try:
        record = json.loads(text)
    except RecursionError:
        message = "card.json is nested too deeply"
        raise ValueError(message) from None
    if not isinstance(record, dict) or set(record) | {"loader"} != set(_TYPES):
        message = "card.json does not have the keys of a card"
        raise ValueError(message)
    wrong = [key for key, value in record.items() if not isinstance(value, _TYPES[key])]
    if wrong or record["format"] != FORMAT:
        message = f"card.json has an unknown format or wrong values: {', '.join(wrong) or record['format']}"
        raise ValueError(message)
    if any(type(record["sizes"].get(name)) is not int for name in _SIZES):
        message = f"card.json lacks one of the sizes {', '.join(_SIZES)}"
        raise ValueError(message)
    record["task_types"], record["vocabularies"] = tuple(record["task_types"]), tuple(record["vocabularies"])
    record["fields"] = {name: _read_field(name, value) for name, value in record["fields"].items()}
    return Card(**record)


def read_card(path: Path) -> Card:
    """Read the card in a file; one that is none is an error."""
    try:
        return card_from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        name = path.parent.name
        raise DataUnusable(name, path.parent, str(error), command=f"gnz data get {name}") from error


def _read_field(name: str, record: object) -> Field:
    try:
        found = Field(**record)  # type: ignore[arg-type]
    except TypeError:
        message = f"card.json does not say how {name!r} is stored"
        raise ValueError(message) from None
    is_known = found.kind in _KINDS and found.along in _ALONG
    if not is_known or type(found.dim) is not int or type(found.stride) is not int:
        message = f"card.json does not say how {name!r} is cut"
        raise ValueError(message)
    return found


def card_record(row: DatasetRow, cards: Sequence[Card], tasks: Sequence[Task]) -> dict[str, Any]:
    """Return all that is known of a dataset, ready for JSON.

    Parameters
    ----------
    row, tasks
    cards
        Those of its frozen forms, one for each seed.
    """
    return {
        "name": row.name,
        "category": str(row.category),
        "task_types": [str(task_type) for task_type in row.task_types],
        "tasks": [task.name for task in tasks],
        "source": row.source,
        "url": row.url,
        "licence": row.licence,
        "citation": row.citation,
        "bibtex": bibtex_of(row.references),
        "notes": row.notes,
        "defects": list(row.defects),
        "retired": row.retired,
        "extra": row.extra,
        "expected": dict(row.expected),
        "files": [_describe_origin(origin) for origin in row.origins],
        "frozen": [
            {
                "digest": card.digest,
                "seed": card.seed,
                "sizes": dict(card.sizes),
                "is_directed": card.is_directed,
                "fields": {name: dataclasses.asdict(field) for name, field in card.fields.items()},
            }
            for card in cards
        ],
    }


def card_page(record: Mapping[str, Any]) -> str:
    """Write a record as Markdown."""
    facts = {
        "category": record["category"],
        "posed as": ", ".join(record["task_types"]),
        "tasks": ", ".join(record["tasks"]) or "none",
        "source": record["source"],
        "address": record["url"],
        "licence": record["licence"],
        "needs": record["extra"] and f"pip install 'gnz-track[{record['extra']}]'",
        "retired": record["retired"],
    }
    lines = [f"# {record['name']}", "", *(f"- **{name}**: {text}" for name, text in facts.items() if text), ""]
    lines += _frozen_lines(record)
    lines += [f"{record['notes']}\n"] if record["notes"] else []
    lines += ["## Known defects", "", *(f"- {text}" for text in record["defects"]), ""] if record["defects"] else []
    lines += ["## Citation", "", record["citation"], ""]
    lines += ["```bibtex", record["bibtex"].strip(), "```", ""] if record["bibtex"] else []
    lines += ["## Files", "", *map(_origin_line, record["files"]), ""] if record["files"] else []
    return "\n".join(lines).rstrip() + "\n"


def _frozen_lines(record: Mapping[str, Any]) -> list[str]:
    if not record["frozen"]:
        sizes = ", ".join(f"{size:,} {name.removeprefix('n_')}" for name, size in record["expected"].items() if size)
        told = f"Not frozen here; expected: {sizes or 'nothing is stated'}."
        return [f"{told} Freeze it: gnz data get {record['name']}", ""]
    lines = ["## Frozen here", "", "| seed | graphs | nodes | edges | features | classes | digest |", "|---" * 7 + "|"]
    for form in record["frozen"]:
        names = ("n_graphs", "n_nodes", "n_edges", "n_features", "n_classes")
        sizes = " | ".join(f"{form['sizes'][name]:,}" for name in names)
        seed = "all" if form["seed"] is None else form["seed"]
        lines.append(f"| {seed} | {sizes} | `{form['digest']}` |")
    fields = record["frozen"][0]["fields"]
    direction = "directed" if record["frozen"][0]["is_directed"] else "undirected"
    return [*lines, "", f"Edges are {direction}. Fields: {', '.join(f'`{name}`' for name in fields)}.", ""]


def _describe_origin(origin: Any) -> dict[str, Any]:
    is_package = isinstance(origin, PackageFile)
    where = f"{origin.project} {origin.version}: {origin.file}" if is_package else origin.url
    return {"where": where, "sha256": origin.sha256, "n_bytes": origin.n_bytes, "members": dict(origin.members)}


def _origin_line(file: Mapping[str, Any]) -> str:
    size = f"{file['n_bytes']:,} bytes" if file["n_bytes"] else "size not stated"
    return f"- {file['where']} ({size}, sha256 {file['sha256'] or 'not stated'})"
