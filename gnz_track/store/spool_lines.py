"""The lines of a spool's file: environments, records, searches and the sweep's end, each with a digest of itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gnz_track.errors import GnzError
from gnz_track.records import to_json
from gnz_track.store.environment import Environment, GitState
from gnz_track.store.run_record import RunRecord, SweepContext, record_from_json
from gnz_track.store.search_record import SearchRecord, search_from_json, search_to_json

__all__ = ["CONTEXT", "END", "RECORD", "SEARCH", "Lines", "SweepEnd", "read_lines", "sealed"]

CONTEXT, RECORD, SEARCH, END = "context", "record", "search", "end"


@dataclass(frozen=True, kw_only=True)
class SweepEnd:
    """End of a sweep that a store which was away is still to be told: its plan, and why it was killed, if it was."""

    key: str
    plan: str
    killed: str = ""


@dataclass
class Lines:
    """Contents of a file: the latest context of each environment and book, records and ends by key, bad lines.

    A search may be there several times, each time as far as it was; its keys are digests of all that it said then.
    """

    contexts: dict[str, SweepContext] = field(default_factory=dict)
    records: dict[str, RunRecord] = field(default_factory=dict)
    searches: dict[str, SearchRecord] = field(default_factory=dict)
    ends: dict[str, SweepEnd] = field(default_factory=dict)
    bad: dict[int, bytes] = field(default_factory=dict)

    @property
    def keys(self) -> set[str]:
        """The keys of all that the store is to have."""
        return {*self.records, *self.searches, *self.ends}

    def sealed_again(self, keys: Collection[str]) -> list[str]:
        """Return the lines of these keys, and of the contexts that belong to them, to be written elsewhere."""
        contexts = [sealed(CONTEXT, to_json(context)) for context in self.contexts.values()]
        records = [sealed(RECORD, to_json(record)) for key, record in self.records.items() if key in keys]
        searches = [sealed(SEARCH, search_to_json(search)) for key, search in self.searches.items() if key in keys]
        ends = [sealed(END, to_json(end)) for key, end in self.ends.items() if key in keys]
        return [*contexts, *records, *searches, *ends]


def read_lines(path: Path) -> Lines:
    """Return what a file holds; a line that is no record is kept as it is."""
    found = Lines()
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not line:
            continue
        try:
            kind, text = _opened(line)
            _TAKE[kind](found, text)
        except (ValueError, KeyError, TypeError, GnzError):
            found.bad[number] = line
    return found


def _take_context(found: Lines, text: str) -> None:
    facts: dict[str, Any] = json.loads(text)
    facts["environment"] = Environment(**facts["environment"])
    facts["git"] = GitState(**facts["git"])
    context = SweepContext(**facts)
    found.contexts[f"{context.environment.digest} {context.book_digest}"] = context


def _take_record(found: Lines, text: str) -> None:
    record = record_from_json(text)
    found.records.setdefault(record.key, record)


def _take_search(found: Lines, text: str) -> None:
    key = f"search {_digest_of_line(SEARCH, text)}"
    # What was said last comes last, were it said before.
    found.searches.pop(key, None)
    found.searches[key] = search_from_json(text)


def _take_end(found: Lines, text: str) -> None:
    end = SweepEnd(**json.loads(text))
    found.ends[end.key] = end


_TAKE = {CONTEXT: _take_context, RECORD: _take_record, SEARCH: _take_search, END: _take_end}


def sealed(kind: str, text: str) -> str:
    """Return a line that tells whether it is whole: garbage in its middle may well be JSON still."""
    return json.dumps({"digest": _digest_of_line(kind, text), "kind": kind, "text": text})


def _opened(line: bytes) -> tuple[str, str]:
    found = json.loads(line)
    kind, text = found["kind"], found["text"]
    if _digest_of_line(kind, text) != found["digest"]:
        message = "the digest is another one"
        raise ValueError(message)
    return kind, text


def _digest_of_line(kind: str, text: str) -> str:
    return hashlib.sha256(f"{kind}:{text}".encode()).hexdigest()[:16]
