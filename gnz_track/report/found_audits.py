"""The audits of the tasks of a report, from the stores that it comes from."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from gnz_track.store.address import Address
from gnz_track.store.audit_record import AuditRecord
from gnz_track.store.audits import read_audits

__all__ = ["find_audits"]


def find_audits(table: pd.DataFrame, addresses: Iterable[Address]) -> dict[str, AuditRecord]:
    """Return task -> its latest audit, for tasks of a results table; an audit of other data than these is none."""
    rows = table[["task", "dataset_digest"]].drop_duplicates() if "dataset_digest" in table.columns else table[:0]
    digests: dict[str, set[str]] = {}
    for row in rows.itertuples():
        digests.setdefault(str(row.task).partition("~")[0], set()).add(str(row.dataset_digest))
    found: dict[str, AuditRecord] = {}
    for address in addresses if digests else ():
        for task, record in read_audits(address, tuple(digests)).items():
            if record.dataset_digest in digests[task]:
                found.setdefault(task, record)
    return {task: found[task] for task in digests if task in found}
