"""The pages of the documentation taken apart: blocks, what they print, links, and calls of ``gnz``.

A page is run in one folder of its own, from top to bottom: ```` ```sh ```` blocks by ``bash -e``, ```` ```python ````
blocks as scripts; a block with ``title="name.py"`` is a file that the reader saves, and is written there. What stands
in a ```` ```text ```` block is what the block before it prints. A block whose title begins with ``Not run`` is shown to
the reader with the reason, and is the only kind that nothing runs.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
NOT_RUN = "Not run"
# Why a block may be left out.
REASONS = ("it needs the network", "it needs a container engine", "it needs a cluster", "it needs a server")
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)(?P<rest>[^`]*)$")
TITLE = re.compile(r'title="([^"]*)"')
# Digits after a point depend on the processor in the last places.
DECIMAL = re.compile(r"(\d*\.\d+(?:e[+-]?\d+)?)")
ANY = "..."
SECONDS_FOR_A_BLOCK = 300


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block; ``line`` is where it begins."""

    page: str
    line: int
    language: str
    title: str
    text: str

    @property
    def is_left_out(self) -> bool:
        return self.title.startswith(NOT_RUN)

    @property
    def file_name(self) -> str:
        """The file that the reader saves it under, if any."""
        return "" if self.is_left_out else self.title

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def read_blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in order."""
    found: list[Block] = []
    lines = page.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        opening = FENCE.match(lines[at])
        if opening is None:
            at += 1
            continue
        end = next(i for i in range(at + 1, len(lines)) if lines[i].strip() == "```")
        title = TITLE.search(opening["rest"])
        text = textwrap.dedent("\n".join(lines[at + 1 : end])) + "\n"
        language = opening["language"]
        found.append(Block(page=page.name, line=at + 1, language=language, title=title[1] if title else "", text=text))
        at = end + 1
    return found


def prose_of(page: Path) -> str:
    """Return a page without its blocks."""
    kept, is_inside = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        is_fence = line.strip().startswith("```")
        is_inside = is_inside != is_fence
        if not is_inside and not is_fence:
            kept.append(line)
    return "\n".join(kept)


def calls_of(page: Path) -> Iterator[tuple[str, list[str]]]:
    """Return every call of ``gnz`` on a page, in blocks and in running text, as (where, words)."""
    for block in read_blocks(page):
        if block.language == "sh":
            for line in block.text.replace("\\\n", " ").splitlines():
                yield from ((str(block), words) for words in _calls(line))
    for code in re.findall(r"`((?:\.venv/bin/)?gnz [^`]+)`", prose_of(page)):
        yield from ((page.name, words) for words in _calls(code))


def _calls(line: str) -> Iterator[list[str]]:
    words = shlex.split(line, comments=True)
    starts = [n for n, word in enumerate(words) if word in {"gnz", ".venv/bin/gnz"}]
    for start in starts:
        rest = words[start + 1 :]
        end = next((n for n, word in enumerate(rest) if word in {"|", "||", "&&", ">", "2>", ";", "&"}), len(rest))
        # What is shown to be refused is said by the block after it.
        if rest[end : end + 2] != ["||", "true"]:
            yield rest[:end]


@dataclass
class Folder:
    """Where one page is run, with data, runs and programs of its own."""

    place: Path
    printed: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.work = self.place / "work"
        self.work.mkdir()
        self._note = self.place / "gone_to"
        programs = self.place / "bin"
        programs.mkdir()
        for name, module in (("gnz", "-m gnz_track "), ("python", "")):
            program = programs / name
            program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {module}"$@"\n', encoding="utf-8")
            program.chmod(0o755)
        # A reader's Python keeps what it compiled; without that, every command compiles the package again.
        silent = {"GNZ_MIRROR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "PYTHONDONTWRITEBYTECODE"}
        self.environment = {name: value for name, value in os.environ.items() if name not in silent} | {
            "PATH": f"{programs}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "GNZ_DATA": str(self.place / "data"),
            "GNZ_STORE": str(self.place / "gnz.db"),
            "XDG_DATA_HOME": str(self.place / "share"),
            "MPLBACKEND": "agg",
            "COLUMNS": "140",
        }

    def take(self, block: Block) -> str:
        """Run, save or compare a block; return what is wrong with it."""
        if block.is_left_out:
            return ""
        if block.language == "text":
            return compare(block.text, self.printed)
        if block.file_name:
            file = self.work / block.file_name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
            return ""
        if block.language not in RUNNERS:
            return f"nothing runs a block of {block.language or 'no language'}"
        return self._run([*RUNNERS[block.language], self._script(block)])

    def _script(self, block: Block) -> str:
        # Beside the files that the reader saves, so that it can import them.
        script = self.work / f"block_{block.line}.{block.language}"
        # Where a reader has gone to, the next block begins.
        leave = f"pwd > {shlex.quote(str(self._note))}\n" if block.language == "sh" else ""
        script.write_text(block.text + leave, encoding="utf-8")
        return str(script)

    def _run(self, command: list[str]) -> str:
        ended = subprocess.run(
            command,
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=SECONDS_FOR_A_BLOCK,
        )
        self.printed = ended.stdout
        if self._note.exists():
            self.work = Path(self._note.read_text(encoding="utf-8").strip())
        return "" if ended.returncode == 0 else f"ended with code {ended.returncode}:\n{ended.stdout}"


RUNNERS = {"sh": ["bash", "-e", "-o", "pipefail"], "python": [sys.executable]}


def compare(shown: str, printed: str) -> str:
    """Tell what a page shows that was not printed; nothing where all was.

    Lines come in the order shown, those between two ``...`` one after the other; ``...`` at the end of a line stands
    for its rest. Spaces do not matter, and numbers with a point agree to about a tenth.
    """
    wanted, given = _lines(shown), _lines(printed)
    at, is_next = 0, False
    for line in wanted:
        if line == ANY:
            is_next = False
            continue
        rest = range(at, min(at + 1, len(given))) if is_next else range(at, len(given))
        found = next((n for n in rest if agrees(line, given[n])), None)
        if found is None:
            return f"shown, but not printed{' next' if is_next else ''}: {line!r}; printed was:\n{printed}"
        at, is_next = found + 1, True
    return ""


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def agrees(shown: str, printed: str) -> bool:
    """Tell whether a line says what is shown; ``...`` stands for anything."""
    pieces = [DECIMAL.split(piece) for piece in shown.split(ANY)]
    pattern = ".*".join("".join(_pattern(n, part) for n, part in enumerate(piece)) for piece in pieces)
    found = re.fullmatch(pattern, printed)
    numbers = [float(part) for piece in pieces for part in piece[1::2]]
    return found is not None and all(
        abs(wanted - float(text)) <= 0.03 + 0.1 * abs(wanted)
        for wanted, text in zip(numbers, found.groups(), strict=True)
    )


def _pattern(n: int, part: str) -> str:
    return DECIMAL.pattern if n % 2 else re.escape(part)
