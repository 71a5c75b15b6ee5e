"""In which packages, and on what machines, two sweeps differ, from the environments that lie in their runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd

from gnz_track.report.sweep_comparison import Difference
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.artifacts import read_artifact
from gnz_track.store.past_run import read_sweep_run

__all__ = ["compare_environments"]

FACTS = {"python": "Python", "os": "operating system", "cpu": "processor", "gpu": "GPU", "cuda": "CUDA"}


def compare_environments(address: Address, first: pd.DataFrame, second: pd.DataFrame) -> list[Difference]:
    """Return the differences between the environments of two results tables; none where they are the same one.

    Parameters
    ----------
    address
        Store of both tables.
    first, second
        Results tables.
    """
    digests = [set(table["environment"]) - {""} for table in (first, second)]
    if digests[0] == digests[1]:
        return []
    found = [_read_environment(address, table) for table in (first, second)]
    if not all(found):
        return []
    return [*_compare_facts(*found), *_compare_packages(*found)]


def _read_environment(address: Address, table: pd.DataFrame) -> dict[str, Any]:
    """Return the environment that most cells of a table ran in; nothing where its file is gone."""
    ran = table[table["environment"] != ""]
    if ran.empty:
        return {}
    (suite, sweep, digest) = ran.groupby(["suite", "sweep", "environment"]).size().idxmax()
    run = read_sweep_run(address, suite=str(suite), sweep=str(sweep))
    text = read_artifact(address, run.artifacts, schema.environment_file(str(digest))) if run else None
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _compare_facts(first: dict[str, Any], second: dict[str, Any]) -> Iterator[Difference]:
    for name, what in FACTS.items():
        one, two = str(first.get(name, "")), str(second.get(name, ""))
        if one != two:
            yield Difference(what=what, first=one, second=two)


def _compare_packages(first: dict[str, Any], second: dict[str, Any]) -> Iterator[Difference]:
    one, two = first.get("packages", {}), second.get("packages", {})
    for name in sorted({*one, *two}):
        if one.get(name) != two.get(name):
            yield Difference(what=f"package {name}", first=str(one.get(name, "")), second=str(two.get(name, "")))
