"""A small made-up task, its plan, and searches on it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

# Made-up tasks, and models of one's own, are imported by name.
sys.path.append(str(Path(__file__).parent))

from rings import task

from gnz_track.models.catalogue import describe_all
from gnz_track.runs.plan import Place, Plan, make_plan
from gnz_track.store.address import Address, parse_address
from gnz_track.store.searches import SearchRecord
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.tuning.plan import plan_searches
from gnz_track.tuning.search import Listener, SearchContext, Silence, run_searches
from gnz_track.tuning.settings import SearchSettings, seeds_to_tune
from gnz_track.types import Task


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Address:
    """Return a store that is not there yet, and a folder of one's own for all else."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("GNZ_STORE", raising=False)
    return parse_address(str(tmp_path / "gnz.db"))


Plans = Callable[..., Plan]


@pytest.fixture
def plan_of(tmp_path: Path) -> Plans:
    """Return a function that plans cells of two epochs."""

    def plan_of(tasks: Iterable[Task], models: object = "MLP", *, seeds: Sequence[int], epochs: int = 2) -> Plan:
        place = Place(home=tmp_path / "frozen")
        protocol = PROTOCOLS.get("graphnetz")
        rows = describe_all(models)
        return make_plan(list(tasks), rows, seeds=seeds, protocol=protocol, epochs=epochs, place=place)

    return plan_of


Search = Callable[..., list[SearchRecord]]


@pytest.fixture
def search(plan_of: Plans, address: Address) -> Search:
    """Return a function that searches on two tuning seeds for the reported seeds 0 to 2."""

    def search(
        tasks: Iterable[Task] | None = None,
        models: object = "MLP",
        *,
        listener: Listener | None = None,
        jobs: int = 1,
        epochs: int = 2,
        **given: Any,
    ) -> list[SearchRecord]:
        tuning = None if given.get("kind") == "nested" else (1000, 1001)
        settings = SearchSettings(**{"trials": 6, "tuning_seeds": tuning, **given})
        shares = seeds_to_tune(settings, (0, 1, 2))
        seeds = tuple(seed for tuned_on in shares.values() for seed in tuned_on)
        plan = plan_searches(plan_of(tasks or [task()], models, seeds=seeds, epochs=epochs), settings, shares)
        context = SearchContext(address=address, jobs=jobs, listener=listener or Silence())
        return run_searches(plan, settings, context)

    return search
