"""Every block of every page does what the page says; a page is one reader, from top to bottom."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_pages import PAGES, Folder, read_blocks

# What the questions quote is provoked by test_faq.py.
WITH_BLOCKS = [page for page in PAGES if read_blocks(page) and page.name != "faq.md"]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: page.stem)
def test_every_block_of_a_page_runs_and_prints_what_it_shows(page: Path, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    for block in read_blocks(page):
        wrong = folder.take(block)
        assert not wrong, f"{block}: {wrong}"
