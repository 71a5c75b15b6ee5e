"""Nothing that a user can see has changed: numbers, files and words are those of the golden record, to the bit."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))

from record import PARTS, Workshop, made_with, read

# Parts in which nothing was computed by Torch; all others come from one training, which workers are not to repeat.
WORDS = ("help", "report", "old_store")
NUMBERS = tuple(part for part in PARTS if part not in (*WORDS, "made_with"))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("record"))


@pytest.mark.parametrize("part", WORDS)
def test_words_are_as_recorded(part: str, shop: Workshop) -> None:
    found, recorded = PARTS[part](shop), read(part)
    assert list(found) == list(recorded)
    assert not list(differences(found, recorded))


def test_numbers_and_files_are_as_recorded(shop: Workshop) -> None:
    if (here := made_with(shop)) != (then := read("made_with")):
        pytest.skip(f"numbers of {here} are not those of {then}, with which the record was made")
    assert {"cells", "waiting", "manifest", "search"} == set(NUMBERS)
    assert not {part: found for part in NUMBERS if (found := [*differences(PARTS[part](shop), read(part))])}


def differences(found: Any, recorded: Any, place: str = "") -> Any:
    """Yield where two contents differ, and what stands there."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        for key in sorted({*found, *recorded}):
            yield from differences(found.get(key, "missing"), recorded.get(key, "not recorded"), f"{place}/{key}")
    elif isinstance(recorded, list) and isinstance(found, list) and len(found) == len(recorded):
        for at, (new, old) in enumerate(zip(found, recorded, strict=True)):
            yield from differences(new, old, f"{place}/{at}")
    elif (type(found), repr(found)) != (type(recorded), repr(recorded)):
        yield f"{place}: {found!r}, recorded {recorded!r}"


# A model of the package, one of the user's by import path, and one by value.
OLD_RUNS = ("0f61116fc1f8", "6779321e822b", "3075cc4e962a")


def test_cells_of_an_old_store_are_reproduced(shop: Workshop) -> None:
    for said in shop.old().gnz(
        ["reproduce", run_id, "--json", *["--trust"] * (run_id != OLD_RUNS[0])] for run_id in OLD_RUNS
    ):
        found = json.loads(said)
        assert (found["status_now"], found["verdict"] in {"bit_identical", "within_tolerance"}) == ("finished", True)
        # Earlier versions told classes of this package by their modules, in digests of what refers to them too.
        assert not [change for change in found["changes"] if change["what"].startswith("source of")]
