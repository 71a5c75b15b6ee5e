"""The results table of records that were just written, without asking the store again."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from gnz_track.store import layout, schema
from gnz_track.store.results import COLUMNS, make_table, row_of
from gnz_track.store.run_record import RunRecord

__all__ = ["table_of_records"]


def table_of_records(records: Iterable[tuple[str, RunRecord]]) -> pd.DataFrame:
    """Return one row per (run id, record), in the given order; a record that waits on disk has no run id yet.

    The rows are those that any reader gives of the same runs.
    """
    rows = [_row_of_record(run_id, record) for run_id, record in records]
    return make_table({name: [row[name] for row in rows] for name in COLUMNS})


def _row_of_record(run_id: str, record: RunRecord) -> dict[str, object]:
    return row_of(
        {"run_id": run_id, "status": str(record.status), "start_time": record.started_at},
        tags=layout.tags_of(record),
        metrics=layout.final_metrics(record),
        params=layout.params_of(record),
        last_epochs={schema.curve_key(name): points[-1][0] for name, points in record.curves.items() if points},
    )
