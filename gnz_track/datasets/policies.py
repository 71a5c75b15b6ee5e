"""The names of the ways to split."""

from __future__ import annotations

from gnz_track.errors import BadValue

__all__ = ["FOLDS", "POLICIES", "check_policy", "takes_published"]

POLICIES: dict[str, str] = {
    "published": "masks, split columns and parts as published, drawn by seed where there are none",
    "random": "always drawn by seed",
    "five_folds": "as published; graphs without parts in five folds, of which the seed chooses one",
    "ten_folds": "as published; graphs without parts in ten folds, of which the seed chooses one",
}
# Policy -> into how many folds it divides graphs without parts.
FOLDS: dict[str, int] = {"five_folds": 5, "ten_folds": 10}


def check_policy(policy: str) -> None:
    """Raise where a split policy has no such name."""
    if policy not in POLICIES:
        raise BadValue("split policy", policy, " or ".join(POLICIES))


def takes_published(policy: str) -> bool:
    """Tell whether parts that a dataset brings are taken."""
    return policy != "random"
