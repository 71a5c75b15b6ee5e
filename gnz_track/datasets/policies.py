"""The names of the ways to split."""

from __future__ import annotations

from gnz_track.errors import BadValue

__all__ = ["POLICIES", "check_policy"]

POLICIES: dict[str, str] = {
    "published": "masks, split columns and parts as published, drawn by seed where there are none",
    "random": "always drawn by seed",
}


def check_policy(policy: str) -> None:
    """Raise where a split policy has no such name."""
    if policy not in POLICIES:
        raise BadValue("split policy", policy, " or ".join(POLICIES))
