"""Models made again from the weights that cells have left: they answer as the cells did, and trust nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import own_nets
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

import gnz_track
from gnz_track.datasets.frozen import open_frozen
from gnz_track.errors import BadValue, ModelNotLoaded, UnknownName
from gnz_track.models.catalogue import MODELS
from gnz_track.predictions.input_arrays import graphs_of_arrays
from gnz_track.predictions.new_predictions import NewPredictions, frozen_graphs, predict
from gnz_track.predictions.pyfunc import GraphModel, _load_pyfunc
from gnz_track.predictions.stored_models import StoredModel, find_known, make_model, open_model
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.plan import Plan
from gnz_track.runs.remaining import find_remaining
from gnz_track.runs.run_one import run_one
from gnz_track.runs.sweep import run_sweep
from gnz_track.runs.sweep_writer import Tracking
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.artifacts import find_place
from gnz_track.store.cell_files.predictions import encode_predictions
from gnz_track.store.cell_files.weights import decode_weights, encode_weights
from gnz_track.store.past_runs import read_run
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, CellResult, ModelRow, Selection

World = Callable[[str], Any]
MakeCell = Callable[..., Cell]
TYPICAL = ("nodes", "graphs", "graphs, labels", "numbers, several", "links", "triples", "edges", "two levels")


def known(about: Mapping[str, Any]) -> ModelRow:
    row = find_known(about)
    assert row is not None
    return row


def trained(cell: Cell, **changes: Any) -> CellResult:
    result = run_one(replace(cell, keep="weights", **changes))
    assert result.is_finished, result.failure
    return result


def again(result: CellResult, name: str = schema.WEIGHTS_FILE) -> StoredModel:
    return make_model(result.files[name], name, known)


def answers_of(result: CellResult) -> NewPredictions:
    return predict(again(result), open_frozen(result.cell.data))


def check_equal(result: CellResult) -> None:
    found = answers_of(result)
    assert encode_predictions(list(found.parts)) == result.files["predictions.parquet"]
    assert found.scores[result.metric] == result.score


# The cell's own data ------------------------------------------------------------------------------------------------


def test_model_answers_as_its_cell_did(any_world: Any, cell_on: MakeCell) -> None:
    check_equal(trained(cell_on(any_world, seed=1)))


@pytest.mark.parametrize("name", PROTOCOLS.names())
def test_cell_of_every_protocol(name: str, world: World, cell_on: MakeCell) -> None:
    check_equal(trained(cell_on(world("nodes")), protocol=PROTOCOLS.get(name)))


def model_worlds() -> list[tuple[str, str]]:
    """Return each built-in model with a world that it is for."""
    of_type = {"node_cls": "nodes", "graph_cls": "graphs", "link_pred": "links", "edge_cls": "edges"}
    whole = {"NearestNeighbours": "edges, directed"}
    found = []
    for row in MODELS.rows():
        names = [of_type[kind] for kind in map(str, row.task_types) if kind in of_type]
        if not row.options.get("edge_features"):
            found.append((row.name, whole.get(row.name, names[0])))
    return found


@pytest.mark.parametrize(("model", "name"), model_worlds())
def test_every_built_in_model_is_made_again(model: str, name: str, world: World, cell_on: MakeCell) -> None:
    check_equal(trained(cell_on(world(name), MODELS.get(model).name, hyperparameters=(("hidden_channels", 8),))))


@pytest.mark.parametrize(("model", "name"), model_worlds())
def test_every_built_in_model_answers_in_half_precision(model: str, name: str, world: World, cell_on: MakeCell) -> None:
    changed = (("amp", "bfloat16"), ("hidden_channels", 8))
    check_equal(trained(cell_on(world(name), MODELS.get(model).name, hyperparameters=changed)))


@pytest.mark.slow
@pytest.mark.parametrize(("model", "name"), [("GCN", "nodes"), ("GAT", "links"), (own_nets.Plain, "graphs")])
def test_compiled_models_answer_as_their_cells_did(model: object, name: str, world: World, cell_on: MakeCell) -> None:
    result = trained(cell_on(world(name), model, hyperparameters=(("compile", True),)))
    assert "compiled by" in result.instructions
    if isinstance(model, str):
        check_equal(result)


def test_embedded_codes_are_kept_and_not_found_anew(world: World, cell_on: MakeCell) -> None:
    # The table of categories shrinks by weight decay once codes were found by it.
    check_equal(trained(cell_on(world("nodes, whole features"), "DGILinear")))


@pytest.mark.parametrize("perturbation", ["empty-graph", "random-features"])
def test_graphs_are_perturbed_as_they_were(perturbation: str, world: World, cell_on: MakeCell) -> None:
    check_equal(trained(cell_on(world("nodes"), perturbation=perturbation)))


def test_hyperparameters_are_those_of_the_cell(world: World, cell_on: MakeCell) -> None:
    result = trained(cell_on(world("nodes"), "GAT", hyperparameters=(("dropout", 0.0), ("heads", 2), ("n_layers", 3))))
    check_equal(result)
    assert vars(again(result).module.options)["heads"] == 2


def test_last_epoch_is_kept_where_another_one_is_selected(world: World, cell_on: MakeCell) -> None:
    protocol = replace(world("nodes").protocol, selection=Selection.best_validation)
    result = trained(cell_on(world("nodes"), epochs=40), protocol=protocol)
    assert result.selected_epoch is not None
    assert result.selected_epoch < 39
    dataset = open_frozen(result.cell.data)
    last = predict(again(result, schema.LAST_FILE), dataset)
    assert last.scores["accuracy"] == result.series["test/accuracy"][-1]
    assert answers_of(result).scores["accuracy"] == result.series["test/accuracy"][result.selected_epoch]
    assert schema.LAST_FILE not in trained(cell_on(world("nodes"))).files, "the selected one is the last"


def test_loading_leaves_the_process_as_it_is(world: World, cell_on: MakeCell) -> None:
    result = trained(cell_on(world("nodes")))
    torch.manual_seed(5)
    before, threads = torch.rand(1), torch.get_num_threads()
    torch.manual_seed(5)
    module = again(result).module
    assert torch.equal(torch.rand(1), before)
    assert (module.training, torch.get_num_threads()) == (False, threads)


# Other data ---------------------------------------------------------------------------------------------------------


def bare(graph: Data, *names: str) -> Data:
    """Return a graph with some of its fields alone."""
    return Data(**{name: graph[name] for name in names if name in graph}, num_nodes=graph.num_nodes)


def ask(stored: StoredModel, graphs: list[Data]) -> NewPredictions:
    with frozen_graphs(stored, graphs, "others") as dataset:
        return predict(stored, dataset)


def test_nodes_of_another_graph(world: World, cell_on: MakeCell) -> None:
    stored = again(trained(cell_on(world("nodes"))))
    other = Data(x=torch.randn(7, 4), edge_index=torch.tensor([[0, 1, 2, 5], [1, 0, 3, 6]]))
    [found] = ask(stored, [other]).parts
    with torch.no_grad():
        np.testing.assert_allclose(found.outputs, stored.module(other).numpy(), atol=1e-6)
    assert (found.part, found.kind, found.numbers["id"].tolist()) == ("all", "node", list(range(7)))
    assert (found.targets == -1).all()


@pytest.mark.parametrize("name", ["graphs", "numbers, several", "two levels"])
def test_graphs_one_by_one_and_together(name: str, world: World, cell_on: MakeCell) -> None:
    stored = again(trained(cell_on(world(name))))
    graphs = [bare(graph, "x", "edge_index") for graph in world(name).graphs[:5]]
    together = ask(stored, graphs).parts
    with torch.no_grad():
        direct = stored.module(Batch.from_data_list(graphs))
    for one, outputs in zip(together, direct if isinstance(direct, tuple) else (direct,), strict=True):
        np.testing.assert_allclose(one.outputs, outputs.numpy(), atol=1e-5)
    [graph] = [one for one in together if one.kind == "graph"]
    alone = [ask(stored, [one]).parts[-1].outputs[0] for one in graphs]
    np.testing.assert_allclose(graph.outputs, alone, atol=1e-5)


def test_links_and_triples_are_scored_where_they_are_named(world: World, cell_on: MakeCell) -> None:
    pairs = torch.tensor([[0, 1, 4], [3, 2, 2]])
    links = again(trained(cell_on(world("links"))))
    graph = bare(world("links").graphs[0], "x", "edge_index")
    graph.edge_label_index = pairs
    [found] = ask(links, [graph]).parts
    with torch.no_grad():
        direct = links.module.decode(links.module.encode(graph), pairs)  # type: ignore[operator]
    np.testing.assert_allclose(found.outputs[:, 0], direct.numpy(), atol=1e-5)
    assert found.numbers["head"].tolist() == [0, 1, 4]
    triples = again(trained(cell_on(world("triples"))))
    arrays = {
        "num_nodes": np.array([6]),
        "edge_index": np.array([[0, 1], [1, 2]]),
        "edge_type": np.array([0, 1]),
        "edge_label_index": pairs.numpy(),
        "edge_label_type": np.array([0, 1, 0]),
    }
    arrays |= {"x": np.zeros((6, form.shape[1]))} if (form := triples.inputs.get("x")) else {}
    [found] = ask(triples, graphs_of_arrays(triples, {name: arrays[name] for name in triples.inputs})).parts
    assert (found.kind, found.outputs.shape, found.numbers["relation"].tolist()) == ("triple", (3, 1), [0, 1, 0])


def test_links_that_nobody_names_are_hidden_as_in_training(world: World, cell_on: MakeCell) -> None:
    stored = again(trained(cell_on(world("links"))))
    other = Data(
        x=torch.randn(40, 4), edge_index=torch.randint(40, (2, 200), generator=torch.Generator().manual_seed(1))
    )
    found = ask(stored, [other])
    assert [one.part for one in found.parts] == ["val", "test"]
    assert 0 <= found.scores["auc"] <= 1


@pytest.mark.parametrize("name", ["edges", "edges, numbers"])
def test_labelled_edges_of_another_graph(name: str, world: World, cell_on: MakeCell) -> None:
    stored = again(trained(cell_on(world(name))))
    graph = bare(world(name).graphs[0], "x", "edge_index", "edge_label_index", "edge_label_attr", "edge_label")
    graph.edge_label_index = graph.edge_label_index[:, :5]
    graph.edge_label = graph.edge_label[:5]
    [found] = ask(stored, [graph]).parts
    assert (found.kind, len(found.outputs), found.targets.flatten().tolist()) == ("edge", 5, graph.edge_label.tolist())


EDGE = torch.tensor([[0], [1]])


def wide(n: int) -> Data:
    return Data(x=torch.randn(5, n), edge_index=torch.tensor([[0, 1], [1, 2]]))


def with_classes(classes: Tensor) -> Data:
    graph = wide(4)
    graph.y = classes
    return graph


@pytest.mark.parametrize(
    ("name", "graph", "words"),
    [
        ("nodes", wide(3), "features of nodes of the data is 3; allowed: 4, as the model of"),
        (
            "nodes",
            Data(edge_index=EDGE),
            "features of nodes of the data is 'none'; allowed: float32",
        ),
        ("nodes, no features", wide(5), "it was trained on features of the structure"),
        ("nodes", Data(x=torch.zeros(2, 4).long(), edge_index=EDGE), "allowed: real numbers"),
        (
            "nodes, whole features",
            Data(x=torch.tensor([[0, 9], [1, 0]]), edge_index=EDGE),
            "at most",
        ),
        ("nodes", with_classes(torch.tensor([0, 1, 2, 3, 1])), "classes of the data is 4; allowed: at most 3"),
        ("edges", wide(4), "edges to be scored of the data is 'none'; allowed: edge_label_index"),
        ("edges, numbers", wide(4), "edges to be scored of the data is 'none'; allowed: edge_label_index"),
    ],
)
def test_data_of_another_form_are_refused_in_words(
    name: str, graph: Data, words: str, world: World, cell_on: MakeCell
) -> None:
    stored = again(trained(cell_on(world(name))))
    with pytest.raises(BadValue) as refused:
        ask(stored, [graph])
    assert words in str(refused.value)


@pytest.mark.parametrize(("name", "model"), [("nodes", "SpectralEmbedding"), ("links", "MatrixFactorisation")])
def test_codes_of_one_graph_say_nothing_of_another(name: str, model: str, world: World, cell_on: MakeCell) -> None:
    stored = again(trained(cell_on(world(name), model)))
    with pytest.raises(BadValue, match="a code for each node of that graph"):
        ask(stored, [wide(4)])


# Arrays, as MLflow hands them over ----------------------------------------------------------------------------------


def arrays_of(graphs: list[Data]) -> dict[str, Any]:
    batch = Batch.from_data_list(graphs)
    return {"x": batch.x.numpy(), "edge_index": batch.edge_index.numpy(), "batch": batch.batch.numpy()}


def test_arrays_are_the_graphs_that_they_were_made_of(world: World, cell_on: MakeCell) -> None:
    stored = again(trained(cell_on(world("graphs"))))
    graphs = [bare(graph, "x", "edge_index") for graph in world("graphs").graphs[:6]]
    for found, graph in zip(graphs_of_arrays(stored, arrays_of(graphs)), graphs, strict=True):
        assert torch.equal(found.x, graph.x)
        assert torch.equal(found.edge_index, graph.edge_index)
    np.testing.assert_array_equal(
        GraphModel(stored).predict(arrays_of(graphs)), ask(stored, graphs).parts[0].outputs, strict=True
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": None}, "'no x'; allowed: batch (int64 [-1]), edge_index (int64 [2, -1]), x (float32 [-1, 3])"),
        ({"weights": np.zeros(3)}, "weights, which it does not take"),
        ({"x": np.zeros((4, 9))}, "float64 [4, 9]"),
        ({"x": np.array([["a"] * 3] * 4)}, "allowed: float32 [-1, 3]"),
        ({"edge_index": np.array([[0.5], [1.0]])}, "allowed: int64 [2, -1]"),
        ({"edge_index": np.array([[0], [4]])}, "a node in edge_index is 4; allowed: numbers from 0 to 3"),
        ({"edge_index": np.array([[0], [3]])}, "an edge between two graphs"),
        ({"batch": np.array([0, 0, 0])}, "with 3 in batch"),
        ({"batch": np.array([0, 2, 2, 2])}, "none left out"),
        ({"batch": np.array([1, 1, 0, 0])}, "rising"),
        ({"y": np.zeros(3)}, "rows of y"),
        ({"y": np.array([0, 1.5])}, "is '1.5'; allowed: whole numbers from 0 to 1, or -1 where unknown"),
        ({"y": np.array([0, -2])}, "is '-2'; allowed: whole numbers from 0 to 1"),
        ({"y": np.array([0, 2])}, "is '2'; allowed: whole numbers from 0 to 1"),
        ({"y": np.array([0, np.inf])}, "is 'inf'; allowed: whole numbers from 0 to 1"),
        ({"y": np.array(["a", "b"])}, "<U1 [2]'; allowed: one number for each"),
        ({"y": np.zeros((2, 3))}, "float64 [2, 3]'; allowed: one number for each"),
        ({"y": np.array([[0.0, 0.5], [1.0, 0.0]])}, "is '0.5'; allowed: 0 or 1, or NaN where unknown"),
        ({"graph_y": np.zeros(2)}, "graph_y, which it does not take"),
    ],
)
def test_arrays_of_another_form_are_refused(
    change: dict[str, Any], words: str, world: World, cell_on: MakeCell
) -> None:
    stored = again(trained(cell_on(world("graphs"))))
    given = {"x": np.zeros((4, 3)), "edge_index": np.array([[0, 2], [1, 3]]), "batch": np.array([0, 0, 1, 1])}
    assert len(graphs_of_arrays(stored, given)) == 2
    with pytest.raises(BadValue) as refused:
        graphs_of_arrays(stored, {name: one for name, one in {**given, **change}.items() if one is not None})
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("name", "label", "given", "wanted"),
    [
        ("graphs", "y", [1.0, np.nan], [1, -1]),
        ("graphs", "y", [[1], [0]], [[1], [0]]),
        ("graphs, labels", "y", [[1, 0, 1], [np.nan, 1, 0]], [[1, 0, 1], [np.nan, 1, 0]]),
        ("nodes", "y", [2, -1, 0, 1], [2, -1, 0, 1]),
        ("numbers", "y", [[0.5], [-7.0]], [[0.5], [-7.0]]),
        ("two levels", "graph_y", [[0.5], [np.nan]], [[0.5], [np.nan]]),
    ],
)
def test_labels_come_in_the_form_of_the_task(
    name: str, label: str, given: list[Any], wanted: list[Any], world: World, cell_on: MakeCell
) -> None:
    stored = again(trained(cell_on(world(name))))
    arrays = {"x": np.zeros((4, stored.sizes.in_channels)), "edge_index": np.array([[0, 2], [1, 3]])}
    arrays |= {"batch": np.array([0, 0, 1, 1])} if "batch" in stored.inputs else {}
    found = torch.cat([graph[label] for graph in graphs_of_arrays(stored, {**arrays, label: np.array(given)})])
    np.testing.assert_array_equal(found, np.array(wanted))


def test_number_beyond_single_precision_is_refused_in_one_way(world: World, cell_on: MakeCell) -> None:
    stored = again(trained(cell_on(world("graphs"))))
    given = {"x": np.full((2, 3), 1e300), "edge_index": np.array([[0], [1]]), "batch": np.array([0, 0])}
    with pytest.raises(BadValue, match=r"at \[0, 0\] is inf; allowed: finite numbers"):
        GraphModel(stored).predict(given)


def test_mlflow_is_told_what_goes_in(world: World, cell_on: MakeCell) -> None:
    model = GraphModel(again(trained(cell_on(world("two levels")))))
    with pytest.raises(BadValue, match=r"arrays by name: batch \(int64"):
        model.predict([1, 2, 3])
    graphs = [bare(graph, "x", "edge_index") for graph in world("two levels").graphs[:3]]
    found = model.predict(arrays_of(graphs), params={})
    assert {name: one.shape[1] for name, one in found.items()} == {"nodes": 2, "graphs": 1}


# Files of others ----------------------------------------------------------------------------------------------------


def edited(result: CellResult, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> bytes:
    tensors, about = decode_weights(result.files[schema.WEIGHTS_FILE], name="")
    change(about, tensors)
    return encode_weights(tensors, json.dumps(about).encode())


HUGE = 10**9
EDITS: dict[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "width": lambda about, _: about["sizes"].update(hidden_channels=HUGE),
    "classes": lambda about, _: about["sizes"].update(out_channels=HUGE),
    "text": lambda about, _: about["sizes"].update(in_channels="many"),
    "sizes": lambda about, _: about.pop("sizes"),
    "list": lambda about, _: about.update(settings=[]),
    "task type": lambda about, _: about["settings"].update(task_type="os.system"),
    "option": lambda about, _: about["model"]["options"].update(n_layers=-1),
    "many layers": lambda about, _: about["model"]["options"].update(n_layers=HUGE),
    "beyond numbers": lambda about, _: about["model"]["options"].update(n_layers=10**400),
    "other option": lambda about, _: about["model"]["options"].update(command="rm"),
    "inputs": lambda about, _: about.update(inputs={"x": "object [1]"}),
    "missing": lambda _, tensors: tensors.pop(next(iter(tensors))),
    "more": lambda _, tensors: tensors.update(more=np.zeros(1, dtype=np.float32)),
    "shape": lambda _, tensors: tensors.update({name: one[:1] for name, one in tensors.items()}),
}


@pytest.mark.parametrize("edit", EDITS)
def test_weights_that_do_not_fit_are_one_error_and_take_no_memory(edit: str, world: World, cell_on: MakeCell) -> None:
    content = edited(trained(cell_on(world("nodes"))), EDITS[edit])
    with pytest.raises(BadValue, match="weights that fit the model of their settings"):
        make_model(content, "model.safetensors", known)


@pytest.mark.parametrize("source", ["os:system", "own_nets:Plain", "gnz_track.models:Nothing", "by value (0123)"])
def test_code_that_is_not_known_is_not_looked_for(source: str, world: World, cell_on: MakeCell, tmp_path: Path) -> None:
    content = edited(trained(cell_on(world("nodes"))), lambda about, _: about["model"].update(source=source))
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelNotLoaded, match="nothing here has registered the code of 'GCN'"):
        _load_pyfunc(str(tmp_path))


def test_folder_without_weights_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelNotLoaded, match=r"no file model\.safetensors"):
        _load_pyfunc(str(tmp_path))


# Runs ---------------------------------------------------------------------------------------------------------------


def track(address: Address, cells: list[Cell], keep: str = "weights", sweep: str = "past") -> list[str]:
    """Train cells, write them, and return their runs in order."""
    remaining = find_remaining(Plan(cells=tuple(replace(cell, keep=keep) for cell in cells), skipped=()), address)
    found = run_sweep(remaining, Tracking(address=address, sweep=sweep), execute=run_inline)
    assert found.notices == ()
    return [str(run_id) for run_id in found.table["run_id"]]


@pytest.fixture
def run_id(address: Address, world: World, cell_on: MakeCell) -> str:
    return track(address, [cell_on(world("nodes"))])[0]


def file_of(address: Address, run_id: str) -> Path:
    return Path(find_place(address, read_run(address, run_id).artifacts)) / schema.WEIGHTS_FILE


def test_model_of_a_run_by_its_id_or_by_what_it_is(
    run_id: str, address: Address, world: World, cell_on: MakeCell
) -> None:
    track(address, [cell_on(world("nodes"), seed=1)], keep="predictions", sweep="other")
    data = bare(world("nodes").graphs[0], "x", "edge_index")
    by_id = gnz_track.load_model(run_id[:8], store=address)
    by_name = gnz_track.load_model(store=address, where={"task": "nodes", "model": "GCN"})
    last = gnz_track.load_model(run_id, store=address, state="last")
    assert torch.equal(by_id(data), by_name(data))
    assert torch.equal(by_id(data), last(data)), "the last epoch is the selected one"
    with pytest.raises(BadValue, match="0 runs with weights of 1 finished run"):
        gnz_track.load_model(store=address, where={"seed": 1})
    with pytest.raises(UnknownName, match="unknown model 'GNC'; did you mean 'GCN'"):
        gnz_track.load_model(store=address, where={"model": "GNC"})
    with pytest.raises(UnknownName, match="did you mean 'last'"):
        gnz_track.load_model(run_id, store=address, state="lst")


def test_several_models_that_fit_are_named(run_id: str, address: Address, world: World, cell_on: MakeCell) -> None:
    [other] = track(address, [cell_on(world("nodes"), seed=1)], keep="weights", sweep="other")
    with pytest.raises(BadValue, match="2 runs with weights") as refused:
        gnz_track.load_model(store=address, where={"model": "GCN"})
    assert re.search(rf"{run_id[:12]} \(nodes GCN s0 of .*{other[:12]} \(nodes GCN s1 of other\)", str(refused.value))


def test_runs_without_weights_name_the_next_command(address: Address, world: World, cell_on: MakeCell) -> None:
    [run_id] = track(address, [cell_on(world("nodes"))], keep="predictions")
    with pytest.raises(ModelNotLoaded) as refused:
        gnz_track.load_model(run_id, store=address)
    assert run_id[:12] in str(refused.value)
    assert f"gnz reproduce {run_id[:12]} --keep weights --store" in str(refused.value)


def test_changed_cut_and_missing_files_are_told(run_id: str, address: Address) -> None:
    file = file_of(address, run_id)
    content = file.read_bytes()
    for other in (content[:-4], content[:-1] + bytes([content[-1] ^ 1]), b""):
        file.write_bytes(other)
        with pytest.raises(BadValue, match="digest mismatch") as refused:
            gnz_track.load_model(run_id, store=address)
        assert f"gnz reproduce {run_id[:12]} --keep weights" in str(refused.value)
    file.unlink()
    with pytest.raises(ModelNotLoaded, match=r"model/model\.safetensors is gone; make them: gnz reproduce"):
        gnz_track.load_model(run_id, store=address)


def test_model_of_a_user_runs_only_where_it_is_trusted(
    address: Address, world: World, cell_on: MakeCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    [run_id] = track(address, [cell_on(world("nodes"), own_nets.Plain)])
    monkeypatch.delitem(sys.modules, "own_nets")
    with pytest.raises(ModelNotLoaded) as refused:
        gnz_track.load_model(run_id, store=address)
    assert "code that the store names and nothing here has registered: 'own_nets:Plain' in" in str(refused.value)
    assert "trust=True" in str(refused.value)
    assert "own_nets" not in sys.modules
    assert type(gnz_track.load_model(run_id, store=address, trust=True)).__name__ == "Plain"


def test_model_of_a_user_that_is_registered_here_is_known(
    address: Address, world: World, cell_on: MakeCell, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = cell_on(world("nodes"), own_nets.Plain)
    [run_id] = track(address, [cell])
    monkeypatch.setattr(MODELS, "rows", lambda: [cell.model])
    stored = open_model(run_id, address)
    found = predict(stored, open_frozen(cell.data))
    assert found.scores["accuracy"] == read_run(address, run_id).metrics["test/accuracy"]


ELSEWHERE = """
import json, sys
import mlflow
import numpy as np
mlflow.set_tracking_uri(sys.argv[1])
model = mlflow.pyfunc.load_model(f"runs:/{sys.argv[2]}/model")
given = {name: np.array(value, dtype=kind) for name, (kind, value) in json.loads(sys.argv[3]).items()}
print(json.dumps(model.predict(given).tolist()))
try:
    model.predict({**given, "x": given["x"][:, :2]})
except mlflow.MlflowException as error:
    print("refused" if "shape" in str(error) else error)
"""


def test_mlflow_loads_the_model_in_another_process(run_id: str, address: Address) -> None:
    x, edges = np.arange(20.0).reshape(5, 4) / 20, np.array([[0, 1, 2], [1, 2, 3]])
    given = json.dumps({"x": ("float32", x.tolist()), "edge_index": ("int64", edges.tolist())})
    call = [sys.executable, "-c", ELSEWHERE, address.uri, run_id, given]
    lines = subprocess.run(call, capture_output=True, text=True, check=True).stdout.splitlines()
    stored = open_model(run_id, address)
    expected = GraphModel(stored).predict({"x": x, "edge_index": edges})
    np.testing.assert_array_equal(np.array(json.loads(lines[-2]), dtype=np.float32), expected, strict=True)
    assert lines[-1] == "refused"


def test_run_tells_the_interface_that_it_has_a_model(run_id: str, address: Address) -> None:
    [told] = json.loads(read_run(address, run_id).tags[schema.LOGGED_MODELS])
    assert told["artifact_path"] == "model"
    assert (file_of(address, run_id).parent / "MLmodel").is_file()
