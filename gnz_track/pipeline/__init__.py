"""Stages of the pipeline that DVC drives, from ``params.yaml`` to a published report.

- `params`: ``params.yaml`` as a typed record.
- `stages`: one function a stage: data, tune, run, quality, report, and the files that DVC compares.
- `starter_project`: a folder with a benchmark of one's own, which runs as it is.
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "params": ("Params", "import_modules", "read_keys", "read_params"),
    "stages": (
        "audit_task",
        "freeze_task",
        "load_searches",
        "make_training",
        "make_tuning",
        "read_settings",
        "report_all",
        "train",
        "tune_task",
    ),
    "starter_project": ("start_project",),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
