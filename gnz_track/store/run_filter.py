"""Which runs a reader is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gnz_track.store import schema
from gnz_track.store.results import STATES, STATUSES

__all__ = ["RunFilter"]


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """Runs that bear all names given, and one of ``tasks``; an empty name, or no task, selects everything.

    Results are cells that ended by themselves; ``in_any_state`` selects running and killed ones too, and ``kind`` the
    runs that stand for whole sweeps.
    """

    sweep: str = ""
    experiment: str = ""
    suite: str = ""
    tasks: tuple[str, ...] = ()
    kind: str = schema.CELL
    in_any_state: bool = False

    @property
    def tags(self) -> dict[str, str]:
        """The tags that selected runs bear, beside that of their task."""
        wanted = {schema.KIND: self.kind, schema.SWEEP: self.sweep, schema.SUITE: self.suite}
        return {key: value for key, value in wanted.items() if value}

    @property
    def statuses(self) -> Mapping[str, str]:
        """MLflow's words for how selected runs stand, and ours."""
        return STATES if self.in_any_state else STATUSES
