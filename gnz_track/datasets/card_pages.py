"""The card of a dataset as a page: what the catalogue says, and what the frozen form has. No torch here."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from gnz_track.datasets.card import Card
from gnz_track.datasets.references import bibtex_of
from gnz_track.origins import PackageFile
from gnz_track.types import DatasetRow, Task

__all__ = ["card_page", "card_record"]


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
