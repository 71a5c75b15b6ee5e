"""The site builds without one warning, and asks nothing of other machines."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from doc_pages import PAGES, ROOT

# What a browser would fetch while it shows a page.
FETCHED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"(?:https?:)?//|<link\b[^>]*\bhref=\"(?:https?:)?//")


@pytest.mark.slow
def test_site_builds_without_a_warning_and_stands_alone(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="pip install 'gnz-track[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    # The authors of the theme announce its successor on every build; that is no warning about these pages.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "default"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    printed = ended.stdout + ended.stderr
    assert ended.returncode == 0, printed
    assert "WARNING" not in printed, printed
    for page in PAGES:
        html = (tmp_path / "site" / f"{page.stem}.html").read_text(encoding="utf-8")
        assert not FETCHED.search(html), page.name
        assert "<h1" in html
    assert (tmp_path / "site" / "first_comparison.ipynb").is_file()
    reference = (tmp_path / "site" / "reference.html").read_text(encoding="utf-8")
    assert "Pose a loaded dataset as a task" in reference, "docstrings are on the page"
