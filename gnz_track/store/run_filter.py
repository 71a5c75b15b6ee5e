"""Which runs a reader is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from gnz_track.store import schema

__all__ = ["RunFilter"]


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """Runs that bear all names given; an empty name selects everything."""

    sweep: str = ""
    experiment: str = ""
    suite: str = ""
    task: str = ""

    @property
    def tags(self) -> dict[str, str]:
        """The tags that selected runs bear."""
        wanted = {schema.SWEEP: self.sweep, schema.SUITE: self.suite, schema.TASK: self.task}
        return {key: value for key, value in wanted.items() if value}
