"""Objectives: losses by the book, labels that stay hidden, negatives that are false, outputs that are checked."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from gnz_track.errors import ModelInvalid
from gnz_track.problems.graph import GraphObjective
from gnz_track.problems.triples import TripleObjective
from gnz_track.training.losses import LOSSES

NAN = math.nan
Toys = dict[str, Callable[[], Any]]


def _generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class _Spy(nn.Module):
    """Records the labels, and whether it was training, at every call; answers with zeros of a given width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(width))
        self.seen: list[Data] = []

    def forward(self, data: Data) -> Tensor:
        self.seen.append(data)
        n_rows = data.num_graphs if "batch" in data else data.num_nodes
        return self.bias.expand(n_rows, -1)


@pytest.mark.parametrize("name", ["graph_classes", "graph_labels", "graph_numbers"])
def test_a_model_sees_labels_of_training_graphs_only(toys: Toys, name: str) -> None:
    toy = toys[name]()
    objective: GraphObjective = toy.objective
    spy = _Spy(objective.labels.size(1) if objective.labels.dim() > 1 else 2)
    for batch in objective.batches(_generator()):
        objective.loss(spy, batch)
    shown = torch.cat([data.y for data in spy.seen])
    rows = [str(row) for row in objective.labels.tolist()]
    assert sorted(map(str, shown.tolist())) == sorted(rows)
    spy.seen.clear()
    prediction = objective.predict(spy)
    assert prediction.size(0) == objective.held_out.numel() == sum(data.num_graphs for data in spy.seen)
    assert all("y" not in data for data in spy.seen)


@pytest.mark.parametrize("name", ["graph_classes", "graph_labels", "graph_numbers"])
def test_labels_stay_with_their_graphs(toys: Toys, name: str) -> None:
    objective: GraphObjective = toys[name]().objective
    features = objective.graphs.node["x"].view(40, 4, 3)
    label_of = {
        str(features[g].tolist()): row.tolist() for g, row in zip(objective.train, objective.labels, strict=True)
    }
    n_seen = 0
    for batch in objective.batches(_generator(3)):
        for x, row in zip(batch.x.view(-1, 4, 3), batch.y, strict=True):
            assert str(label_of[str(x.tolist())]) == str(row.tolist())
            n_seen += 1
    assert n_seen == objective.train.numel()


def test_held_out_graphs_are_predicted_in_their_order(toys: Toys) -> None:
    objective: GraphObjective = toys["graph_classes"]().objective

    class First(nn.Module):
        def forward(self, data: Data) -> Tensor:
            return data.x[data.ptr[:-1]]

    expected = objective.graphs.node["x"].view(40, 4, 3)[objective.held_out, 0]
    assert torch.equal(objective.predict(First()), expected)


def test_batches_are_shuffled_by_their_generator_alone(toys: Toys) -> None:
    objective: GraphObjective = toys["graph_numbers"]().objective

    def order(seed: int) -> list[list[float]]:
        torch.manual_seed(seed + 1)
        return [batch.x[:, 1].tolist() for batch in objective.batches(_generator(seed))]

    torch.manual_seed(0)
    assert order(1) == order(1) != order(2)
    assert [len(batch) // 4 for batch in order(1)] == [10, 10, 4]
    generator = _generator(1)
    first, second = ([batch.x[:, 1].tolist() for batch in objective.batches(generator)] for _ in range(2))
    assert first != second


class _Writer(nn.Module):
    """A careless model that replaces the features of its input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, 2)

    def forward(self, data: Data) -> Tensor:
        data.x = data.x * 2
        n_rows = data.num_graphs if "batch" in data else data.num_nodes
        return self.linear(data.x[:n_rows])

    encode = forward

    def decode(self, codes: Tensor, pairs: Tensor, relations: Tensor | None = None) -> Tensor:
        scores = (codes[pairs[0]] * codes[pairs[1]]).sum(1)
        return scores if relations is None else scores * (1 + relations)


@pytest.mark.parametrize("name", ["nodes", "graph_classes", "links", "triples"])
def test_what_a_model_sets_in_its_input_is_gone_the_next_time(toys: Toys, name: str) -> None:
    objective = toys[name]().objective
    model = _Writer(3 if name.startswith("graph") else 6)
    first = objective.predict(model)
    losses = [[objective.loss(model, batch)[0].item() for batch in objective.batches(_generator())] for _ in range(2)]
    assert losses[0] == losses[1]
    assert torch.equal(objective.predict(model), first)


def test_losses_of_classes_labels_and_numbers() -> None:
    outputs = torch.randn(5, 3, generator=_generator())
    classes = torch.tensor([0, 2, 1, 1, 0])
    assert LOSSES["classes"][""](outputs, classes) == functional.cross_entropy(outputs, classes)
    labels = torch.tensor([[0.0, 1.0, NAN], [1.0, NAN, NAN], [NAN] * 3, [1.0] * 3, [0.0] * 3])
    terms = [
        functional.softplus(outputs[i, j]) - labels[i, j] * outputs[i, j]
        for i, j in itertools.product(range(5), range(3))
        if not labels[i, j].isnan()
    ]
    torch.testing.assert_close(LOSSES["labels"][""](outputs, labels), torch.stack(terms).mean())
    squares = (outputs - labels)[~labels.isnan()].square()
    torch.testing.assert_close(LOSSES["numbers"][""](outputs, labels), squares.mean())


@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_a_batch_without_any_observed_label_teaches_nothing(kind: str) -> None:
    outputs = torch.randn(4, 2, requires_grad=True)
    loss = LOSSES[kind][""](outputs, torch.full((4, 2), NAN))
    (gradient,) = torch.autograd.grad(loss, outputs)
    assert loss.item() == 0.0
    assert not gradient.any()


def _loss(objective: Any, model: nn.Module) -> float:
    ((loss, _),) = [objective.loss(model, batch) for batch in objective.batches(_generator())]
    return loss.item()


def test_the_loss_of_nodes_is_that_of_training_nodes(toys: Toys) -> None:
    toy = toys["nodes"]()
    model = toy.model().eval()
    logits = model(toy.objective.data)[toy.objective.rows]
    assert _loss(toy.objective, model) == functional.cross_entropy(logits, toy.objective.labels).item()


def test_the_loss_of_links_is_that_of_training_pairs(toys: Toys) -> None:
    toy = toys["links"]()
    model = toy.model()
    codes = model.encode(toy.objective.data)
    logits = (codes[toy.objective.pairs[0]] * codes[toy.objective.pairs[1]]).sum(1)
    expected = functional.binary_cross_entropy_with_logits(logits, toy.objective.labels)
    assert _loss(toy.objective, model) == pytest.approx(expected.item())


def test_a_step_takes_as_many_pairs_as_told_and_an_epoch_all(toys: Toys) -> None:
    toy = toys["links"]()
    objective, model = replace(toy.objective, batch_size=32), toy.model().eval()
    batches = list(objective.batches(torch.Generator().manual_seed(0)))
    assert [batch.scored_pairs.numel() for batch in batches] == [32, 32, 32, 4]
    assert torch.cat([batch.scored_pairs for batch in batches]).sort().values.tolist() == list(range(100))
    found = [objective.loss(model, batch) for batch in batches]
    mean = sum(float(loss.detach()) * size for loss, size in found) / sum(size for _, size in found)
    assert mean == pytest.approx(_loss(toy.objective, model))
    other = next(objective.batches(torch.Generator().manual_seed(1)))
    assert not torch.equal(other.scored_pairs, batches[0].scored_pairs)


def test_the_loss_of_triples_wants_true_ones_high_and_false_ones_low(toys: Toys) -> None:
    toy = toys["triples"]()
    objective: TripleObjective = toy.objective
    ((pairs, relations),) = objective.batches(_generator())
    n = objective.triples.size(1)
    assert torch.equal(torch.stack([pairs[0, :n], relations[:n], pairs[1, :n]]), objective.triples)
    assert torch.equal(torch.stack([pairs[0, n:], relations[n:]]), objective.triples[:2])
    model = toy.model()
    logits = model.decode(model.encode(objective.data), pairs, relations)
    expected = torch.cat([functional.softplus(-logits[:n]), functional.softplus(logits[n:])]).mean()
    assert objective.loss(model, (pairs, relations))[0].item() == pytest.approx(expected.item(), rel=1e-5)


Triple = tuple[int, int, int]


def _objective(n_nodes: int, n_relations: int, triples: list[Triple]) -> TripleObjective:
    return TripleObjective(Data(num_nodes=n_nodes), torch.tensor(triples).t(), n_relations)


def _false(objective: TripleObjective, seed: int) -> list[Triple]:
    ((pairs, relations),) = objective.batches(_generator(seed))
    n = objective.triples.size(1)
    return list(zip(pairs[0, n:].tolist(), relations[n:].tolist(), pairs[1, n:].tolist(), strict=True))


@settings(deadline=None, max_examples=80)
@given(
    n_nodes=st.integers(1, 6),
    places=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 1), st.integers(0, 99)), min_size=1, max_size=40),
    seed=st.integers(0, 99),
)
def test_false_tails_are_false_unless_all_are_true(n_nodes: int, places: list[Triple], seed: int) -> None:
    triples = [(h % n_nodes, r, t % n_nodes) for h, r, t in places]
    for head, relation, tail in _false(_objective(n_nodes, 2, triples), seed):
        is_unavoidable = all((head, relation, node) in triples for node in range(n_nodes))
        assert (head, relation, tail) not in triples or is_unavoidable


def test_the_only_false_tail_is_found() -> None:
    # 199 of 200 tails are true: drawing at random would miss the last one nearly always.
    triples = [(0, 0, tail) for tail in range(200) if tail != 77]
    assert set(_false(_objective(200, 1, triples), 0)) == {(0, 0, 77)}


def test_false_tails_are_drawn_anew_every_epoch_and_evenly() -> None:
    objective = _objective(10, 1, [(0, 0, 0)] * 400)
    first, second = _false(objective, 0), _false(objective, 1)
    assert first == _false(objective, 0) != second
    counts = torch.bincount(torch.tensor([tail for *_, tail in first + second]), minlength=10)
    assert counts[0] == 0
    assert counts[1:].min() > 50


WRONG: dict[str, tuple[Callable[[Data], Any], str]] = {
    "too few rows": (lambda data: data.x[:3], r"shape \(3, 6\)"),
    "a vector": (lambda data: data.x[:, 0], r"shape \(40,\)"),
    "three dimensions": (lambda data: data.x.unsqueeze(2), r"shape \(40, 6, 1\)"),
    "a pair": (lambda data: (data.x, data.x), "a tuple"),
    "nothing": (lambda data: None, "a NoneType"),  # noqa: ARG005  (nothing is made of it)
}


class _Returning(nn.Module):
    def __init__(self, answer: Callable[[Data], Any]) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, data: Data) -> Any:
        return self.answer(data)

    encode = forward

    def decode(self, codes: Tensor, *_: Tensor) -> Tensor:
        return codes.sum(1)


@pytest.mark.parametrize("name", ["nodes", "links", "triples"])
@pytest.mark.parametrize(("answer", "found"), WRONG.values(), ids=WRONG)
def test_outputs_of_another_shape_are_refused(toys: Toys, name: str, answer: Callable[[Data], Any], found: str) -> None:
    objective = toys[name]().objective
    with pytest.raises(ModelInvalid, match=found + r" where \[40, channels\] was expected"):
        _loss(objective, _Returning(answer))


def test_a_row_per_node_is_refused_where_graphs_are_scored(toys: Toys) -> None:
    objective = toys["graph_classes"]().objective
    batch = next(objective.batches(_generator()))
    with pytest.raises(ModelInvalid, match=r"shape \(40, 3\) where \[10, channels\].*multi_task_factory"):
        objective.loss(_Returning(lambda data: data.x), batch)
