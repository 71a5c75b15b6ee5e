"""What the README shows works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from doc_pages import ROOT, Folder, read_blocks

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = read_blocks(README)
MAKE = [block for block in BLOCKS if block.text.startswith("make ")]
OTHERS = [block for block in BLOCKS if block not in MAKE]


@pytest.mark.slow
def test_every_block_but_those_of_make_runs(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    printed = []
    for block in OTHERS:
        wrong = folder.take(block)
        assert not wrong, f"{block}: {wrong}"
        printed.append(folder.printed)
    assert "6 cells" in printed[0]
    assert "page: report/report.html" in printed[1]
    assert "tuned" in printed[2]
    rows = [line.split() for line in printed[3].splitlines()]
    assert {row[-5]: row[-4] for row in rows if len(row) > 4 and row[-5] in {"GCN", "MLP"}} == {"GCN": "5", "MLP": "5"}
    assert "3 models, 1 task, 5 seeds" in printed[3]


def test_there_are_three_blocks_of_commands_and_an_example() -> None:
    assert [block.language for block in OTHERS] == ["sh", "sh", "sh", "python"]


def test_shown_targets_of_make_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"`?make ([a-z-]+)", TEXT)
    assert {"run", "test", "docs"} <= set(targets)
    assert all(re.search(rf"^{target}\b.*:", makefile, flags=re.MULTILINE) for target in targets)


def test_first_screen_shows_the_two_commands() -> None:
    first_screen = TEXT.splitlines()[:15]
    assert any(line.startswith("make run") for line in first_screen)
    assert any(line.startswith("make test") for line in first_screen)


def test_readme_fits_a_screen_or_two() -> None:
    assert len(TEXT.splitlines()) <= 90
