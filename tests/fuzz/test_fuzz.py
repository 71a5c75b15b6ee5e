"""Foreign content, whole and broken: one line for users, nothing written outside. ``make fuzz`` does it at length."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import warnings
from pathlib import Path

import pytest
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
    target, draw = targets()[name], random.Random(f"{SEED} {name}")
    WARDEN.outside.clear()
    found: dict[str, bytes] = {}
    with warnings.catch_warnings(), WARDEN.watching(tmp_path):
        warnings.simplefilter("ignore")
        n_inputs = round(N_INPUTS * target.share)
        for number in range(n_inputs):
            content = mutate(target.examples, target.words, draw)
            said = target.feed(content, tmp_path)
            if said:
                found.setdefault(said[:60], content)
            if number % 1000 == 999:
                clear(tmp_path)
    log = f"{name}: {n_inputs} inputs, {len(found)} kinds of tracebacks, {len(WARDEN.outside)} files outside\n"
    sys.stdout.write(log)
    assert not found, "\n".join(f"{said}\n    {content[:300]!r}" for said, content in found.items())
    assert not WARDEN.outside, WARDEN.outside[:5]


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
