"""Each law on the shape of the house fails on a planted violation, and on nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import shape
from test_planted import plant

ROOM = """Statistics.

- `standings`: mean ranks of models.
- `tests/`: tests of differences.
"""
SECTION = """Rank scores.

    Parameters
    ----------
    scores : array of floats
        Models x tasks, in points.
    alpha, n_draws
        Level, and how often it is drawn.

    Returns
    -------
    Ranks.
    """
RANKS = f'''"""Ranks."""

from gnz_track.stats.tests.holm import adjust

__all__ = ["Ranks", "rank"]


class Ranks:
    """Ranks of models."""

    def at(self, task: str, model: str) -> float:
        """Return one rank."""


def rank(scores: list[float], *, alpha: float, n_draws: int) -> Ranks:
    """{SECTION}"""
    return adjust(scores)
'''
HOUSE = {
    "__init__.py": '"""A package."""\n',
    "stats/__init__.py": f'"""{ROOM}"""\n',
    "stats/standings.py": RANKS,
    "stats/tests/__init__.py": '"""Tests of differences.\n\n- ``holm.py``: many tests at once.\n"""\n',
    "stats/tests/holm.py": '"""Many tests at once."""\n\n__all__ = ["adjust"]\n\nadjust = sorted\n',
    "report/__init__.py": '"""Reports.\n\n- `page`: one page.\n"""\n',
    "report/page.py": '"""One page."""\n\nfrom gnz_track.stats.standings import rank\n',
}


def function(n_lines: int, docstring: str = "Do much.") -> str:
    return f'"""A module."""\n\n\ndef long() -> None:\n    """{docstring}"""\n' + "    print()\n" * n_lines


def listed(name: str) -> dict[str, str]:
    """Return the manual of stats with a line for one more file."""
    return {"stats/__init__.py": f'"""{ROOM}- `{name}`: a file.\n"""\n'}


# Law, files, the place under which it can be excused, and words of the sentence.
PLANTED: dict[str, tuple[shape.Law, dict[str, str], str, str]] = {
    "long file": (
        shape.check_files,
        {"stats/standings.py": RANKS + "x = 1\n" * 650},
        "stats/standings.py",
        f"gnz_track/stats/standings.py:1: {len(RANKS.splitlines()) + 650} lines; at most 650",
    ),
    "full folder": (
        shape.check_folders,
        {f"report/page{n}.py": "" for n in range(24)},
        "report/",
        "gnz_track/report/: 26 files; at most 25",
    ),
    "full package": (shape.check_folders, {f"a{n}.py": "" for n in range(25)}, "gnz_track/", "26 files; at most 25"),
    "long function": (
        shape.check_functions,
        {"stats/standings.py": function(41)},
        "stats/standings.py",
        "standings.py:4: long has 41 lines; at most 40",
    ),
    "function with gaps": (
        shape.check_functions,
        {"stats/standings.py": function(39) + "\n    # why\n    print()\n"},
        "stats/standings.py",
        "long has 42 lines",
    ),
    "long method in a function": (
        shape.check_functions,
        {
            "stats/standings.py": "def f():\n    class A:\n        def g(self):\n"
            + "            x = 1\n" * 38
            + "        def h(self):\n            pass\n"
        },
        "stats/standings.py",
        "f has 42 lines",
    ),
    "neighbour": (
        shape.check_neighbours,
        {"stats/ties.py": "def f():\n    from gnz_track.stats import standings\n", "report/page.py": ""},
        "stats/standings.py",
        "standings.py:1: only stats/ties.py uses it, and together they have",
    ),
    "relative neighbour": (
        shape.check_neighbours,
        {"stats/ties.py": "from .standings import rank\n", "report/page.py": ""},
        "stats/standings.py",
        "only stats/ties.py uses it",
    ),
    "class of two files": (
        shape.check_classes,
        {"report/page.py": "class Page: ...\nclass Ranks: ...\n"},
        "Ranks",
        "Ranks is a class of report/page.py too",
    ),
    "class of one file, twice": (
        shape.check_classes,
        {"report/page.py": "class Page: ...\ndef f():\n    class Page: ...\n"},
        "Page",
        "gnz_track/report/page.py:3: Page is a class of report/page.py too",
    ),
    "function that asks": (
        shape.check_openings,
        {"report/page.py": 'def _f():\n    """What it does."""\n'},
        "report/page.py",
        "page.py:1: the docstring of _f begins with 'What'",
    ),
    "class that asks": (
        shape.check_openings,
        {"report/page.py": 'class A:\n    """Who it is."""\n'},
        "report/page.py",
        "the docstring of A begins with 'Who'",
    ),
    "module that asks": (
        shape.check_openings,
        {"report/page.py": '"""Whose it is."""\n'},
        "report/page.py",
        "the docstring of the module begins with 'Whose'",
    ),
    "no section": (
        shape.check_sections,
        {"stats/standings.py": RANKS.replace(SECTION, "Rank scores.")},
        "stats/standings.py",
        "no section Parameters in rank",
    ),
    "no section in a method": (
        shape.check_sections,
        {"stats/standings.py": RANKS.replace("self, task: str", "self, metric: str, task: str")},
        "stats/standings.py",
        "standings.py:11: no section Parameters in Ranks.at",
    ),
    "a parameter left out": (
        shape.check_sections,
        {"stats/standings.py": RANKS.replace("alpha, n_draws\n", "alpha\n")},
        "stats/standings.py",
        "rank says nothing on ['n_draws']",
    ),
    "word for a section": (
        shape.check_sections,
        {"stats/standings.py": RANKS.replace(SECTION, "Rank scores.\n\n    Parameters: see there.\n    ")},
        "stats/standings.py",
        "no section Parameters in rank",
    ),
    "file without a line": (
        shape.check_manuals,
        {"stats/ties.py": ""},
        "stats/__init__.py",
        "gnz_track/stats/__init__.py:1: ties has no line in the manual",
    ),
    "folder without a line": (
        shape.check_manuals,
        {"report/tables/__init__.py": '"""Tables."""\n'},
        "report/__init__.py",
        "tables has no line",
    ),
    "line without a file": (shape.check_manuals, listed("ties"), "stats/__init__.py", "there is no ties"),
    "two lines of a file": (shape.check_manuals, listed("standings"), "stats/__init__.py", "standings has 2 lines"),
    "name without a word": (
        shape.check_manuals,
        {"report/__init__.py": '"""Reports.\n\n- `page`:\n"""\n'},
        "report/__init__.py",
        "page has no line",
    ),
    "line that is still to be written": (
        shape.check_manuals,
        {"report/__init__.py": '"""Reports.\n\n- `page`: TODO of this file\n"""\n'},
        "report/__init__.py",
        "page has no line",
    ),
}
OFFERS = {"stats": ["Ranks", "rank"], "report": []}


@pytest.mark.parametrize("law", shape.LAWS, ids=lambda law: law.__name__)
def test_house_passes(law: shape.Law, tmp_path: Path) -> None:
    assert law(plant(tmp_path / "gnz_track", HOUSE)) == []


@pytest.mark.parametrize("kind", PLANTED)
def test_planted_violation_is_found(kind: str, tmp_path: Path) -> None:
    law, files, name, words = PLANTED[kind]
    found = law(plant(tmp_path / "gnz_track", HOUSE | files))
    assert [place.name for place in found] == [name]
    assert words in found[0].sentence


def test_every_law_is_planted() -> None:
    assert {law for law, *_ in PLANTED.values()} == set(shape.LAWS)


@pytest.mark.parametrize(
    ("law", "files"),
    [
        (shape.check_functions, {"stats/standings.py": function(40, "Do\n\n    much.\n    ")}),
        (shape.check_classes, {"report/page.py": "class _Ranks: ...\n", "report/a.py": "class _Ranks: ...\n"}),
        (shape.check_openings, {"report/page.py": '"""Whatever it is."""\n'}),
        (shape.check_sections, {"stats/standings.py": RANKS.replace("def rank", "def _rank")}),
        (shape.check_sections, {"stats/standings.py": RANKS.replace(", n_draws: int", "")}),
        (shape.check_sections, {"cli/a.py": '@app.command()\ndef f(a: int, b: int, c: int): """Do."""\n'}),
        # Used by a room above too, by an __init__, by nobody, or too long to be merged.
        (shape.check_neighbours, {"stats/ties.py": "import gnz_track.stats.standings\n"}),
        (shape.check_neighbours, {"stats/__init__.py": "from . import standings\n", "report/page.py": ""}),
        (shape.check_neighbours, {"report/page.py": ""}),
        (
            shape.check_neighbours,
            {"stats/ties.py": "from . import standings\n" + "x = 1\n" * 400, "report/page.py": ""},
        ),
    ],
)
def test_what_keeps_a_law_is_not_found(law: shape.Law, files: dict[str, str], tmp_path: Path) -> None:
    assert law(plant(tmp_path / "gnz_track", HOUSE | files)) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, []),
        ({"stats": ["rank", "Ranks", "adjust"]}, []),
        ({"stats": ["Ranks"]}, ["stats/__init__.py:1: rank is used elsewhere and not offered"]),
        ({"stats": ["rank", "Ranks", "order"]}, ["order is offered, but public in none of its files"]),
        ({"stats": ["rank", "holm"]}, ["holm is offered, but public in none of its files"]),
        ({"report": ["page"]}, ["report/__init__.py:1: page is offered, but public in none of its files"]),
    ],
)
def test_rooms_offer_neither_too_little_nor_what_is_not_there(
    changed: dict[str, list[str]], words: list[str], tmp_path: Path
) -> None:
    found = shape.check_offers(plant(tmp_path / "gnz_track", HOUSE), OFFERS | changed)
    assert len(found) == len(words)
    assert all(word in place.sentence for word, place in zip(words, found, strict=True))


def test_name_that_is_a_file_too_is_not_offered(tmp_path: Path) -> None:
    # Importing the file would put it in the place of the function.
    files = {
        "stats/rank.py": '"""Ranks."""\n\n__all__ = ["rank"]\n\nrank = sorted\n',
        "report/page.py": "from gnz_track.stats.rank import rank\n",
    }
    sources = plant(tmp_path / "gnz_track", HOUSE | files)
    assert shape.check_offers(sources, {"stats": []}) == []
    (place,) = shape.check_offers(sources, {"stats": ["rank"]})
    assert "rank is offered, but is a file as well" in place.sentence


def test_what_a_room_itself_sets_is_public(tmp_path: Path) -> None:
    files = {"stats/__init__.py": '"""Statistics."""\n\n__all__ = ["app", "rank"]\n\napp = object()\n'}
    assert shape.check_offers(plant(tmp_path / "gnz_track", HOUSE | files), {"stats": ["app", "rank"]}) == []


def test_exceptions_are_read_line_by_line() -> None:
    text = "# why: below\n\nreport/: figures are many\nCell: two of them\nruns/plan.py:\n"
    assert shape.read_exceptions(text) == {"report/": "figures are many", "Cell": "two of them", "runs/plan.py": ""}


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("__init__.py", "gnz_track"),
        ("types.py", "gnz_track.types"),
        ("stats/__init__.py", "gnz_track.stats"),
        ("stats/tests/holm.py", "gnz_track.stats.tests.holm"),
    ],
)
def test_file_has_the_name_by_which_it_is_imported(path: str, module: str) -> None:
    assert shape.module_of(path) == module
