"""The pages hang together: navigation, links, anchors, flags, and few blocks that nothing runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer
from doc_pages import DOCS, NOT_RUN, PAGES, REASONS, ROOT, RUNNERS, Block, calls_of, compare, prose_of, read_blocks
from house import LINES

import gnz_track
from gnz_track.cli import app

# Most blocks of a page that may be left out; the others have none. Each one is a promise that nobody checks.
MOST_LEFT_OUT = {"first_sweep.md": 1, "data.md": 1, "teams.md": 6, "dvc.md": 2, "clusters.md": 5}
WORDS = re.compile(r"[^\w\- ]")
# As tests/datasets counts them.
N_PUBLISHED = 63
PICTURE = re.compile(r"<img src=\"([^\"]+)\"")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
BLOCKS = [block for page in PAGES for block in read_blocks(page)]
README = ROOT / "README.md"


def nav_entries() -> list[str]:
    """Return the files of the navigation, read line by line: a test needs no YAML."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    return re.findall(r": (\S+\.md)$", nav, flags=re.MULTILINE)


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of headings as the site makes them, and of the names of the reference."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), flags=re.MULTILINE)
    names = re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    slugs = {re.sub(r"[-\s]+", "-", WORDS.sub("", heading).strip().lower()) for heading in headings}
    return {*slugs, *names}


def links_of(page: Path) -> list[str]:
    text = prose_of(page)
    return [link for link in (*LINK.findall(text), *PICTURE.findall(text)) if "://" not in link]


def test_navigation_names_every_page_once() -> None:
    entries = nav_entries()
    assert len(entries) == len(set(entries))
    assert {page.name for page in PAGES} == set(entries)


def test_first_page_leads_to_every_other_one() -> None:
    linked = {link.partition("#")[0] for link in links_of(DOCS / "index.md")}
    assert {page.name for page in PAGES} - {"index.md"} <= linked
    assert {file.name for file in DOCS.glob("*.ipynb")} <= linked


@pytest.mark.parametrize("page", [*PAGES, README], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for link in links_of(page):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.is_file(), f"{page.name}: {link}"
        assert not anchor or anchor in anchors_of(target), f"{page.name}: {link}"


def test_every_picture_is_shown_and_small() -> None:
    shown = {page.parent / link for page in [*PAGES, README] for link in links_of(page)}
    for file in (DOCS / "images").iterdir():
        assert file in shown, f"{file.name} is on no page"
        assert file.stat().st_size < 100_000


def test_house_has_each_room_where_it_stands() -> None:
    """The picture, the table beside it and the manual of the package name all rooms; the picture in their order."""
    picture = (DOCS / "images/house.svg").read_text(encoding="utf-8")
    heights = {name: float(y) for y, name in re.findall(r'y="([\d.]+)"[^>]*font-weight="600"[^>]*>(\w+)<', picture)}
    rooms = [room for line in LINES for room in line if (ROOT / "gnz_track" / room / "__init__.py").is_file()]
    table = (DOCS / "architecture.md").read_text(encoding="utf-8").partition("## The way of one cell")[0]
    assert len(rooms) > 10
    for room in rooms:
        assert f"| `{room}` |" in table, room
        assert f"`{room}`:" in (gnz_track.__doc__ or ""), room
    drawn = sorted({heights[room] for room in rooms})
    lines = [line & set(rooms) for line in LINES if line & set(rooms)]
    assert [{room for room in rooms if heights[room] == height} for height in drawn] == lines


def flags_of(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command that words call, and the words after it; COMMAND stands for any."""
    command: Any = typer.main.get_command(app)
    rest = [word for word in words if word != "COMMAND"]
    while rest and hasattr(command, "commands") and not rest[0].startswith("-"):
        assert rest[0] in command.commands, f"gnz {' '.join(words)}: there is no command {rest[0]}"
        command = command.commands[rest.pop(0)]
    return command, rest


@pytest.mark.parametrize("page", [*PAGES, README], ids=lambda page: page.stem)
def test_every_flag_of_a_shown_call_exists(page: Path) -> None:
    for where, words in calls_of(page):
        command, rest = flags_of(words)
        known = {name for item in command.params for name in (*item.opts, *item.secondary_opts)} | {"--help", "-h"}
        for flag in (word.partition("=")[0] for word in rest if word.startswith("-")):
            assert flag in known, f"{where}: gnz {' '.join(words)}: there is no flag {flag}"


def test_calls_are_found_in_blocks_and_in_running_text() -> None:
    assert {"reproduce", "run"} <= {words[0] for _, words in calls_of(DOCS / "first_sweep.md")}
    assert ["ls", "--failed"] in [words for _, words in calls_of(DOCS / "index.md")]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_block_is_of_a_kind_that_is_run_saved_or_compared(block: Block) -> None:
    assert block.language in {*RUNNERS, "text"} or block.file_name, "nothing would look at it"
    if block.is_left_out:
        assert block.title.startswith(f"{NOT_RUN} by the tests: "), "the reader is told why"
        assert block.title.partition(": ")[2] in REASONS


def test_few_blocks_are_left_out() -> None:
    for page in PAGES:
        n_left_out = sum(block.is_left_out for block in read_blocks(page))
        assert n_left_out <= MOST_LEFT_OUT.get(page.name, 0), page.name


def test_saved_files_are_used() -> None:
    for page in PAGES:
        blocks = read_blocks(page)
        for block in (block for block in blocks if block.file_name):
            stem = Path(block.file_name).stem
            assert any(stem in later.text for later in blocks if later.line > block.line), str(block)


SHOWN_AND_PRINTED = [
    ("a 1\nb 2", "a   1\nb 2\n", True),
    ("a 1\nb 2", "a 1\nc\nb 2", False),
    ("a 1\n...\nb 2", "a 1\nc\nb 2", True),
    ("b 2\n...\na 1", "a 1\nb 2", False),
    ("score 0.80", "score 0.81", True),
    ("score 0.80", "score 0.95", False),
    ("3 cells", "4 cells", False),
    ("sweep ... in FILE", "sweep x-1 in FILE", True),
    ("sweep ... in FILE", "sweep x-1 in PLACE", False),
    ("p .031 of ...", "p .0312 of 3.5 or 4.5", True),
]


@pytest.mark.parametrize(("shown", "printed", "is_right"), SHOWN_AND_PRINTED)
def test_what_a_page_shows_is_compared_with_what_was_printed(shown: str, printed: str, *, is_right: bool) -> None:
    assert (compare(shown, printed) == "") is is_right


@pytest.mark.parametrize("page", [DOCS / "index.md", DOCS / "data.md", ROOT / "README.md"], ids=lambda page: page.stem)
def test_counted_datasets_are_those_of_the_catalogue(page: Path) -> None:
    counts = {int(count) for count in re.findall(r"\b(\d+) datasets", prose_of(page))}
    assert counts == {len(gnz_track.DATASETS.names())}
    loaders = re.findall(r"all (\d+) published loaders", prose_of(page))
    assert all(int(count) == N_PUBLISHED for count in loaders)
