"""The readers behind the suite ``ten``: small files in the true format, and the true ones where they are here."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from gnz_track.datasets.catalogue import DATASETS, SUITES
from gnz_track.datasets.catalogue import TASKS as ALL_TASKS
from gnz_track.datasets.homes import data_home
from gnz_track.datasets.preparation import prepare_dataset
from gnz_track.datasets.readers.circuits_and_grids import read_netlists, read_power_case
from gnz_track.datasets.readers.graph_sets import read_tudataset
from gnz_track.datasets.readers.images_and_shapes import read_image_regions
from gnz_track.datasets.readers.knowledge import read_galaxy, read_identified_triples
from gnz_track.datasets.readers.molecules import read_ground_facts, read_xyz_energies
from gnz_track.datasets.readers.networks import read_air_routes, read_contacts, read_crime_roles, read_product_space
from gnz_track.datasets.readers.tsplib import read_tour_edges
from gnz_track.registry import import_target
from gnz_track.types import Category, DatasetRow, PackageFile, TaskType

SUITE = SUITES.get("ten")
# The two that are published in the formats of their collections are tested with these.
TASKS = [ALL_TASKS.get(name) for name in SUITE.tasks if name not in {"mutag", "citeseer"}]
ROWS = [DATASETS.get(task.dataset) for task in TASKS]
RAW = data_home() / "raw"


def _write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def _edges(data: Data) -> list[tuple[int, ...]]:
    return sorted(map(tuple, data.edge_index.t().tolist()))


def test_the_suite_has_all_categories_and_task_types() -> None:
    assert {row.category for row in ROWS} == set(Category) - {Category.custom}
    assert {task.task_type for task in TASKS} == set(TaskType) - {
        TaskType.multi_task,
        TaskType.node_reg,
        TaskType.edge_reg,
    }
    assert set(SUITE.tasks) >= {task.name for task in TASKS}
    assert {row.name for row in ROWS} == {task.dataset for task in TASKS}


def test_every_row_is_a_pinned_file_of_moderate_size() -> None:
    files = {origin.file: origin for row in ROWS for origin in row.origins if isinstance(origin, PackageFile)}
    assert all(len(origin.sha256) == 64 and set(origin.sha256) <= set("0123456789abcdef") for origin in files.values())
    assert sum(origin.n_bytes for origin in files.values()) < 120e6
    assert all(row.checksum and row.references and row.origins for row in ROWS)


FACTS = "<1> bond(7, 2, 9),<1> bond(2, 7, 9),<1> b_3(9), <1> atom_5(7),<1> atom_0(2).\n"


def test_facts_are_molecules(tmp_path: Path) -> None:
    single = "atom_5(0)."
    _write(tmp_path, **{"examples.txt": f"{FACTS}\n{single}\n", "queries.txt": "1.0 predict.\n0.0 predict.\n"})
    first, second = read_ground_facts(tmp_path)
    assert first.x.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert _edges(first) == [(0, 1), (1, 0)]
    assert first.edge_attr.tolist() == [[1.0], [1.0]]
    assert second.edge_index.shape == (2, 0)
    assert (first.y.tolist(), second.y.tolist()) == ([1], [0])


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ("bond(0, 1, 2), b_0(2), atom_1(0).", "1 has no type"),
        ("bond(0, 1, 2), atom_1(0), atom_1(1).", "2 has no type"),
        ("atom_1(0), atom_2(0).", "second type"),
        ("atom_1(0) atom_2(1).", "no fact"),
        ("atom_1(0). atom_2(1).", "full stop"),
        ("atom_1(0),", "full stop"),
        ("charge_1(0).", "no fact on atoms"),
        ("atom_1(0).\natom_1(0).", "2 molecules"),
    ],
)
def test_broken_facts_are_named(tmp_path: Path, facts: str, message: str) -> None:
    _write(tmp_path, **{"examples.txt": facts, "queries.txt": "1.0 predict.\n"})
    with pytest.raises(ValueError, match=message):
        read_ground_facts(tmp_path)


def _xyz(*atoms: str) -> str:
    return "\n".join([str(len(atoms)), "charge = 0", *atoms, ""])


def test_xyz_files_are_molecules(tmp_path: Path) -> None:
    folder = tmp_path / "xyz"
    folder.mkdir()
    far_water = _xyz(" O 0 0 0", " H 0.96 0 0", " h 0 -0.96 0", " H 9 9 9")
    _write(folder, **{"2.xyz": far_water, "1.xyz": _xyz("S 0 0 0"), "3.xyz": _xyz("C 0 0 0", "C 0 0 1.53")})
    _write(tmp_path, energies="3.xyz -461.21096 7\n1.xyz 23.060548 0\n2.xyz -92.242192 0\n\n")
    options: dict[str, Any] = {"energies": "energies", "structures": "xyz", "centre": -1.0}
    lone, water, carbons = read_xyz_energies(tmp_path, **options)
    assert lone.edge_index.shape == (2, 0)
    assert lone.x.tolist() == [[0, 0, 0, 0, 1, 0]]
    assert [graph.y.tolist() for graph in (lone, water, carbons)] == [[[2.0]], [[0.0]], [[-9.0]]]
    assert _edges(water) == [(0, 1), (0, 2), (1, 0), (2, 0)]
    torch.testing.assert_close(water.edge_attr, torch.full((4, 1), 0.96))
    torch.testing.assert_close(water.x[:, 5], torch.tensor([0.96, 0.96, 0.96, 0.0]))
    torch.testing.assert_close(carbons.edge_attr[:, 0], torch.tensor([1.53, 1.53]))
    assert [graph.num_nodes for graph in read_xyz_energies(tmp_path, **options, every=2)] == [1, 2]


@pytest.mark.parametrize(("text", "error"), [("2\n\nC 0 0 0\n", ValueError), (_xyz("Xx 0 0 0"), KeyError)])
def test_xyz_files_that_lie_are_refused(tmp_path: Path, text: str, error: type[Exception]) -> None:
    _write(tmp_path, **{"1.xyz": text, "energies": "1.xyz -1\n"})
    with pytest.raises(error):
        read_xyz_energies(tmp_path, energies="energies", structures=".", centre=0.0)


def test_contacts_are_counted_either_way_round(tmp_path: Path) -> None:
    lines = ["20\t9\t4\tT\t1A", "40\t4\t9\t1A\tT", "40 30 4 1B 1A", "60 30 30 1B 1B", ""]
    _write(tmp_path, contacts="\r\n".join(lines))
    data = read_contacts(tmp_path, file="contacts")
    assert data.y.tolist() == [0, 2, 1]
    assert dict(zip(_edges(data), data.edge_attr[:, 0].tolist(), strict=True)) == {
        (0, 1): 2.0,
        (0, 2): 1.0,
        (1, 0): 2.0,
        (2, 0): 1.0,
    }


def test_one_person_in_two_groups_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, contacts="1 5 6 A B\n2 5 6 A C\n")
    with pytest.raises(ValueError, match="person 6 is in the groups B and C"):
        read_contacts(tmp_path, file="contacts")


def test_identified_triples_have_an_identity(tmp_path: Path) -> None:
    _write(tmp_path, **{"train.txt": "b\tr\ta\n", "valid.txt": "c c\tr\ta\n", "test.txt": "a\tq\tb\n"})
    data = read_identified_triples(tmp_path)
    assert torch.equal(data.x, torch.eye(3))
    assert data.train_edge_index.tolist() == [[1], [0]]
    assert data.edge_type.tolist() == [1, 3]


Object = tuple[str, Sequence[tuple[str, str]]]


def _cluster(*objects: Object) -> str:
    values = [
        {"uuid": name, "related": [{"dest-uuid": to, "type": kind} for kind, to in links]} for name, links in objects
    ]
    return json.dumps({"type": "x", "values": [*values, {"value": "without a number"}]})


def test_a_galaxy_becomes_triples(tmp_path: Path) -> None:
    tools: list[Object] = [
        (f"tool{n}", [("uses", "old"), ("similar", "a"), *(("uses", x) for x in "abc")]) for n in range(10)
    ]
    _write(tmp_path, **{"tools.json": _cluster(*tools)})
    techniques: list[Object] = [(name, []) for name in "abcd"]
    _write(tmp_path, **{"t.json": _cluster(*techniques, ("old", [("revoked-by", "a")]), ("lone", [("uses", "away")]))})
    data = read_galaxy(tmp_path, relations=("uses",))
    assert data.num_nodes == 13
    parts = {name: set(zip(*data[f"{name}_edge_index"].tolist(), strict=True)) for name in ("train", "valid", "test")}
    assert {name: len(part) for name, part in parts.items()} == {"train": 24, "valid": 3, "test": 3}
    assert len(set.union(*parts.values())) == 30
    assert {node for pair in parts["train"] for node in pair} == set(range(13))
    assert data.edge_type.unique().tolist() == [0, 1]


def test_training_keeps_the_last_triple_of_a_name(tmp_path: Path) -> None:
    tails: list[Object] = [(f"b{n}", []) for n in range(20)]
    _write(tmp_path, **{"one.json": _cluster(*((f"a{n}", [("uses", f"b{n}")]) for n in range(20)), *tails)})
    data = read_galaxy(tmp_path, relations=("uses",))
    assert [data[f"{name}_edge_type"].numel() for name in ("train", "valid", "test")] == [20, 0, 0]


def test_air_routes_take_texts_whole(tmp_path: Path) -> None:
    text = (
        "//Airports\n"
        r"CREATE (a10:airport {id:'10',desc:'O\'Hare, runways:9, continent:XX',runways:4,longest:13000,elev:-5,"
        r"continent:'NA',lat:41.9,lon:-87.9})" + "\n"
        r"CREATE (a2:airport {id:'2',desc:'Nice',runways:2,longest:5000,elev:2500,continent:'EU',lat:43.6,lon:7.2})"
        "\nCREATE (a30:airport {id:'30',desc:'Lone',runways:1,longest:1300,elev:0,continent:'EU',lat:0,lon:0})\n"
        "CREATE (c1:country {id:'1',code:'US'})\n"
        "(a10)-[:route {id: '1', dist: 809}]->(a2),\n(a2)-[:route {id: '2', dist: 809}]->(a10),\n"
        "(c1)-[:contains {id: '3'}]->(a2)\n"
    )
    data = read_air_routes(_write(tmp_path, f=text), file="f")
    assert data.y.tolist() == [0, 1, 0]
    torch.testing.assert_close(data.x[1], torch.tensor([4.0, 1.3, -0.001]))
    assert _edges(data) == [(0, 1), (1, 0)]


def _table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, as_text: bool) -> dict[str, object]:
    content = {"columns": columns, "index": list(range(100, 100 + len(rows))), "data": rows}
    return {"_object": json.dumps(content) if as_text else content}


@pytest.mark.parametrize("as_text", [True, False])
def test_a_power_case_has_roles_and_parallel_branches(tmp_path: Path, *, as_text: bool) -> None:
    def table(columns: Sequence[str], *rows: Sequence[object]) -> dict[str, object]:
        return _table(columns, rows, as_text=as_text)

    tables = {
        "bus": table(["vn_kv", "in_service"], [100.0, True], [100.0, True], [380.0, True], [10.0, False]),
        "line": table(["from_bus", "to_bus", "in_service"], [100, 101, True], [101, 100, True], [100, 102, False]),
        "trafo": table(["hv_bus", "lv_bus", "in_service"], [102, 101, True]),
        "load": table(["bus", "in_service"], [100, True], [101, True], [102, False]),
        "sgen": table(["bus", "in_service"], [101, True]),
        "gen": table(["bus", "in_service"], [100, False]),
    }
    _write(tmp_path, f=json.dumps({"_object": tables}))
    data = read_power_case(tmp_path, file="f")
    assert data.y.tolist() == [1, 2, 0]
    weights = dict(zip(_edges(data), data.edge_attr[:, 0].tolist(), strict=True))
    assert weights == {(0, 1): 2.0, (1, 0): 2.0, (1, 2): 1.0, (2, 1): 1.0}
    expected = [[0.0, math.log(3), 0.0], [0.0, math.log(3), math.log(2)], [math.log(3.8), 0.0, math.log(2)]]
    torch.testing.assert_close(data.x, torch.tensor(expected), atol=1e-6, rtol=0)


def test_products_have_sections(tmp_path: Path) -> None:
    products = 'product_id,name,top_parent_id,cluster_id\n7,"Wool, raw",10,1.0\n12,Ore,4,\n5,Tea,10,2.0\n99,Other,1,\n'
    _write(tmp_path, e="\ufeffsource,target\n12,7\n7,12\n5,7\n", p=products)
    data = read_product_space(tmp_path, edges="e", products="p")
    assert data.y.tolist() == [1, 1, 0]
    assert _edges(data) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert torch.equal(data.x, torch.eye(3))


NETLIST = """
// Generated; and G9 (x, y, z);
module tiny (a, b,
   o, q);
  input a, b; /* not N (q, a); */
  output o, q;
  wire a, b, m, n;
  nand NAND2_1 (m, a,
     b);
  xor (n, m, m);
  not \\odd.name[3] (o, k);
  assign k = n;
  assign q = m;
endmodule
"""


def test_netlists_become_gates_and_inputs(tmp_path: Path) -> None:
    other = "module u(i, o); input i; output o; or G(o, i, i, i); endmodule"
    _write(tmp_path, **{"tiny.v": NETLIST, "u.v": other})
    data = read_netlists(tmp_path, parts={"train": ["tiny"], "val": ["u"], "test": ["u"]})
    # Nodes: a, b, m, n, o; i, o; i, o.
    assert data.y.tolist() == [-1, -1, 1, 5, 3, -1, 4, -1, 4]
    assert _edges(data)[:8] == [(0, 2), (1, 2), (2, 0), (2, 1), (2, 3), (3, 2), (3, 4), (4, 3)]
    one, two, three = math.log2(2), math.log2(3), math.log2(4)
    expected = [[0, one, 1, 0], [0, one, 1, 0], [two, two, 0, 1], [two, one, 0, 0], [one, 0, 0, 1]]
    torch.testing.assert_close(data.x[:5], torch.tensor(expected, dtype=torch.float32), atol=1e-6, rtol=0)
    assert data.x[5:7].tolist() == [[0, three, 1, 0], [three, 0, 0, 1]]
    assert [data[f"{name}_mask"].sum().item() for name in ("train", "val", "test")] == [5, 2, 2]


@pytest.mark.parametrize(
    ("statement", "error"),
    [("dff D (o, a)", ValueError), ("and G (o, nowhere)", KeyError), ("assign a2 = a3; assign a3 = a2", None)],
)
def test_odd_netlists(tmp_path: Path, statement: str, error: type[Exception] | None) -> None:
    _write(tmp_path, **{"c.v": f"module c(a, o); input a; output o; not N (p, a); {statement}; endmodule"})
    parts = {"train": ["c"], "val": [], "test": []}
    if error is None:
        assert read_netlists(tmp_path, parts=parts).num_nodes == 2
    else:
        with pytest.raises(error):
            read_netlists(tmp_path, parts=parts)


def _problem(*places: tuple[float, float]) -> str:
    rows = [f"{n} {x:e} {y:e}" for n, (x, y) in enumerate(places, start=1)]
    return "\n".join(["NAME : t", "DIMENSION : 5", "NODE_COORD_SECTION", *rows, "EOF", ""])


SQUARE = _problem((10, 0), (12, 0), (12, 4), (10, 4), (11, 1))


def test_tour_edges_are_labelled_once(tmp_path: Path) -> None:
    _write(tmp_path, p=SQUARE, t="NAME : t\nTOUR_SECTION\n1\n5\n2\n3\n4\n-1\nEOF\n")
    data = read_tour_edges(tmp_path, problem="p", tour="t", k=2)
    labels = dict(zip(map(tuple, data.edge_label_index.t().tolist()), data.edge_label.tolist(), strict=True))
    # Equal distances fall to the lower number: 3 and 2 are at 4 from 1 and 2, and 5 is nearer.
    assert labels == {(0, 1): 0, (0, 4): 1, (1, 4): 1, (2, 3): 1, (2, 4): 0, (3, 4): 0}
    assert _edges(data) == sorted([*labels, *((b, a) for a, b in labels)])
    assert data.x[:, :2].min() == 0
    assert data.x[:, :2].max() == 1
    lengths = torch.tensor([2.0, 2**0.5, 2**0.5, 2.0, 10**0.5, 10**0.5])
    torch.testing.assert_close(data.edge_label_attr[:, 0], lengths / lengths.mean())
    assert bool((data.edge_label_attr[:, 1] <= data.edge_label_attr[:, 2]).all())


@pytest.mark.parametrize(
    ("problem", "tour", "message"),
    [
        (SQUARE, "TOUR_SECTION\n1 2 3 4\n-1\n", "each of 5 cities once"),
        (SQUARE, "TOUR_SECTION\n1 2 3 4 4\n-1\n", "each of 5 cities once"),
        (SQUARE, "1 2 3 4 5\n-1\n", "no TOUR_SECTION"),
        (SQUARE.replace("5 1.1", "6 1.1"), "TOUR_SECTION\n1 2 3 4 5\n-1\n", "numbered 1, 2, 3"),
    ],
)
def test_broken_tours_are_named(tmp_path: Path, problem: str, tour: str, message: str) -> None:
    _write(tmp_path, p=problem, t=tour)
    with pytest.raises(ValueError, match=message):
        read_tour_edges(tmp_path, problem="p", tour="t", k=2)


def test_crime_roles_leave_out_other_roles(tmp_path: Path) -> None:
    _write(
        tmp_path, e="% bip unweighted\n% 3 2 2\n1 1\n2 1 \n2 2\n", r="Witness\nVictim Suspect\nSuspect\n", s="0\n1\n"
    )
    options = {"edges": "e", "roles": "r", "sexes": "s"}
    data = read_crime_roles(tmp_path, **options, labelled=("Suspect", "Victim", "Witness"))
    assert _edges(data) == [(0, 2), (1, 2), (1, 3), (2, 0), (2, 1), (3, 1)]
    assert data.edge_label_index.tolist() == [[0, 1], [2, 3]]
    assert data.edge_label.tolist() == [2, 0]
    assert data.x.tolist() == [[1, 0, 0], [1, 0, 1], [0, 1, 0], [0, 1, 0]]
    _write(tmp_path, r="Witness\nSuspect\n")
    with pytest.raises(ValueError, match="3 edges, 2 roles and 2 people"):
        read_crime_roles(tmp_path, **options, labelled=("Suspect",))


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_images_are_taken_per_class(tmp_path: Path, name: str) -> None:
    def row(bright: int, number: int) -> str:
        return ",".join(["255" if pixel == bright else "0" for pixel in range(16)] + [str(number)])

    text = "\n".join([row(0, 7), row(5, 7), row(9, 7), row(3, 2), ""])
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    graphs = read_image_regions(tmp_path, file=name, per_class=2, n_regions=4, edges="touching")
    assert [graph.y.tolist() for graph in graphs] == [[7], [7], [2]]
    for graph in graphs:
        torch.testing.assert_close(graph.x[:, 3].sum(), torch.tensor(1.0))
        torch.testing.assert_close((graph.x[:, 0] * graph.x[:, 3]).sum(), torch.tensor(1 / 16))


def _raw(row: DatasetRow) -> Path:
    place = RAW / row.raw
    if not place.is_dir():
        pytest.skip(f"{place} is not here; fetch it with: gnz data get {row.name}")
    return place


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_true_archive_has_its_sizes_and_digest(row: DatasetRow, tmp_path: Path) -> None:
    _raw(row)
    found = prepare_dataset(row, seed=0, home=tmp_path, mirror=RAW)
    assert found.digest == row.checksum
    assert {name: found.card.sizes[name] for name in row.expected} == dict(row.expected)


@pytest.mark.slow
@pytest.mark.mirror
def test_ptc_is_that_of_tudataset(mirror: Path) -> None:
    row = next(row for row in ROWS if row.name == "ptc_mr")
    found = import_target(row.loader)(_raw(row), **row.options)  # type: ignore[operator]
    expected = read_tudataset(mirror / "TUDataset" / "PTC_MR" / "raw", prefix="PTC_MR")
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        for key in ("x", "edge_index", "edge_attr", "y"):
            assert torch.equal(ours[key], theirs[key]), key
