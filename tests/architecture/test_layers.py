"""The package keeps the rules and the laws of the house."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import shape
from house import EXCEPTIONS, RULES, Source, read_package

# Says what can be taken from each room, and which of its files importing it has imported.
ASK_ROOMS = """
import importlib, json, sys
answers = {}
for room in sys.argv[1:]:
    module = importlib.import_module(f"gnz_track.{room}")
    loaded = [name for name, one in sys.modules.items() if name.startswith(f"gnz_track.{room}.")]
    answers[room] = {"names": list(getattr(module, "__all__", [])), "loaded": loaded}
print(json.dumps(answers))
"""
# Rooms whose start is what they are for.
AWAKE = frozenset({"cli"})


@pytest.fixture(scope="module")
def sources(root: Path) -> list[Source]:
    return read_package(root / "gnz_track")


@pytest.fixture(scope="module")
def exceptions(root: Path) -> dict[str, str]:
    return shape.read_exceptions((root / "tests/architecture/house_exceptions.txt").read_text("utf-8"))


@pytest.fixture(scope="module")
def broken(sources: list[Source]) -> dict[str, list[shape.Place]]:
    """Return law -> all places that break it, excused or not."""
    return {law.__name__: law(sources) for law in shape.LAWS}


@pytest.fixture(scope="module")
def rooms(sources: list[Source], root: Path) -> dict[str, dict[str, list[str]]]:
    """Return room -> what it offers and what it loads, as a fresh process finds them."""
    names = sorted({source.room for source in sources if source.path.endswith("/__init__.py")})
    command = [sys.executable, "-c", ASK_ROOMS, *names]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    answers: dict[str, dict[str, list[str]]] = json.loads(done.stdout)
    return answers


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_package_keeps_the_rule(rule: Callable[[Iterable[Source]], list[str]], sources: list[Source]) -> None:
    assert len(sources) >= 5, "the package is not where it is looked for"
    found = rule(sources)
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("law", [law.__name__ for law in shape.LAWS])
def test_package_keeps_the_law(law: str, broken: dict[str, list[shape.Place]], exceptions: dict[str, str]) -> None:
    complain(law, broken[law], exceptions)


def test_rooms_offer_what_is_used_of_them(
    sources: list[Source], rooms: dict[str, dict[str, list[str]]], exceptions: dict[str, str]
) -> None:
    offered = {room: answer["names"] for room, answer in rooms.items()}
    complain("check_offers", shape.check_offers(sources, offered), exceptions)


def test_rooms_load_nothing_before_it_is_used(rooms: dict[str, dict[str, list[str]]]) -> None:
    loaded = {room: answer["loaded"] for room, answer in rooms.items() if room not in AWAKE}
    assert len(loaded) > 5
    assert not any(loaded.values()), loaded


def test_every_exception_has_a_reason_and_a_file(root: Path) -> None:
    for place, reason in EXCEPTIONS.items():
        assert reason, place
        assert (root / "gnz_track" / place.split(":")[0]).is_file(), place


def test_exceptions_to_laws_are_few_and_each_has_a_reason_and_a_use(
    broken: dict[str, list[shape.Place]], exceptions: dict[str, str]
) -> None:
    names = {place.name for places in broken.values() for place in places}
    assert len(exceptions) <= shape.MOST_EXCEPTIONS
    assert all(exceptions.values()), exceptions
    assert exceptions.keys() <= names, "these excuse nothing"


def complain(law: str, places: list[shape.Place], exceptions: dict[str, str]) -> None:
    left = [place.sentence for place in places if place.name not in exceptions]
    assert not left, "\n".join([f"{len(left)} places break {law}", *left])
