"""Files and folders of users as tasks, and datasets that were added: known by name, read by ours alone, forgotten."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data

from gnz_track.datasets.catalogue import DATASETS, TASKS
from gnz_track.datasets.own.added import AddedDataset, keep, remove
from gnz_track.datasets.own.files import files_of, pose, read_own, task_of_file
from gnz_track.datasets.own.graphs import read_tables
from gnz_track.datasets.own.tasks import GivenDataset
from gnz_track.datasets.preparation import prepare
from gnz_track.errors import BadValue, DuplicateName, UnknownName
from gnz_track.registry import PluginWarning
from gnz_track.types import Task, TaskType

NODES, EDGES, GRAPHS, LINKS = TaskType.node_cls, TaskType.edge_cls, TaskType.graph_cls, TaskType.link_pred


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder of frozen data."""
    monkeypatch.setenv("GNZ_DATA", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """Return a folder of tables: 12 nodes on a ring, with a number, a word and a class."""
    folder = tmp_path / "ring"
    folder.mkdir()
    rows = [f"{n},{n / 2},{'ab'[n % 2]}" for n in range(12)]
    (folder / "nodes.csv").write_text("\n".join(["id,size,kind", *rows]))
    (folder / "edges.csv").write_text("\n".join(["source,target", *(f"{n},{(n + 1) % 12}" for n in range(12))]))
    return folder


def test_a_folder_of_tables_is_a_task(tables: Path) -> None:
    task = task_of_file(str(tables), label="kind")
    assert (task.name, task.task_type) == ("ring", NODES)
    data = prepare(task, seed=0)[0]
    assert (data.num_nodes, data.num_edges, data.x.tolist()[1], data.y.tolist()[:3]) == (12, 24, [0.5], [0, 1, 0])
    assert prepare(task, seed=0).card.source == "ring"


def test_a_network_is_a_task_and_bears_its_ending_where_the_catalogue_has_its_name(tmp_path: Path) -> None:
    graph = nx.karate_club_graph()
    for name, called in (("club.graphml", "club"), ("cora.graphml", "cora.graphml")):
        nx.write_graphml(graph, tmp_path / name)
        assert task_of_file(str(tmp_path / name), label="club").name == called


def test_a_task_of_a_file_travels_without_its_data(tables: Path) -> None:
    task = task_of_file(str(tables), label="kind")
    assert isinstance(task.loader, GivenDataset)
    assert pickle.loads(pickle.dumps(task)).loader.dataset is None


def _graph(n_nodes: int = 4, **fields: torch.Tensor) -> Data:
    return Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=n_nodes, **fields)


@pytest.mark.parametrize(
    ("found", "task_type"),
    [
        (_graph(y=torch.arange(4)), NODES),
        ([_graph(y=torch.arange(4)), _graph(y=torch.arange(4))], NODES),
        ([_graph(y=torch.tensor([1])), _graph(y=torch.tensor([0]))], GRAPHS),
        (([_graph(y=torch.tensor([1.5]))], [_graph(y=torch.tensor([0.5]))], []), TaskType.graph_reg),
        (_graph(edge_label=torch.tensor([0]), edge_label_index=torch.tensor([[0], [1]])), EDGES),
        (_graph(edge_label=torch.tensor([0.5]), edge_label_index=torch.tensor([[0], [1]])), TaskType.edge_reg),
        (_graph(y=torch.rand(4)), TaskType.node_reg),
        (_graph(y=torch.tensor([[0.0, 1.0]] * 4)), NODES),
        (_graph(y=torch.tensor([[0.0, 1.5]] * 4)), TaskType.node_reg),
        ([_graph(y=torch.tensor([[1.0, 0.0]])), _graph(y=torch.tensor([[0.0, 0.0]]))], GRAPHS),
        (_graph(), LINKS),
    ],
)
def test_labels_say_what_is_asked(found: object, task_type: TaskType) -> None:
    assert pose("file", found) is task_type
    assert pose("file", found, [LINKS]) is LINKS
    assert pose("file", found, [LINKS, GRAPHS]) is task_type


def test_labels_of_several_kinds_are_refused() -> None:
    with pytest.raises(BadValue, match=r"the labels of file is 'of several kinds'; allowed: of one kind"):
        pose("file", [_graph(y=torch.rand(4)), _graph(y=torch.arange(4))])


def test_errors_of_files_name_flags_and_those_of_frames_arguments(tables: Path) -> None:
    with pytest.raises(BadValue, match=r"--label kind\. Else leave it out by --ignore kind,"):
        read_own(tables)
    with pytest.raises(BadValue, match=r"label='kind'\. Else leave it out by ignore=\('kind',\),"):
        read_tables(tables / "edges.csv", tables / "nodes.csv")
    (tables / "edges.csv").write_text("source,target,weight\n0,1,2\n1,0,3\n")
    with pytest.raises(BadValue, match=r"line 2 has it too \(or --directed\)"):
        read_own(tables, label="kind")
    nx.write_gml(nx.path_graph(3), tables / "path.gml")
    with pytest.raises(BadValue, match=r"--directed is True; allowed: nothing: the graph says it itself"):
        read_own(tables / "path.gml", is_directed=True)


def test_several_columns_are_several_labels(tables: Path) -> None:
    rows = [f"{n},{n / 2},{n % 2},{n % 3 == 0:d}" for n in range(12)]
    (tables / "nodes.csv").write_text("\n".join(["id,size,odd,third", *rows]))
    keep(AddedDataset(name="rings", task_type=NODES, label="odd,third"), tables)
    dataset = prepare("rings", seed=0)
    assert (dataset.is_multi_label, dataset.n_classes, dataset[0].x.shape) == (True, 2, (12, 1))


@pytest.mark.parametrize("name", ["", "nodes.csv", "absent.gml", "notes.txt"])
def test_what_is_no_data_is_told_with_the_forms_that_are(tmp_path: Path, name: str) -> None:
    (tmp_path / "nodes.csv").write_text("id\n1\n") if name == "nodes.csv" else None
    (tmp_path / "notes.txt").touch()
    with pytest.raises((BadValue, UnknownName)):
        read_own(tmp_path / name)
    with pytest.raises(BadValue, match=r"a folder with edges.csv.*Try: gnz data add"):
        files_of(tmp_path / "absent")


def test_an_added_dataset_is_known_until_it_is_removed(tables: Path, home: Path) -> None:
    n_before = len(TASKS)
    kept = keep(AddedDataset(name="rings", task_type=NODES, label="kind", epochs=7, licence="CC0"), tables)
    task, row = TASKS.get("rings"), DATASETS.get("rings")
    assert (task.epochs, task.task_type, row.licence, row.checksum) == (7, NODES, "CC0", kept.checksum)
    assert len(TASKS) == n_before + 1 == len(TASKS.names()) == len(TASKS.rows())
    for file in tables.iterdir():
        file.unlink()
    shutil.rmtree(home / "rings")
    assert prepare("rings", seed=0).digest == kept.checksum, "it is frozen again from the copies"
    remove("rings")
    assert "rings" not in TASKS
    with pytest.raises(UnknownName, match="unknown dataset 'rings'"):
        DATASETS.get("rings")
    with pytest.raises(BadValue, match="one that was added: none was"):
        remove("rings")
    assert not [path for path in home.rglob("*") if path.is_file()]


def test_a_taken_name_is_refused_and_replaced_where_that_is_asked(tables: Path) -> None:
    one = AddedDataset(name="rings", task_type=NODES, label="kind")
    first = keep(one, tables)
    with pytest.raises(BadValue, match=r"--name is 'rings'.*--replace"):
        keep(one, tables)
    with pytest.raises(DuplicateName):
        keep(AddedDataset(name="cora", task_type=NODES, label="kind"), tables)
    (tables / "edges.csv").write_text("source,target\n1,2\n3,4\n")
    second = keep(one, tables, replaces=True)
    assert second.checksum != first.checksum
    assert prepare("rings", seed=0).digest == second.checksum


def test_what_cannot_be_frozen_leaves_what_was_there(tables: Path, home: Path) -> None:
    one = AddedDataset(name="rings", task_type=NODES, label="kind")
    first = keep(one, tables)
    (tables / "edges.csv").write_text("source,target\n1,200\n")
    with pytest.raises(BadValue, match="an id of the table of nodes"):
        keep(one, tables, replaces=True)
    assert TASKS.get("rings")
    shutil.rmtree(home / "rings")
    assert prepare("rings", seed=0).digest == first.checksum


def test_frozen_data_are_read_in_their_parts(tmp_path: Path) -> None:
    graphs = [_graph(x=torch.rand(4, 2), y=torch.tensor([n % 2])) for n in range(6)]
    task = Task("parted", GRAPHS, lambda: (graphs[:3], graphs[3:4], graphs[4:]))
    dataset = prepare(task, seed=0)
    again = task_of_file(str(dataset.folder), asked=[GRAPHS])
    assert prepare(again, seed=0).digest == dataset.digest
    kept = keep(AddedDataset(name="again", task_type=GRAPHS), dataset.folder)
    assert kept.checksum == dataset.digest
    assert tmp_path


@pytest.mark.parametrize(
    "change",
    [
        {"file": "../../nodes.csv"},
        {"file": 3},
        {"name": "other"},
        {"epochs": 0},
        {"epochs": "many"},
        {"task_type": "nodes"},
        {"ignore": [1]},
    ],
)
def test_a_record_that_is_not_ours_is_told_in_a_line(tables: Path, home: Path, change: dict[str, object]) -> None:
    keep(AddedDataset(name="rings", task_type=NODES, label="kind"), tables)
    file = home / "own" / "rings.json"
    said = json.loads(file.read_text())
    file.unlink()
    file.write_text(json.dumps({**said, **change}))
    with pytest.warns(PluginWarning, match=r"an added dataset is missing: .*rings\.json does not read"):
        assert "rings" not in TASKS
    assert "cora" in TASKS


def test_the_reader_of_a_record_is_ours_whatever_it_says(tables: Path, home: Path) -> None:
    keep(AddedDataset(name="rings", task_type=NODES, label="kind"), tables)
    file = home / "own" / "rings.json"
    said = json.loads(file.read_text()) | {"loader": "os:system", "options": {"file": "/etc/passwd"}}
    file.unlink()
    file.write_text(json.dumps(said))
    assert DATASETS.get("rings").loader == "gnz_track.datasets.own.added:load"
    assert DATASETS.get("rings").options == {"file": "", "label": "kind"}
