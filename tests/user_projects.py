"""Projects of users: folders of modules that are imported and edited; not a test itself."""

from __future__ import annotations

import importlib
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest


class Project:
    """Files of a user's in a folder on the path; ``load`` imports a module as a process does that begins now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, files: Mapping[str, str]) -> None:
        """Write modules by their path, and forget those that were imported."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        self.forget()

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace what stands once in a file."""
        text = (self.folder / name).read_text()
        assert text.count(old) == 1, f"{old!r} in {name}"
        self.write({name: text.replace(old, new)})

    def forget(self) -> None:
        """Take out of this process what was imported from the folder; compiled files are removed as well."""
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", "") or "").startswith(str(self.folder)):
                del sys.modules[name]
        for path in self.folder.rglob("*.pyc"):
            path.unlink()
        importlib.invalidate_caches()

    def load(self, name: str) -> ModuleType:
        """Import a module."""
        return importlib.import_module(name)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """Return an empty project, the first on the path, here and in processes to come."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
    found = Project(folder)
    yield found
    found.forget()
