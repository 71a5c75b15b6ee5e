"""The reference has every public name, under the module that owns it."""

from __future__ import annotations

import importlib
import re

import pytest
from doc_pages import DOCS

import gnz_track

NAMES = re.findall(r"^::: (\S+)$", (DOCS / "reference.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
# Not resolved from the package, but spoken of.
FURTHER = {"gnz_track.stats.comparison.choices.Choices"}


def resolve(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("path", NAMES)
def test_documented_name_is_the_public_one(path: str) -> None:
    found = resolve(path)
    name = path.rpartition(".")[2]
    assert path in FURTHER or getattr(gnz_track, name) is found
    owner = getattr(found, "__module__", None)
    if isinstance(found, type) or callable(found):
        assert f"{owner}.{name}" == path, "under the module where it is written"


def test_every_public_name_is_documented_once() -> None:
    documented = [path.rpartition(".")[2] for path in NAMES if path not in FURTHER]
    assert sorted(documented) == sorted(set(gnz_track.__all__) - {"__version__"})
