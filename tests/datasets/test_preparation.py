"""From a task to its frozen dataset."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data, InMemoryDataset

from gnz_track.datasets import preparation
from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.homes import data_home
from gnz_track.datasets.own.tasks import is_seed_aware, load_graphs, task_from_dataset
from gnz_track.datasets.preparation import find_mirror, prepare
from gnz_track.errors import BadValue, DataCorrupted, DataMissing, DataUnusable, UnknownName
from gnz_track.types import Task


def _data(value: float = 1.0, n: int = 6) -> Data:
    edges = torch.tensor([[0, 1, 2], [1, 2, 3]])
    return Data(x=torch.full((n, 2), value), y=torch.arange(n) % 2, edge_index=edges)


def test_seeds_have_own_folders_only_where_they_matter(tmp_path: Path) -> None:
    first, second = (prepare("random_tsp", seed=seed, home=tmp_path) for seed in (0, 1))
    assert first.folder == tmp_path / "random_tsp" / "seed-0"
    assert first.digest != second.digest
    assert (first.card.seed, second.card.seed) == (0, 1)
    same = [prepare("grid_mines", seed=seed, home=tmp_path) for seed in (0, 1)]
    assert {dataset.folder for dataset in same} == {tmp_path / "grid_mines"}
    assert same[0].card.seed is None


def test_what_is_frozen_is_not_frozen_again(tmp_path: Path) -> None:
    first = prepare("les_miserables", seed=0, home=tmp_path)
    before = first.tensors.path.stat()
    second = prepare("les_miserables", seed=1, home=tmp_path)
    after = second.tensors.path.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


PREPARE_ALL = """
import sys, warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch_geometric
from pathlib import Path
from gnz_track.datasets.preparation import prepare
print("ready", flush=True)
sys.stdin.readline()
for seed in range(30):
    print(prepare("random_coloring", seed=seed, home=Path(sys.argv[1])).digest)
"""


def test_two_processes_may_prepare_at_once(tmp_path: Path, root: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", PREPARE_ALL, str(tmp_path)]
    both = [subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True, env=environment) for _ in range(2)]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    answers = []
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in both:
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        answers.append(out.split())
    assert answers[0] == answers[1]
    assert len(set(answers[0])) == 30
    left = {path.name for path in (tmp_path / "random_coloring").iterdir()}
    assert left == {f"seed-{seed}" for seed in range(30)}


def test_a_row_with_other_options_is_frozen_anew(tmp_path: Path) -> None:
    row = DATASETS.get("random_tsp")
    small = type(row)(**{**vars(row), "options": {"n_nodes": 50, "k": 4}, "expected": {"n_nodes": 50}})
    first = preparation.prepare_dataset(row, seed=0, home=tmp_path)
    second = preparation.prepare_dataset(small, seed=0, home=tmp_path)
    assert (first.folder, first.n_nodes, second.n_nodes) == (second.folder, 200, 50)


def test_raw_files_that_are_not_here_say_where_and_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GNZ_MIRROR", raising=False)
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    with pytest.raises(DataMissing) as caught:
        prepare("cora", seed=0, home=tmp_path, mirror=mirror)
    message = str(caught.value)
    assert str(mirror / "Planetoid/Cora/raw") in message
    assert str(tmp_path / "raw/Planetoid/Cora/raw") in message
    assert "gnz data get cora" in message
    (mirror / "Planetoid/Cora/raw").mkdir(parents=True)
    with pytest.raises(DataMissing, match=r"no file .*ind\.cora\.tx"):
        prepare("cora", seed=0, home=tmp_path, mirror=mirror)


@pytest.mark.mirror
def test_altered_raw_files_are_refused_and_leave_nothing(tmp_path: Path, mirror: Path) -> None:
    raw = tmp_path / "mirror/TUDataset/MUTAG/raw"
    shutil.copytree(mirror / "TUDataset/MUTAG/raw", raw, copy_function=shutil.copyfile)
    labels = raw / "MUTAG_graph_labels.txt"
    lines = labels.read_text().splitlines()
    labels.write_text("\n".join(["-1", *lines[1:]]))
    with pytest.raises(DataCorrupted, match=DATASETS.get("mutag").checksum):
        prepare("mutag", seed=0, home=tmp_path, mirror=tmp_path / "mirror")
    labels.write_text("\n".join(lines[:-1]))
    with pytest.raises(DataUnusable, match=r"gnz data get mutag"):
        prepare("mutag", seed=0, home=tmp_path, mirror=tmp_path / "mirror")
    labels.write_text("what?")
    with pytest.raises(DataUnusable, match="raw files do not read"):
        prepare("mutag", seed=0, home=tmp_path, mirror=tmp_path / "mirror")
    assert not (tmp_path / "mutag").exists()
    shutil.copyfile(mirror / "TUDataset/MUTAG/raw/MUTAG_graph_labels.txt", labels)
    assert len(prepare("mutag", seed=0, home=tmp_path, mirror=tmp_path / "mirror")) == 188


def test_places_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNZ_DATA", str(tmp_path))
    monkeypatch.setenv("GNZ_MIRROR", str(tmp_path))
    assert (data_home(), find_mirror()) == (tmp_path, tmp_path)
    monkeypatch.setenv("GNZ_DATA", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_home() == tmp_path / "gnz_track"
    # Preparing reads folders only: what an address has is fetched by gnz data get.
    assert find_mirror("https://example.org/mirror") is None
    assert find_mirror(Path("https://example.org/mirror")) is None
    with pytest.raises(BadValue, match=r"ftp://example\.org"):
        find_mirror("ftp://example.org/mirror")
    with pytest.raises(BadValue, match="nowhere"):
        find_mirror(tmp_path / "nowhere")
    monkeypatch.delenv("GNZ_MIRROR")
    assert find_mirror() is None


def test_a_given_dataset_is_frozen_by_content(tmp_path: Path) -> None:
    data = _data()
    task = task_from_dataset("mine", "node_cls", data)
    first = prepare(task, seed=0, home=tmp_path)
    assert torch.equal(first[0].x, data.x)
    assert prepare(task, seed=1, home=tmp_path).folder == first.folder
    data.x += 1  # as in a notebook: the same task, other numbers
    assert torch.equal(prepare(task, seed=0, home=tmp_path)[0].x, data.x)
    other = task_from_dataset("mine", "node_cls", _data(9.0))
    assert prepare(other, seed=0, home=tmp_path).digest != first.digest


def test_a_given_dataset_travels_as_its_name() -> None:
    task = task_from_dataset("mine", "node_cls", Data(x=torch.zeros(100_000, 1)))
    travelled = pickle.dumps(task)
    assert len(travelled) < 1_000
    with pytest.raises(DataMissing, match="task_from_dataset"):
        pickle.loads(travelled).loader()


def test_a_seeded_loader_gets_the_seed_and_others_run_once(tmp_path: Path) -> None:
    calls: list[int] = []

    def seeded(root: str, seed: int = 0) -> Data:
        assert Path(root).is_dir()
        calls.append(seed)
        return _data(float(seed))

    def plain() -> list[Data]:
        calls.append(-1)
        return [_data(), _data(), _data()]

    datasets = [prepare(Task("seeded", "node_cls", seeded), seed=seed, home=tmp_path) for seed in (0, 1, 1)]
    assert calls == [0, 1]
    assert [float(dataset[0].x[0, 0]) for dataset in datasets] == [0.0, 1.0, 1.0]
    assert [dataset.card.seed for dataset in datasets] == [0, 1, 1]
    assert {len(prepare(Task("plain", "graph_cls", plain), seed=seed, home=tmp_path)) for seed in range(4)} == {3}
    assert calls == [0, 1, -1]


class _Wrapper:
    """What relational loaders return: an object that answers ``[0]`` and little else."""

    num_relations = 2

    def __getitem__(self, index: int) -> Data:
        return Data(
            edge_index=torch.tensor([[0, 1], [1, 0]]),
            edge_type=torch.tensor([0, 1]),
            train_edge_index=torch.tensor([[0], [1]]),
            train_edge_type=torch.tensor([0]),
            num_nodes=2,
        )


class _InMemory(InMemoryDataset):
    def __init__(self, graphs: list[Data]) -> None:
        super().__init__(None)
        self.data, self.slices = self.collate(graphs)


@pytest.mark.parametrize(
    ("found", "n_graphs", "split"),
    [
        (_data(), 1, None),
        ([_data(), _data(2.0)], 2, None),
        (_InMemory([_data(), _data(2.0, 8), _data(3.0)]), 3, None),
        (_InMemory([_data(), _data(2.0, 8), _data(3.0)])[:2], 2, None),
        (_Wrapper(), 1, None),
        (([_data(), _data(2.0)], _InMemory([_data(3.0)]), [_data(4.0)]), 4, [0, 0, 1, 2]),
    ],
)
def test_all_that_loaders_return_is_taken(tmp_path: Path, found: Any, n_graphs: int, split: list[int] | None) -> None:
    dataset = prepare(task_from_dataset("any", "graph_cls", found), seed=0, home=tmp_path)
    assert len(dataset) == n_graphs
    assert (None if dataset.split is None else dataset.split.tolist()) == split
    assert dataset.is_relational == isinstance(found, _Wrapper)


@pytest.mark.parametrize("found", ["text", 3, [1, 2], [], ([_data()], [_data()]), torch.ones(3), {"x": 1}])
def test_what_is_no_dataset_is_refused(tmp_path: Path, found: Any) -> None:
    with pytest.raises(BadValue, match="what the loader of task 'odd' returned"):
        prepare(task_from_dataset("odd", "node_cls", found), seed=0, home=tmp_path)


def test_errors_of_the_loader_stay_its_own(tmp_path: Path) -> None:
    def broken(root: str) -> Data:
        message = f"the server behind {root} is down"
        raise ConnectionError(message)

    with pytest.raises(ConnectionError, match="is down"):
        prepare(Task("broken", "node_cls", broken), seed=0, home=tmp_path)


def test_signatures_decide_what_a_loader_gets(tmp_path: Path) -> None:
    seen: list[tuple[Any, ...]] = []

    def note(*values: Any) -> Data:
        seen.append(values)
        return _data()

    def none() -> Data:
        return note()

    def folder(root: str) -> Data:
        return note(root)

    def both(folder: str, seed: int) -> Data:
        return note(folder, seed)

    def seed_only(seed: int) -> Data:
        return note(seed)

    def option(n: int = 5, *, seed: int = 0) -> Data:
        return note(n, seed)

    def default(root: str = "here") -> Data:
        return note(root)

    loaders = [none, folder, both, seed_only, option, default]
    for loader in loaders:
        load_graphs(Task("t", "node_cls", loader), loader, root=tmp_path, seed=7)
    root = str(tmp_path)
    assert seen == [(), (root,), (root, 7), (7,), (5, 7), (root,)]
    assert [is_seed_aware(loader) for loader in loaders] == [False, False, True, True, True, False]


@pytest.mark.parametrize("name", ["../../etc", "a/b", "..", ".", "", "Zürich", "x" * 200, "con\n", "C:\\x", "-rf"])
def test_no_name_leaves_the_home(tmp_path: Path, name: str) -> None:
    home = tmp_path / "home"
    dataset = prepare(task_from_dataset(name, "node_cls", _data()), seed=0, home=home)
    assert dataset.folder.resolve().is_relative_to(home / "custom")
    assert dataset.folder.parent.parent == home / "custom"
    assert dataset.name == name
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


@given(st.text(), st.text())
def test_folder_names_are_safe_and_differ(one: str, other: str) -> None:
    first, second = preparation.folder_name(one), preparation.folder_name(other)
    assert first.isascii()
    assert 0 < len(first) <= 49
    assert not set(first) & set("/\\:\0")
    assert first not in {".", ".."}
    assert (first == second) == (one == other)


def test_an_unknown_task_has_near_matches(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="'random_tsp'"):
        prepare("random_tps", seed=0, home=tmp_path)
