"""The names of the ways to split."""

from __future__ import annotations

from gnz_track.errors import BadValue

__all__ = ["FOLDS", "LINK_SHARES", "NODE_FOLDS", "POLICIES", "check_policy", "takes_published"]

POLICIES: dict[str, str] = {
    "published": "masks, split columns and parts as published, drawn by seed where there are none",
    "random": "always drawn by seed",
    "five_folds": "as published; graphs without parts in five folds, of which the seed chooses one",
    "ten_folds": "as published; graphs without parts in ten folds, of which the seed chooses one",
    "fifths": "always drawn: 64/16/20 of linked nodes in five folds, of which the seed chooses one, and of links",
}
# Policy -> into how many folds it divides graphs without parts.
FOLDS: dict[str, int] = {"five_folds": 5, "ten_folds": 10}
# Policy -> into how many folds it divides the nodes of a graph.
NODE_FOLDS: dict[str, int] = {"fifths": 5}
# Policy -> the shares of links for validation and for test, where they are not the usual ones.
LINK_SHARES: dict[str, tuple[float, float]] = {"fifths": (0.16, 0.2)}
_NEVER_PUBLISHED = frozenset({"random", "fifths"})


def check_policy(policy: str) -> None:
    """Raise where a split policy has no such name."""
    if policy not in POLICIES:
        raise BadValue("split policy", policy, " or ".join(POLICIES))


def takes_published(policy: str) -> bool:
    """Tell whether parts that a dataset brings are taken."""
    return policy not in _NEVER_PUBLISHED
