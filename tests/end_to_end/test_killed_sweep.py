"""A sweep that is killed again and again loses nothing and does nothing twice."""

from __future__ import annotations

import random
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sweeps import N_CELLS, Place, finished_runs, kill_group, numbers_of

# A call takes some seconds until its first cell; a kill falls between there and the end of the sweep.
EARLIEST, LATEST = 2.0, 12.0


@pytest.mark.slow
def test_thirty_kills_lose_nothing_and_repeat_nothing(tmp_path: Path, root: Path) -> None:
    whole = Place(tmp_path / "whole", root)
    whole.finish("--jobs", "2")
    expected = numbers_of(whole)
    assert len(expected) == N_CELLS
    moments = random.Random(0)
    kills = rounds = 0
    while kills < 30:
        rounds += 1
        killed = Place(tmp_path / f"killed{rounds}", root)
        while True:
            jobs = moments.choice(["1", "2"])
            if not kill_group(killed.start("--jobs", jobs), after=moments.uniform(EARLIEST, LATEST)):
                break
            kills += 1
        killed.finish("--jobs", "2")
        runs = Counter(finished_runs(killed))
        assert (len(runs), set(runs.values())) == (N_CELLS, {1})
        assert numbers_of(killed) == expected
    print(f"{kills} kills in {rounds} sweeps of {N_CELLS} cells: 0 lost, 0 twice, all numbers equal")  # noqa: T201


@pytest.mark.slow
def test_killed_sweep_goes_on(tmp_path: Path, root: Path) -> None:
    place = Place(tmp_path / "once", root)
    words = ("run", "--task", "les_miserables", "--models", "MLP,GCN", "--epochs", "20")
    process = place.start("--jobs", "1", words=words, seeds="0-199")
    until = Path(place.folder / "artifacts")
    kill_after_first_cells(place, process, until)
    n_before = len(finished_runs(place))
    assert 0 < n_before < 400, "it was over before it was killed"
    place.finish(words=words, seeds="0-19")
    runs = Counter(finished_runs(place))
    assert set(runs.values()) == {1}
    assert len(runs) >= 40


def kill_after_first_cells(place: Place, process: object, store: Path) -> None:
    from sweeps import wait_for

    def has_cells() -> bool:
        return store.exists() and len(finished_runs(place)) > 3

    wait_for(has_cells)
    assert kill_group(process, after=0.01)  # type: ignore[arg-type]
