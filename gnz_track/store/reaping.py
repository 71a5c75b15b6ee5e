"""Runs whose owner is gone are marked KILLED."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gnz_track.store import schema
from gnz_track.store.owners import Owner, parse_owner, this_owner
from gnz_track.store.writer import Store, now

__all__ = ["Reaped", "find_stale", "reap"]

# Long cells beat every ten seconds, but one epoch may take long and a node may be busy.
STALE_AFTER_SECONDS = 3600.0


@dataclass(frozen=True, kw_only=True)
class Reaped:
    """A run that nobody will end any more, and why."""

    run_id: str
    name: str
    reason: str


def reap(store: Store, *, stale_after: float = STALE_AFTER_SECONDS) -> list[Reaped]:
    """Mark every RUNNING run of a dead owner as KILLED, and return them.

    Dead is, on this machine, who runs no more; on any other, whose last heartbeat is ``stale_after`` seconds old.
    """
    stale = find_stale(store, stale_after=stale_after)
    for one in stale:
        store.kill(one.run_id, f"Killed: {one.reason}")
    return stale


def find_stale(store: Store, *, stale_after: float = STALE_AFTER_SECONDS) -> list[Reaped]:
    """Return every RUNNING run of a dead owner, unchanged."""
    me, at = this_owner(), now()
    found = []
    for run in store.running():
        reason = _why_stale(run, me=me, at=at, stale_after=stale_after)
        if reason:
            found.append(Reaped(run_id=run.info.run_id, name=run.info.run_name, reason=reason))
    return found


def _why_stale(run: Any, *, me: Owner, at: int, stale_after: float) -> str:
    """Return why nobody will end a run any more, nothing where somebody may."""
    tags = run.data.tags
    beat = tags.get(schema.HEARTBEAT, "")
    last = int(beat) if beat.isdecimal() else run.info.start_time
    owner = parse_owner(tags.get(schema.OWNER, ""))
    if owner is not None and owner.is_on_the_machine_of(me):
        # A heartbeat is written by the owner: the process must be older than the last one.
        return "" if owner.is_alive(since=last / 1000) else f"its owner {owner} runs no more"
    age = (at - last) / 1000
    return f"no heartbeat for {age:.0f} s" if age > stale_after else ""
