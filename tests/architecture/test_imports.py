"""Every import of our own names resolves: in benchmarks, tests, pages and the notebook, of which most seldom run."""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from doc_pages import DOCS, PAGES, ROOT, read_blocks  # type: ignore[import-not-found]

OURS = "gnz_track"
NOTEBOOK = DOCS / "first_comparison.ipynb"
TEXTS = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
FILES = [path for folder in ("benchmarks", "tests", OURS) for path in sorted((ROOT / folder).rglob("*.py"))]


@functools.cache
def names_of(file: Path) -> frozenset[str]:
    """Return what a module offers: names bound at its top, and those that a lazy room lists as texts."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    inner = [node for node in tree.body if isinstance(node, ast.If | ast.Try | ast.With | ast.For)]
    found: set[str] = set()
    for node in [*tree.body, *(piece for block in inner for piece in ast.walk(block))]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {item.asname or item.name.split(".")[0] for item in node.names}
        else:
            found |= {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and type(name.ctx) is ast.Store}
    if "__getattr__" in found:
        found |= {item.value for item in ast.walk(tree) if isinstance(item, ast.Constant) and type(item.value) is str}
    return frozenset(found)


def is_there(name: str, root: Path) -> bool:
    """Tell whether a dotted name leads to a module, or to a name that a module offers."""
    folder, parts = root, name.split(".")
    for at, part in enumerate(parts):
        file, inside = folder / f"{part}.py", folder / part
        if file.is_file():
            return not parts[at + 1 :] or parts[at + 1] in {*names_of(file), "*"}
        if not inside.is_dir():
            opening = folder / "__init__.py"
            return folder != root and opening.is_file() and part in {*names_of(opening), "*"}
        folder = inside
    return True


def broken_imports(text: str, path: str, root: Path) -> list[str]:
    """Return what import statements ask of our own package and does not exist, with their lines."""
    wanted: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            wanted += [(node.lineno, item.name) for item in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            wanted += [(node.lineno, f"{node.module}.{item.name}") for item in node.names]
    ours = [(line, name) for line, name in wanted if name.split(".")[0] == OURS]
    return [f"{path}:{line}: {name}" for line, name in ours if not is_there(name, root)]


def scripts() -> Iterator[tuple[str, str]]:
    """Yield every file, page block and cell of the notebook: where it stands, and its text."""
    for path in FILES:
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    for page in TEXTS:
        for block in read_blocks(page):
            if block.language == "python":
                yield str(block), block.text
    for number, cell in enumerate(json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            # Magic lines are no Python.
            lines = "".join(cell["source"]).splitlines()
            yield f"{NOTEBOOK.name}:{number}", "\n".join(line for line in lines if not line.startswith("%"))


def test_every_import_of_ours_resolves() -> None:
    found = [line for path, text in scripts() for line in broken_imports(text, path, ROOT)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("line", "is_broken"),
    [
        ("from gnz_track.stats import holm", False),
        ("from gnz_track.stats import hulm", True),
        ("import gnz_track.stats.inputs", False),
        ("from gnz_track.stats.significance.paired import paired_t", False),
        ("from gnz_track.stats.significance.paired import unpaired_t", True),
        ("from gnz_track.stats.significance.triples import paired_t", True),
        ("from gnz_track import run_benchmark, stats", False),
        ("def late():\n    from gnz_track.tuning.gone import Search", True),
    ],
)
def test_a_moved_name_is_found(line: str, *, is_broken: bool) -> None:
    assert bool(broken_imports(line, "benchmarks/planted.py", ROOT)) is is_broken
