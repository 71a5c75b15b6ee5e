"""Randomness has a name.

A seed for any purpose is derived from a base and the names of what it is for, so that a cell can be replayed
alone, in any company and in any order. Only :func:`seed_everything` touches global generators, and only the
process that trains calls it.
"""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Iterable

from gnz_track.errors import BadSeeds, BadValue

__all__ = ["derive", "format_seeds", "parse_seeds", "seed_everything"]

LARGEST_SEED = 2**31 - 1
MOST_SEEDS = 100_000


def derive(base: int, *names: object) -> int:
    """Return a seed in ``[0, 2**63)`` that depends on the base and on every name, and on nothing else.

    >>> derive(0, "split", "cora") == derive(0, "split", "cora")
    True
    >>> derive(0, "split", "cora") == derive(1, "split", "cora")
    False
    """
    # Length prefixes keep ("ab", "c") apart from ("a", "bc").
    text = "".join(f"{len(part)}:{part}" for part in map(str, (base, *names)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def seed_everything(seed: int) -> None:
    """Reset the generators of ``random``, NumPy and Torch (CPU and all devices) to a seed.

    NumPy and Torch are reset only where they are imported: a process that never loads them has nothing to reset.
    """
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def parse_seeds(text: str) -> tuple[int, ...]:
    """Read seeds from a text such as ``0-9``, ``3`` or ``0-4,10``.

    >>> parse_seeds("0-2,7")
    (0, 1, 2, 7)
    """
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise BadSeeds(text)
        low, high = int(first), int(last or first)
        if high > LARGEST_SEED or low > high:
            raise BadSeeds(text)
        if high - low >= MOST_SEEDS:
            name = f"the number of seeds in the range {part.strip()!r}"
            raise BadValue(name, high - low + 1, f"at most {MOST_SEEDS}", command="--seeds 0-4")
        seeds.extend(range(low, high + 1))
    if len(set(seeds)) != len(seeds):
        raise BadSeeds(text)
    return tuple(seeds)


def format_seeds(seeds: Iterable[int]) -> str:
    """Write seeds in the form that :func:`parse_seeds` reads.

    >>> format_seeds([0, 1, 2, 7])
    '0-2,7'
    """
    runs: list[list[int]] = []
    for seed in seeds:
        if runs and seed == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], seed]
        else:
            runs.append([seed])
    return ",".join("-".join(map(str, run)) for run in runs)
