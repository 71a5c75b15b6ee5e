"""The options of the built-in models: what each of them changes, and that without them nothing has changed."""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from fast_paths import watch_fast_forwards
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Batch, Data
from torch_geometric.nn import global_add_pool

from gnz_track.datasets.catalogue import TASKS
from gnz_track.datasets.preparation import prepare
from gnz_track.errors import BadValue
from gnz_track.models.building import Sizes, build, count_parameters
from gnz_track.models.catalogue import MODELS
from gnz_track.models.stack import JOINS, NORMS
from gnz_track.registry import import_target
from gnz_track.runs.run_one import run_one
from gnz_track.training.acceleration import SparseFeatures, accelerate, attach, sparsify
from gnz_track.training.acceleration.layers import FORWARDS
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, TaskType

IN, HIDDEN, OUT = 5, 6, 3
ENCODERS = ("GCN", "GAT", "GraphSAGE", "GraphTransformer", "MLP")
NAMES = (*ENCODERS, "GIN")
ATTENTIVE = ("GAT", "GraphTransformer")
Options = dict[str, Any]


def _make(name: str, *, in_channels: int = IN, seed: int = 0, **options: Any) -> Any:
    """Return the bare model, without the head of a task."""
    torch.manual_seed(seed)
    row = MODELS.get(name)
    sizes = Sizes(in_channels=in_channels, hidden_channels=HIDDEN, out_channels=OUT)
    return build(row, TaskType.node_cls if row.is_encoder else TaskType.graph_cls, sizes, options=options)


def _graph(n_nodes: int = 9, width: int = IN, seed: int = 0) -> Data:
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(n_nodes, (2, 3 * n_nodes), generator=generator)
    return Data(x=torch.randn(n_nodes, width, generator=generator), edge_index=edges)


def _batch(*sizes: int) -> Batch:
    return Batch.from_data_list([_graph(n, seed=number) for number, n in enumerate(sizes or (4, 5))])


def _run(model: nn.Module, data: Data, *, training: bool, seed: int = 5) -> tuple[Tensor, tuple[Any, ...], Tensor]:
    """Return output, gradients and the state of the generator afterwards."""
    torch.manual_seed(seed)
    out = model.train(training)(data)
    state = torch.get_rng_state()
    weights = torch.linspace(-1, 2, out.numel(), dtype=out.dtype).view_as(out).cos()
    return out, torch.autograd.grad((out * weights).sum(), list(model.parameters()), allow_unused=True), state


# Defaults -----------------------------------------------------------------------------------------------------------


def _drop(model: Any, h: Tensor) -> Tensor:
    return functional.dropout(h, model.dropout.p, model.training)


def _published_gin(model: Any, data: Data) -> Tensor:
    h = data.x
    for layer in model.layers:
        h = layer(h, data.edge_index)
    return model.head(global_add_pool(h, data.batch))


# What the published models compute, with the layers of the given one.
PUBLISHED: dict[str, Callable[[Any, Data], Tensor]] = {
    "GCN": lambda m, d: m.second(m.first(d.x, d.edge_index).relu(), d.edge_index),
    "GAT": lambda m, d: m.second(
        _drop(m, functional.elu(m.first(_drop(m, d.x), d.edge_index))),
        d.edge_index,
    ),
    "GraphSAGE": lambda m, d: m.second(_drop(m, m.first(d.x, d.edge_index).relu()), d.edge_index),
    "GraphTransformer": lambda m, d: m.second(_drop(m, m.first(d.x, d.edge_index).relu()), d.edge_index),
    "MLP": lambda m, d: m.second(_drop(m, m.first(d.x).relu())),
    "GIN": _published_gin,
}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_defaults_give_the_numbers_of_the_published_models(name: str, training: bool) -> None:  # noqa: FBT001
    class Published(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = _make(name)

        def forward(self, data: Data) -> Tensor:
            return PUBLISHED[name](self.inner, data)

    data = _batch()
    found, expected = _run(_make(name), data, training=training), _run(Published(), data, training=training)
    assert torch.equal(found[0], expected[0])
    assert all(map(torch.equal, found[1], expected[1]))
    assert torch.equal(found[2], expected[2])


LINEAR = ("weight", "bias")
NORMED = (*LINEAR, "running_mean", "running_var", "num_batches_tracked")
KEYS: dict[str, list[str]] = {
    "GCN": [f"{layer}.{key}" for layer in ("first", "second") for key in ("bias", "lin.weight")],
    "GAT": [f"{layer}.{key}" for layer in ("first", "second") for key in ("att_src", "att_dst", "bias", "lin.weight")],
    "GraphSAGE": [
        f"{layer}.{key}" for layer in ("first", "second") for key in ("lin_l.weight", "lin_l.bias", "lin_r.weight")
    ],
    "GraphTransformer": [
        f"{layer}.lin_{part}.{key}"
        for layer in ("first", "second")
        for part in ("key", "query", "value", "skip")
        for key in LINEAR
    ],
    "MLP": [f"{layer}.{key}" for layer in ("first", "second") for key in LINEAR],
    "GIN": [
        *(
            f"layers.{place}.{key}"
            for place in range(3)
            for key in (
                "eps",
                *(f"nn.{part}.{key}" for part, keys in ((0, LINEAR), (1, NORMED), (3, LINEAR)) for key in keys),
            )
        ),
        "head.weight",
        "head.bias",
    ],
}


@pytest.mark.parametrize("name", NAMES)
def test_saved_states_of_the_published_models_fit(name: str) -> None:
    assert list(_make(name).state_dict()) == KEYS[name]


def test_further_layers_are_saved_under_names_of_their_own() -> None:
    state = _make("MLP", n_layers=4, norm="layer", jumping="max").state_dict()
    layers = ["first", "second", "layer_3", "layer_4", "readout", *(f"norms.{place}" for place in range(4))]
    assert list(state) == [f"{layer}.{key}" for layer in layers for key in LINEAR]


# What each option changes -------------------------------------------------------------------------------------------

MORE = {"GCN": {"act"}, "GraphSAGE": {"act", "aggr"}}
# Parameters of a layer of (in, all heads together).
LAYERS: dict[str, Callable[[int, int], int]] = {
    "GCN": lambda i, o: i * o + o,
    "GAT": lambda i, o: i * o + 3 * o,
    "GraphSAGE": lambda i, o: 2 * i * o + o,
    "GraphTransformer": lambda i, o: 4 * (i * o + o),
    "MLP": lambda i, o: i * o + o,
    "GIN": lambda i, o: i * o + o + o * o + o + 1,
}


def _count(name: str, *, n_layers: int, norm: str, jumping: str, heads: int = 1) -> int:
    layer, width = LAYERS[name], heads * HIDDEN
    entering = [IN] + [width] * (n_layers - 1)
    reads_out = jumping != "none" or name == "GIN"
    leaving = [width] * (n_layers - 1) + [width if reads_out else OUT]
    n_hidden = n_layers if reads_out else n_layers - 1
    total = sum(map(layer, entering, leaving)) + (0 if norm == "none" else n_hidden * 2 * width)
    return total + (((n_layers if jumping == "cat" else 1) * width + 1) * OUT if reads_out else 0)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_as_many_as_the_options_say(name: str) -> None:
    heads = (1, 3) if name in ATTENTIVE else (1,)
    for n_layers, norm, jumping, n_heads in itertools.product((1, 3), NORMS, JOINS, heads):
        options: Options = {"n_layers": n_layers, "norm": norm, "jumping": jumping}
        options |= {"heads": n_heads} if name in ATTENTIVE else {}
        assert count_parameters(_make(name, **options)) == _count(name, **options), options


@pytest.mark.parametrize("name", NAMES)
def test_every_option_has_its_default_in_the_signature(name: str) -> None:
    parameters = inspect.signature(import_target(MODELS.get(name).target)).parameters
    options = {key: item for key, item in parameters.items() if item.kind is item.KEYWORD_ONLY}
    more = {"heads"} if name in ATTENTIVE else MORE.get(name, set())
    assert set(options) == {"n_layers", "dropout", "norm", "jumping"} | more
    same, plain = _make(name, **{key: item.default for key, item in options.items()}), _make(name)
    assert all(map(torch.equal, same.parameters(), plain.parameters()))


@pytest.mark.parametrize("name", sorted(set(ENCODERS) - {"MLP"}))
@pytest.mark.parametrize("jumping", JOINS)
def test_a_node_sees_as_far_as_there_are_layers(name: str, jumping: str) -> None:
    chain = torch.stack([torch.arange(6), torch.arange(1, 7)])
    for n_layers in (1, 3, 5):
        model = _make(name, n_layers=n_layers, jumping=jumping, norm="layer").double().eval()
        x = torch.randn(7, IN, dtype=torch.float64, generator=torch.Generator().manual_seed(1), requires_grad=True)
        (gradient,) = torch.autograd.grad(model(Data(x=x, edge_index=chain))[-1].square().sum(), x)
        assert gradient.any(dim=1).tolist() == [6 - place <= n_layers for place in range(7)]


def _outputs_of(model: nn.Module, modules: list[nn.Module], data: Data) -> list[Tensor]:
    """Return what some modules gave in one pass."""
    outputs: list[Tensor] = []
    hooks = [module.register_forward_hook(lambda *given: outputs.append(given[2])) for module in modules]
    model(data)
    for hook in hooks:
        hook.remove()
    return outputs


@pytest.mark.parametrize("name", NAMES)
def test_norms_are_over_nodes_or_over_numbers(name: str) -> None:
    kinds = {"batch": (nn.BatchNorm1d, 0), "layer": (nn.LayerNorm, 1)}
    for norm, (kind, dim) in kinds.items():
        model = _make(name, n_layers=3, norm=norm).double()
        norms = [module for module in model.modules() if isinstance(module, kind)]
        data = _batch(20, 30)
        data.x = data.x.double()
        outputs = _outputs_of(model, norms, data)
        assert len(outputs) == (3 if name == "GIN" else 2)
        for output in outputs:
            torch.testing.assert_close(output.mean(dim=dim), torch.zeros_like(output.mean(dim=dim)))


@pytest.mark.parametrize("name", ENCODERS)
def test_jumping_reads_all_layers_normed_and_then_bent(name: str) -> None:
    data = _graph()
    for jumping, join in (("cat", lambda h: torch.cat(h, dim=1)), ("max", lambda h: torch.stack(h).amax(dim=0))):
        model = _make(name, n_layers=3, jumping=jumping, norm="layer").eval()
        for parameter in model.norms.parameters():
            nn.init.normal_(parameter)
        outputs = _outputs_of(model, [model.first, model.second, model.layer_3], data)
        normed = [norm(h) for norm, h in zip(model.norms, outputs, strict=True)]
        codes = [functional.elu(h) if name == "GAT" else h.relu() for h in normed]
        torch.testing.assert_close(model(data), model.readout(join(codes)))


def test_gin_sums_all_layers_over_a_graph() -> None:
    data = _batch()
    for jumping, join in (("cat", lambda h: torch.cat(h, dim=1)), ("max", lambda h: torch.stack(h).amax(dim=0))):
        model = _make("GIN", n_layers=4, jumping=jumping).eval()
        codes = join(_outputs_of(model, list(model.layers), data))
        torch.testing.assert_close(model(data), model.head(global_add_pool(codes, data.batch)))


@pytest.mark.parametrize("name", NAMES)
def test_dropout_is_between_all_layers_and_while_training_only(name: str) -> None:
    data = _batch()
    for jumping, p in itertools.product(JOINS, (0.0, 0.5)):
        model = _make(name, n_layers=4, dropout=p, jumping=jumping)
        drops = _outputs_of(model.train(), [model.dropout], data) if p else []
        n_before = 4 if name in ("GAT", "GIN") or jumping != "none" else 3
        assert len(drops) == (n_before + (name == "GAT" and jumping != "none") if p else 0)
        assert torch.equal(model(data), model(data)) is (p == 0.0)
        model.eval()
        assert torch.equal(model(data), model(data))


@pytest.mark.parametrize("name", ATTENTIVE)
def test_heads_and_dropout_reach_the_attention_of_every_layer(name: str) -> None:
    model = _make(name, n_layers=3, heads=5, dropout=0.25)
    layers = [model.first, model.second, model.layer_3]
    assert [layer.heads for layer in layers] == [5, 5, 1]
    assert [layer.dropout for layer in layers] == [0.25] * 3
    assert _make(name, n_layers=2, heads=5, jumping="cat").second.heads == 5


@pytest.mark.parametrize("name", sorted(set(ENCODERS) - {"GAT", "GraphTransformer"}))
def test_a_single_layer_is_nothing_but_the_layer(name: str) -> None:
    model, data = _make(name, n_layers=1, dropout=0.9, norm="batch"), _graph()
    given = (data.x,) if name == "MLP" else (data.x, data.edge_index)
    assert torch.equal(model(data), model.first(*given))


# Values that are refused --------------------------------------------------------------------------------------------

NAN = float("nan")
COUNT, PROBABILITY = "a whole number from 1 upwards", "a number from 0 up to but not 1"
WRONG: dict[str, tuple[tuple[Any, ...], str]] = {
    "n_layers": ((0, -1, 2.0, "2", True), COUNT),
    "heads": ((0, -3, 1.5, "8", True), COUNT),
    "dropout": ((1.5, 1.0, 1, -0.1, NAN, float("inf"), "0.5", False), PROBABILITY),
    "norm": (("foo", "Batch", "", 1, None), "none, batch, layer"),
    "jumping": (("lstm", "first", True), "none, cat, max, last"),
}


@pytest.mark.parametrize("name", NAMES)
def test_wrong_values_are_refused_with_what_is_allowed(name: str) -> None:
    for option, (values, allowed) in WRONG.items():
        if option == "heads" and name not in ATTENTIVE:
            with pytest.raises(BadValue, match=f"hyperparameter of {name} is 'heads'; allowed: n_layers, dropout,"):
                _make(name, heads=2)
            continue
        for value in values:
            with pytest.raises(BadValue) as caught:
                _make(name, **{option: value})
            assert str(caught.value).startswith(f"{option} is {value!r}; allowed: {allowed}.")


def test_whole_numbers_are_probabilities_too() -> None:
    assert _make("GAT", dropout=0).first.dropout == 0


# Any combination ----------------------------------------------------------------------------------------------------


@st.composite
def _choices(draw: Callable[..., Any]) -> tuple[str, Options]:
    """Draw a model and some of its options."""
    name = draw(st.sampled_from(NAMES))
    values = {
        "n_layers": st.integers(1, 6),
        "dropout": st.sampled_from([0, 0.0, 0.3, 0.9]),
        "norm": st.sampled_from(list(NORMS)),
        "jumping": st.sampled_from(list(JOINS)),
    }
    values |= {"heads": st.integers(1, 4)} if name in ATTENTIVE else {}
    return name, draw(st.fixed_dictionaries({}, optional=values))


@settings(max_examples=30, deadline=None)
@given(choice=_choices(), sizes=st.lists(st.integers(1, 6), min_size=2, max_size=4), training=st.booleans())
def test_any_options_give_numbers_for_every_row(
    choice: tuple[str, Options], sizes: list[int], *, training: bool
) -> None:
    name, options = choice
    data = _batch(*sizes)
    for task_type in MODELS.get(name).task_types:
        model = build(
            MODELS.get(name),
            task_type,
            Sizes(in_channels=IN, hidden_channels=HIDDEN, out_channels=OUT, n_graph_targets=2),
            options=options,
        ).train(training)
        data.edge_label_index = data.edge_index[:, :4]
        n_rows, out = {
            **dict.fromkeys((TaskType.node_cls, TaskType.node_reg), (sum(sizes), OUT)),
            **dict.fromkeys((TaskType.edge_cls, TaskType.edge_reg), (4, OUT)),
            TaskType.link_pred: (sum(sizes), HIDDEN),
        }.get(task_type, (len(sizes), OUT))
        rows = model.encode(data) if task_type is TaskType.link_pred else model(data)
        if task_type is TaskType.multi_task:
            assert rows[0].shape == (sum(sizes), OUT)
            rows, out = rows[1], 2
        assert rows.shape == (n_rows, out)
        assert rows.isfinite().all()


# Acceleration -------------------------------------------------------------------------------------------------------

STACKS: tuple[Options, ...] = (
    {},
    {"n_layers": 1},
    {"n_layers": 4},
    {"n_layers": 3, "norm": "batch", "dropout": 0.4},
    {"n_layers": 3, "norm": "layer", "jumping": "cat"},
    {"n_layers": 4, "norm": "batch", "jumping": "max", "dropout": 0.2},
)


def _run_fast(model: nn.Module, data: Batch, *, training: bool) -> Any:
    """Return what an accelerated copy gives, all of whose layers take their fast path."""
    n_fast = sum(type(layer) in FORWARDS for layer in model.modules())
    with watch_fast_forwards() as calls:
        found = _run(accelerate(copy.deepcopy(model)), data, training=training)
    assert len(calls) == n_fast, "a layer took the ordinary path, so nothing was compared"
    return found


# Kernels compute in single precision, Torch in both.
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 3e-4)], ids=str)
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", NAMES)
def test_accelerated_stacks_give_the_same_numbers(
    name: str,
    is_sparse: bool,  # noqa: FBT001
    dtype: torch.dtype,
    tolerance: float,
) -> None:
    width = 40 if is_sparse else IN
    plain = Batch.from_data_list([_graph(n, width, seed=n) for n in (12, 9, 1)])
    plain.x = (plain.x * (plain.x > 1.6) if is_sparse else plain.x).to(dtype)
    fast = copy.copy(plain)
    fast.edge_index = attach(plain.edge_index.clone(), plain.num_nodes)
    fast.x = sparsify(plain.x)
    assert isinstance(fast.x, SparseFeatures) is is_sparse
    more: tuple[Options, ...] = ({"n_layers": 3, "heads": 3, "jumping": "cat"},) if name in ATTENTIVE else ()
    for options, training in itertools.product((*STACKS, *more), (True, False)):
        model = _make(name, in_channels=width, **options).to(dtype)
        expected, found = _run(model, plain, training=training), _run_fast(model, fast, training=training)
        for mine, theirs in zip((found[0], *found[1]), (expected[0], *expected[1]), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=tolerance, atol=tolerance)
        assert torch.equal(found[2], expected[2]), "the generator is elsewhere afterwards"


# Through a whole cell -----------------------------------------------------------------------------------------------

CELLS: dict[str, dict[str, Options]] = {
    "planted_partition": {
        "GCN": {"n_layers": 4, "norm": "batch", "dropout": 0.3, "jumping": "cat"},
        "GAT": {"n_layers": 3, "heads": 2, "norm": "layer"},
        "MLP": {"n_layers": 1},
    },
    "digits_regions": {"GIN": {"n_layers": 2, "norm": "layer", "dropout": 0.5, "jumping": "cat"}},
    "graph_families": {
        "GIN": {"n_layers": 4, "norm": "none", "jumping": "max"},
        "GraphSAGE": {"n_layers": 3, "norm": "batch", "jumping": "max"},
    },
    "les_miserables": {
        "GraphSAGE": {"n_layers": 1, "dropout": 0.0},
        "GraphTransformer": {"n_layers": 3, "heads": 2, "norm": "batch", "jumping": "cat"},
    },
    "knn_tour": {
        "GAT": {"n_layers": 2, "jumping": "max", "dropout": 0.1},
        "MLP": {"n_layers": 3, "norm": "layer"},
    },
}


def _cell(task: str, model: str, options: Options, home: Path) -> Cell:
    dataset = prepare(task, seed=0, home=home)
    return Cell(
        task=TASKS.get(task),
        model=MODELS.get(model),
        seed=0,
        protocol=PROTOCOLS.get("graphnetz"),
        epochs=1,
        dataset_digest=dataset.digest,
        data=str(dataset.folder),
        hyperparameters=tuple(sorted({"hidden_channels": 8, **options}.items())),
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.mark.parametrize("task", CELLS)
def test_cells_train_with_options(task: str, home: Path) -> None:
    for model, options in CELLS[task].items():
        results = [run_one(_cell(task, model, given, home)) for given in ({}, options)]
        assert [result.failure for result in results] == [None, None], model
        assert all(torch.tensor(values).isfinite().all() for values in results[1].series.values())
        assert results[0].series["train/loss"] != results[1].series["train/loss"]
        assert results[0].n_parameters != results[1].n_parameters


def test_the_cells_are_of_all_kinds() -> None:
    # What several levels at once are trained with is tested with the runs.
    assert {TASKS.get(task).task_type for task in CELLS} == set(TaskType) - {
        TaskType.multi_task,
        TaskType.node_reg,
        TaskType.edge_reg,
    }
    assert {model for models in CELLS.values() for model in models} == set(NAMES)


def test_a_cell_with_a_wrong_value_fails_and_says_why(home: Path) -> None:
    failure = run_one(_cell("planted_partition", "GCN", {"n_layers": 0}, home)).failure
    assert failure is not None
    assert (failure.kind, failure.message) == ("BadValue", f"n_layers is 0; allowed: {COUNT}.")
