"""Tables of an sqlite file that are none: views, triggers and tables of modules in the place of MLflow's own.

A file holds its schema as text, and whoever made the file wrote it. A view in the place of a table decides what a
reader does, for how long, and a trigger what a writer does; MLflow makes neither for the tables that are read here.
"""

from __future__ import annotations

from collections.abc import Iterable

from gnz_track.errors import StoreUnusable
from gnz_track.store.address import Address

__all__ = ["STRANGE", "refuse_strange"]

# Indices cannot be named alike, and texts of CREATE stand as they were typed.
STRANGE = (
    "SELECT type, name, tbl_name FROM sqlite_master WHERE type IN ('view', 'trigger') OR sql LIKE 'CREATE VIRTUAL%'"
)
# Those of MLflow that are read or written here.
TABLES = frozenset(
    {
        "alembic_version",
        "datasets",
        "experiment_tags",
        "experiments",
        "input_tags",
        "inputs",
        "latest_metrics",
        "metrics",
        "params",
        "runs",
        "tags",
    }
)


def refuse_strange(found: Iterable[tuple[str, str, str]], address: Address) -> None:
    """Refuse a file in which any of (kind, name, table) is in the place of a table, or hangs on one."""
    for kind, name, table in found:
        if table.lower() in TABLES:
            what = "table of a module" if kind == "table" else kind
            reason = f"it has a {what} {name[:80]!r} where MLflow has none, which would decide what reading does"
            raise StoreUnusable(address, reason, remedy="ask whoever made it for a store as gnz_track writes it")
