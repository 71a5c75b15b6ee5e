"""A layer of PyG and its accelerated twin, observed side by side: what both give, and where they differ.

An observation is everything that a user could see of a layer: its output, its gradients, the gradients of those, the
state of the generator afterwards, or the error that it raised. :func:`try_out` compares the two, and tells whether the
accelerated one was fast or went PyG's own way.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from fast_paths import watch_fast_forwards
from torch import Tensor, nn
from torch_geometric.nn import (
    APPNP,
    ChebConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GINEConv,
    SAGEConv,
    SGConv,
    TransformerConv,
)

from gnz_track.training.acceleration import accelerate, attach, sparsify
from gnz_track.training.lent import lend

WIDTH, OUT, N_NODES = 5, 4, 12
TOLERANCES = {torch.float64: 1e-10, torch.float32: 2e-4, torch.bfloat16: 0.0, torch.float16: 0.0}


def random_edges(n_nodes: int, n_edges: int, seed: int) -> Tensor:
    return torch.randint(n_nodes, (2, n_edges), generator=torch.Generator().manual_seed(seed))


def random_features(n_nodes: int, width: int, seed: int = 5) -> Tensor:
    return torch.randn(n_nodes, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# Three of twelve nodes are isolated; loops, twice at a node; an edge three times.
EDGES = torch.cat([random_edges(9, 30, seed=1), torch.tensor([[2, 2, 7, 0, 0, 0], [2, 2, 7, 1, 1, 1]])], dim=1)
GRAPHS: dict[str, tuple[int, Tensor]] = {
    "loops, doubles, isolated nodes": (N_NODES, EDGES),
    "a directed chain": (6, torch.stack([torch.arange(5), torch.arange(1, 6)])),
    "both directions": (8, torch.cat([(e := random_edges(8, 12, seed=2)), e.flip(0)], dim=1)),
    "no edges": (3, torch.zeros(2, 0, dtype=torch.int64)),
    "one node": (1, torch.zeros(2, 0, dtype=torch.int64)),
    "one node with three loops": (1, torch.zeros(2, 3, dtype=torch.int64)),
    "no nodes": (0, torch.zeros(2, 0, dtype=torch.int64)),
    "a star": (7, torch.stack([torch.arange(1, 7), torch.zeros(6, dtype=torch.int64)])),
    "complete": (5, torch.cartesian_prod(torch.arange(5), torch.arange(5)).t()),
}
BOTH = (True, False)
# What a layer can be built with, and still be fast.
BUILT: dict[type, dict[str, tuple[Any, ...]]] = {
    GCNConv: {"bias": BOTH},
    SAGEConv: {"aggr": ("mean", "max"), "root_weight": BOTH, "normalize": BOTH, "bias": BOTH},
    GINConv: {"eps": (0.0, 0.3), "train_eps": BOTH},
    GINEConv: {"eps": (0.0, 0.3), "train_eps": BOTH, "edge_dim": (None, 3)},
    GATConv: {
        "heads": (1, 3),
        "concat": BOTH,
        "dropout": (0.0, 0.6),
        "residual": BOTH,
        "bias": BOTH,
        "add_self_loops": BOTH,
    },
    GATv2Conv: {"heads": (1, 3), "concat": BOTH, "dropout": (0.0, 0.6), "residual": BOTH, "share_weights": BOTH},
    TransformerConv: {"heads": (1, 3), "concat": BOTH, "dropout": (0.0, 0.6), "root_weight": BOTH, "bias": BOTH},
    SGConv: {"K": (1, 3), "bias": BOTH},
    APPNP: {"K": (1, 3), "alpha": (0.0, 0.2)},
    ChebConv: {"K": (1, 2, 4), "normalization": ("sym", "rw", None), "bias": BOTH},
}
LAYERS = tuple(BUILT)
# Those with heads and dropout of their own.
ATTENTION = (GATConv, GATv2Conv, TransformerConv)
# What a layer has to be told, and the trials of all layers leave open.
_NEEDED: dict[type, dict[str, Any]] = {APPNP: {"K": 2, "alpha": 0.1}, ChebConv: {"K": 3}, SGConv: {"K": 2}}


class Fed(nn.Module):
    """A layer that is given features of edges, made of the edges, wherever it is given edges."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def reset_parameters(self) -> None:
        self.layer.reset_parameters()

    def forward(self, x: Any, edge_index: Any, *more: Any, **by_name: Any) -> Any:
        width = x.size(-1) if self.layer.lin is None else 3
        places = torch.arange(width, dtype=x.dtype) + edge_index[0].to(x.dtype)[:, None] * 0.7
        return self.layer(x, edge_index, (places - edge_index[1].to(x.dtype)[:, None]).cos(), *more, **by_name)


def make(cls: type, width: int = WIDTH, out: int = OUT, *, seed: int = 0, **options: Any) -> Any:
    """Build a layer whose constants are not zero, which would hide mistakes."""
    torch.manual_seed(seed)
    options = {**_NEEDED.get(cls, {}), **options}
    if cls in {GINConv, GINEConv}:
        layer = cls(nn.Sequential(nn.Linear(width, 6), nn.Tanh(), nn.Dropout(0.3), nn.Linear(6, out)), **options)
    else:
        layer = cls(**options) if cls is APPNP else cls(width, out, **options)
    for parameter in layer.parameters():
        if parameter.dim() < 2:
            nn.init.normal_(parameter)
    return (Fed(layer) if cls is GINEConv else layer).double()


def built(cls: type) -> list[dict[str, Any]]:
    choices = BUILT[cls]
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


Call = Callable[..., Any]
Teller = Callable[[Any], Any]


def call(model: Any, x: Any, edges: Any) -> Any:
    return model(x, edges)


@dataclass
class Trial:
    """One case: a model, what it is told once it is accelerated, its input, and how it is called."""

    make: Callable[[], Any]
    tell: Teller = field(default=lambda model: model)
    call: Call = call
    n_nodes: int = N_NODES
    edges: Tensor = field(default_factory=lambda: EDGES)
    x: Tensor | None = None
    dtype: torch.dtype = torch.float64
    is_training: bool = True
    wants_gradient: bool = True
    form: str = "ordinary"
    # Whether gradients of gradients are asked for; for some forms PyG has none either.
    order: int = 2


# Forms in which features and edges come: as training gives them to models of ours, to those of others, and as whoever
# calls the functions of this package has them.
FORMS = ("ordinary", "trusted", "lent", "sparse", "sparse and trusted", "sparse and lent")


def given(trial: Trial, *, is_fast: bool) -> tuple[Any, Tensor]:
    """Return features and edges, for the accelerated layer in the form of the trial."""
    x = random_features(trial.n_nodes, WIDTH) if trial.x is None else trial.x
    x, edges = x.to(trial.dtype).clone(), trial.edges.clone()
    is_sparse, is_trusted = trial.form.startswith("sparse"), trial.form.endswith("trusted")
    if is_fast:
        edges = attach(edges, trial.n_nodes, is_trusted=is_trusted)
        is_lent = trial.form.endswith("lent")
        # Training trusts with its own what it lends copies of.
        x = sparsify(x, is_trusted=is_trusted or is_lent) if is_sparse else x
        if is_lent:
            # As often as in training: what was computed for one call is there for the next.
            lend((x, edges))
            x, edges = lend((x, edges))
    return x.requires_grad_() if trial.wants_gradient and not is_sparse else x, edges


def _probe(tensor: Tensor, shift: float) -> Tensor:
    return (torch.arange(tensor.numel(), dtype=tensor.dtype) * 0.7 + shift).cos().view(tensor.shape)


def _weigh(tensors: list[Tensor], shift: float) -> Tensor:
    return torch.stack([(tensor * _probe(tensor, shift + place)).sum() for place, tensor in enumerate(tensors)]).sum()


def _floats(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value] if value.is_floating_point() else []
    return [tensor for item in value for tensor in _floats(item)] if isinstance(value, tuple | list) else []


def _gradients(outputs: list[Tensor], inputs: list[Tensor], shift: float, **options: Any) -> list[Tensor | None]:
    outputs = [output for output in outputs if output.requires_grad]
    if not outputs or not inputs:
        return [None] * len(inputs)
    return list(torch.autograd.grad(_weigh(outputs, shift), inputs, allow_unused=True, **options))


def observe(model: Any, trial: Trial, *, is_fast: bool) -> dict[str, Any]:
    """Return all that is to be seen of a call of a model."""
    torch.manual_seed(77)
    found: dict[str, Any] = {}
    try:
        model.train(trial.is_training)
        x, edges = given(trial, is_fast=is_fast)
        inputs = [tensor for tensor in (x, *model.parameters()) if tensor.requires_grad]
        outputs = _floats(trial.call(model, x, edges))
        found["output"] = [output.detach().clone() for output in outputs]
        found["generator"] = [torch.get_rng_state()]
        if trial.order:
            found["gradients"] = _gradients(outputs, inputs, 0.1, retain_graph=True)
        if trial.order > 1:
            first = _gradients(outputs, inputs, 0.1, create_graph=True)
            second = _gradients([gradient for gradient in first if gradient is not None], inputs, 0.2)
            # By what a gradient does not depend on, it may as well have none as one of zeros: no optimiser skips it.
            filled = zip(second, inputs, strict=True)
            found["gradients of gradients"] = [torch.zeros_like(x) if g is None else g for g, x in filled]
            found["gradients that have some"] = [None if gradient is None else gradient.detach() for gradient in first]
    except Exception as error:  # noqa: BLE001  (whatever PyG raises, its twin is to raise)
        found["error"] = f"{type(error).__name__}: {error}"
    return found


def _difference(mine: list[Any], theirs: list[Any], tolerance: float) -> str:
    if len(mine) != len(theirs):
        return f"{len(mine)} instead of {len(theirs)}"
    for place, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        if (a is None) != (b is None):
            return f"place {place}: {a} instead of {b}"
        if a is None:
            continue
        if a.shape != b.shape or a.dtype is not b.dtype:
            return f"place {place}: {a.dtype} {tuple(a.shape)} instead of {b.dtype} {tuple(b.shape)}"
        size = float(b.abs().max()) if b.numel() and b.is_floating_point() else 0.0
        atol = tolerance * max(1.0, size if size < float("inf") else 1.0)
        if not torch.allclose(a.double(), b.double(), rtol=tolerance, atol=atol, equal_nan=True):
            return f"place {place}: differs by {float((a.double() - b.double()).abs().max()):.3g} of {size:.3g}"
    return ""


def differences(found: dict[str, Any], expected: dict[str, Any], tolerance: float) -> list[str]:
    """Return in what two observations differ, in words."""
    if "error" in found or "error" in expected:
        one, other = found.get("error", "no error"), expected.get("error", "no error")
        if one.partition(":")[0] != other.partition(":")[0]:
            return [f"{one} instead of {other}"]
    # What was seen before an error is compared too.
    parts = [part for part in expected if part != "error"]
    pairs = ((part, _difference(found.get(part, []), expected[part], tolerance)) for part in parts)
    return [f"{part}: {difference}" for part, difference in pairs if difference]


@dataclass
class Verdict:
    """What came of a trial."""

    differences: list[str]
    n_fast: int

    @property
    def is_fast(self) -> bool:
        return self.n_fast > 0


def try_out(trial: Trial) -> Verdict:
    """Compare an accelerated model with its twin."""
    own = trial.make().to(trial.dtype)
    with watch_fast_forwards() as calls:
        fast = accelerate(copy.deepcopy(own))
    own, fast = (told if (told := trial.tell(model)) is not None else model for model in (own, fast))
    expected = observe(own, trial, is_fast=False)
    found = observe(fast, trial, is_fast=True)
    return Verdict(differences(found, expected, TOLERANCES[trial.dtype]), len(calls))


@dataclass
class Tally:
    """Counts of trials."""

    n_cases: int = 0
    n_fallen_back: int = 0
    different: list[str] = field(default_factory=list)

    def add(self, name: str, trial: Trial) -> Verdict:
        verdict = try_out(trial)
        self.n_cases += 1
        self.n_fallen_back += not verdict.is_fast
        self.different += [f"{name}: {difference}" for difference in verdict.differences]
        return verdict

    def __str__(self) -> str:
        counts = f"{self.n_cases} cases, {self.n_fallen_back} of them by PyG's own way"
        return "\n".join([f"{counts}, {len(self.different)} differences", *self.different])
