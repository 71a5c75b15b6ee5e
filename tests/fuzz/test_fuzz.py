"""Foreign content, whole and broken: one line for users, nothing written outside. ``make fuzz`` does it at length."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import warnings
from pathlib import Path

import pytest
from fuzz_guidance import Guide
from fuzz_mutation import mutate
from fuzz_targets import Warden, clear, targets

# Of all formats together.
N_INPUTS = int(os.environ.get("GNZ_FUZZ_INPUTS", "0")) or 600
SEED = int(os.environ.get("GNZ_FUZZ_SEED", "0"))
WARDEN = Warden()


@pytest.mark.parametrize("name", list(targets()))
def test_examples_are_read(name: str, tmp_path: Path) -> None:
    target = targets()[name]
    for example in target.examples:
        assert target.feed(example, tmp_path) == ""


@pytest.mark.parametrize("name", list(targets()))
def test_changed_examples_are_read_or_refused_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is written for a moment is written here too.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    target = targets()[name]
    guide = Guide(target.examples, target.words, random.Random(f"{SEED} {name}"))
    WARDEN.outside.clear()
    found: dict[str, bytes] = {}
    with warnings.catch_warnings(), WARDEN.watching(tmp_path):
        warnings.simplefilter("ignore")
        n_inputs = round(N_INPUTS * target.share)
        for number in range(n_inputs):
            content = guide.next()
            said = guide.follow(content, lambda content=content: target.feed(content, tmp_path))
            if said:
                found.setdefault(said[:60], content)
            if number % 1000 == 999:
                clear(tmp_path)
    reached = f"{len(guide.arcs)} arcs, {len(guide.found)} inputs that found some"
    log = f"{n_inputs} inputs, {len(found)} kinds of tracebacks, {len(WARDEN.outside)} files outside; {reached}"
    sys.stdout.write(f"{name}: {log}\n")
    assert not found, "\n".join(f"{said}\n    {content[:300]!r}" for said, content in found.items())
    assert not WARDEN.outside, WARDEN.outside[:5]


def test_inputs_that_went_a_new_way_lead_further() -> None:
    """Behind three conditions, of which an input meets one by chance, blind changes of the example find nothing."""
    n_guided = n_blind = 0
    for seed in range(6):
        draw = random.Random(seed)
        guide = Guide((b"aaaa",), (b"bb",), draw, package=__name__)
        inputs = (guide.next() for _ in range(10000))
        n_guided += any(guide.follow(content, lambda content=content: _maze(content)) for content in inputs)
        n_blind += any(_maze(mutate((b"aaaa",), (b"bb",), draw)) for _ in range(10000))
    assert (n_guided >= 4, n_blind) == (True, 0), (n_guided, n_blind)


def test_same_seed_gives_the_same_inputs() -> None:
    guides = [Guide((b"aaaa",), (b"bb",), random.Random(1), package=__name__) for _ in range(2)]
    for guide in guides:
        for _ in range(500):
            content = guide.next()
            guide.follow(content, lambda content=content: _maze(content))
    assert guides[0].found == guides[1].found
    assert guides[0].arcs == guides[1].arcs


def _maze(content: bytes) -> bool:
    if content[:1] == b"9":
        if content[1:2] == b"-":
            return content[2:3] == b"0"
        return False
    return False


# What was found once: each gave a traceback.
FOUND = [
    ("params.yaml", b"tasks: " + b"{a: " * 3000),
    ("edges.csv", b"source,target\ninf,0\n2,1\n"),
    ("query", b"task = '\xe3ora'"),
    ("results.parquet", targets()["results.parquet"].examples[0].replace(b"accuracy", b"accur\xffcy", 1)),
]


@pytest.mark.parametrize(("name", "content"), FOUND, ids=[name for name, _ in FOUND])
def test_what_was_found_once_is_refused_in_one_line(name: str, content: bytes, tmp_path: Path) -> None:
    assert targets()[name].feed(content, tmp_path) == ""
