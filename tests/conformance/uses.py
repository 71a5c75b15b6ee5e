"""Uses of layers: functions of a model, features and edges that return tensors, and how they are tried on all layers.

Each is tried with features and edges in every form in which they come, in this process's own way and in Torch's modes.
"""

from __future__ import annotations

import contextlib
import copy
import io
import itertools
import pickle
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.func import functional_call, grad, jacrev, jvp, stack_module_state, vmap
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint
from torch_geometric.data import Data
from torch_geometric.explain import AttentionExplainer, Explainer, GNNExplainer
from torch_geometric.nn import ChebConv, GCNConv, SAGEConv, SGConv, summary
from torch_geometric.nn.conv import cheb_conv, gat_conv, gatv2_conv, gcn_conv, transformer_conv
from trials import ATTENTION, LAYERS, N_NODES, Tally, Trial, make, random_features

Use = Callable[[Any, Any, Any], Any]
SPARSE_WIDTH = 33
SPARSE = torch.where(
    torch.rand(N_NODES, SPARSE_WIDTH, generator=torch.Generator().manual_seed(3)) < 0.1,
    random_features(N_NODES, SPARSE_WIDTH),
    0.0,
)
DENSE = random_features(N_NODES, 5)


def noted(write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a write that is left undone where Torch forbids it, as in what requires a gradient."""

    def noted(tensor: Any) -> None:
        with contextlib.suppress(RuntimeError):
            write(tensor)

    return noted


def _under(context: Callable[[], Any]) -> Use:
    def use(model: Any, x: Tensor, edges: Tensor) -> Tensor:
        with context():
            return model(x, edges)

    return use


def _scored_then_trained(mode: Callable[[], Any]) -> Use:
    def use(model: Any, x: Tensor, edges: Tensor) -> Tensor:
        with mode():
            before = model(x, edges)
        return model(x, edges) + before.sum().item()

    return use


def _weights(model: Any) -> dict[str, Tensor]:
    return {name: value.detach() for name, value in model.named_parameters()}


def _loss(model: Any, x: Any, edges: Tensor) -> Callable[[dict[str, Tensor]], Tensor]:
    return lambda weights: functional_call(model, weights, (x, edges)).square().sum()


def _by_func_grad(model: Any, x: Any, edges: Tensor) -> Any:
    return tuple(grad(_loss(model, x, edges))(_weights(model)).values())


def _by_hessian(model: Any, x: Any, edges: Tensor) -> Any:
    name, weight = list(_weights(model).items())[-1]
    return jacrev(grad(lambda value: _loss(model, x, edges)({name: value})))(weight)


def _by_jvp(model: Any, x: Any, edges: Tensor) -> Any:
    weights = _weights(model)
    return jvp(_loss(model, x, edges), (weights,), ({name: value.cos() for name, value in weights.items()},))


def _by_dual_numbers(model: Any, x: Any, edges: Tensor) -> Any:
    with forward_ad.dual_level():
        weights = {name: forward_ad.make_dual(value, value.cos()) for name, value in _weights(model).items()}
        return tuple(forward_ad.unpack_dual(_loss(model, x, edges)(weights)))


def _by_vmap(model: Any, x: Any, edges: Tensor) -> Any:
    models = [copy.deepcopy(model), copy.deepcopy(model)]
    with torch.no_grad():
        for parameter in models[1].parameters():
            parameter.mul_(-0.5)
    weights, buffers = stack_module_state(models)
    run = vmap(lambda w, b: functional_call(model, (w, b), (x, edges)), randomness="different")
    return run({name: value.detach() for name, value in weights.items()}, buffers)


def _with_other_parameters(model: Any, x: Any, edges: Tensor) -> Any:
    return functional_call(model, {name: value * -1.5 for name, value in _weights(model).items()}, (x, edges))


def _traced(model: Any, x: Any, edges: Tensor) -> Any:
    traced = torch.jit.trace(model, (x + 0, edges), check_trace=False)
    return traced(DENSE if x.size(1) == DENSE.size(1) else SPARSE, edges.flip(0))


def _penalised(model: Any, x: Any, edges: Tensor) -> Any:
    x = x.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(model(x, edges).square().sum(), x, create_graph=True)
    return gradient.norm(dim=1)


def _fast_adapted(model: Any, x: Any, edges: Tensor) -> Any:
    weights = dict(model.named_parameters())
    for _ in range(2):
        inner = functional_call(model, weights, (x, edges)).square().mean()
        steps = torch.autograd.grad(inner, list(weights.values()), create_graph=True, allow_unused=True)
        weights = {n: w if g is None else w - 0.1 * g for (n, w), g in zip(weights.items(), steps, strict=True)}
    return functional_call(model, weights, (x, edges))


def _curvature(model: Any, x: Any, edges: Tensor) -> Any:
    parameters = list(model.parameters())
    gradients = torch.autograd.grad(model(x, edges).tanh().sum(), parameters, create_graph=True, allow_unused=True)
    known = [gradient for gradient in gradients if gradient is not None]
    product = torch.stack([(gradient * gradient.detach().cos()).sum() for gradient in known]).sum()
    return tuple(g for g in torch.autograd.grad(product, parameters, allow_unused=True) if g is not None)


def _third(model: Any, x: Any, edges: Tensor) -> Any:
    value, parameters = model(x, edges).tanh().sum(), list(model.parameters())[-2:]
    for _ in range(3):
        gradients = torch.autograd.grad(value, parameters, create_graph=True, allow_unused=True)
        value = torch.stack([gradient.tanh().sum() for gradient in gradients if gradient is not None]).sum()
    return value


def _accumulated(model: Any, x: Any, edges: Tensor) -> Any:
    out = model(x, edges)
    out.square().sum().backward(retain_graph=True)
    out[0].sum().backward()
    model(x, edges).sum().backward()
    found = tuple(parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None)
    model.zero_grad()
    return found


def _salient(model: Any, x: Any, edges: Tensor) -> Any:
    x = x.detach()
    x.requires_grad_()
    model(x, edges).square().sum().backward()
    return x.grad


def _salient_in_place(model: Any, x: Any, edges: Tensor) -> Any:
    data = Data(x=x, edge_index=edges)
    if data.x.is_leaf:
        data.x.requires_grad_()
    assert data.x.requires_grad
    data.x.retain_grad()
    before = model(data.x, data.edge_index)
    before.square().sum().backward(inputs=[data.x])
    found = data.x.grad.clone()
    data.x.grad = None
    return found, torch.autograd.grad(model(data.x, data.edge_index).sum(), data.x)


def _integrated(model: Any, x: Any, edges: Tensor) -> Any:
    start = torch.zeros_like(x)
    total = torch.zeros_like(x)
    for step in (0.25, 0.75):
        at = (start + step * (x - start)).detach().requires_grad_()
        total = total + torch.autograd.grad(model(at, edges)[:, 0].sum(), at)[0]
    return total * (x - start)


def _pickled(model: Any, x: Any, edges: Tensor) -> Any:
    return pickle.loads(pickle.dumps(model))(x, edges)


def _saved(model: Any, x: Any, edges: Tensor) -> Any:
    file = io.BytesIO()
    torch.save((model, x, edges), file)
    assert b"gnz_track" not in file.getvalue()
    file.seek(0)
    other, x, edges = torch.load(file, weights_only=False)
    return other(x, edges)


def _graph_saved(model: Any, x: Any, edges: Tensor) -> Any:
    file = io.BytesIO()
    torch.save({"x": x, "edges": edges}, file)
    file.seek(0)
    read = torch.load(file, weights_only=True)
    assert type(read["x"]) is Tensor
    return model(read["x"], read["edges"])


def _reloaded(model: Any, x: Any, edges: Tensor) -> Any:
    state = {name: value * 2 if value.is_floating_point() else value for name, value in model.state_dict().items()}
    model.load_state_dict(state)
    return model(x, edges)


def _copied_and_told(model: Any, x: Any, edges: Tensor) -> Any:
    other = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.neg_()
    return model(x, edges), other(x, edges), [name for name, _ in other.named_modules()]


def _told_in_a_shallow_copy(model: Any, x: Any, edges: Tensor) -> Any:
    other = copy.copy(model)
    other.training = not model.training
    for name, value in {
        "normalize": False,
        "root_weight": False,
        "negative_slope": 0.9,
        "flow": "target_to_source",
    }.items():
        if hasattr(other, name):
            setattr(other, name, value)
    return model(x, edges), other(x, edges)


def _explained(model: Any, x: Any, edges: Tensor) -> Any:
    task = {"mode": "regression", "task_level": "node", "return_type": "raw"}
    masks = {"node_mask_type": "attributes", "edge_mask_type": "object"}
    explainer = Explainer(model, GNNExplainer(epochs=3), explanation_type="model", model_config=task, **masks)
    found = explainer(x.detach(), edges)
    return found.edge_mask, found.node_mask, model(x, edges)


def _attention_explained(model: Any, x: Any, edges: Tensor) -> Any:
    task = {"mode": "regression", "task_level": "node", "return_type": "raw"}
    options = {"explanation_type": "model", "edge_mask_type": "object", "model_config": task}
    return Explainer(model, AttentionExplainer(), **options)(x.detach(), edges).edge_mask, model(x, edges)


def _scripted(model: Any, x: Any, edges: Tensor) -> Any:
    return torch.jit.script(model)(x + 0, edges), model(x, edges)


class _Keeping(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        return gradient @ weight.t(), x.t() @ gradient


def _with_a_function_of_ones_own(model: Any, x: Any, edges: Tensor) -> Any:
    weight = torch.ones(x.size(1), 3, dtype=x.dtype, requires_grad=True)
    product, out = _Keeping.apply(x, weight), model(x, edges)
    x.detach().data.add_(0)
    return product, out, model(x, edges), torch.autograd.grad(product.sum(), weight, retain_graph=True)


def _referred_to(model: Any, x: Any, edges: Tensor) -> Any:
    reference, before = weakref.ref(x), model(x, edges)
    noted(lambda y: y.data.mul_(2))(x)
    after = model(x, edges)
    x.my_own = 3
    assert x.view(-1).numel() == x.numel()
    assert x.my_own == 3
    assert reference() is x
    if x.is_leaf:
        x.requires_grad_()
    assert x.requires_grad
    return before, after, model(x, edges), x.sum(), torch.autograd.grad(model(x, edges).square().sum(), x)


def _held_by_a_graph(model: Any, x: Any, edges: Tensor) -> Any:
    weight = torch.ones(x.size(1), 3, dtype=x.dtype, requires_grad=True)
    held, before = (x * weight.sum()).sum(), model(x, edges)
    x.requires_grad_()
    return before, torch.autograd.grad(model(x, edges).square().sum() + held, [x, weight])


def _by_threads(model: Any, x: Any, edges: Tensor) -> Any:
    with ThreadPoolExecutor(3) as pool:
        return tuple(pool.map(lambda _: model.eval()(x, edges), range(4)))


def _reset(model: Any, x: Any, edges: Tensor) -> Any:
    before = model(x, edges).detach()
    model.reset_parameters()
    return before, model(x, edges)


class _Watching(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return result * 1.5 if func is functional.linear else result


class _Dispatching(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return result * 1.5 if func is torch.ops.aten.index_select.default and result.is_floating_point() else result


@contextlib.contextmanager
def _global_hook() -> Any:
    def hook(module: nn.Module, _: Any, out: Any) -> Any:
        return out * 2 if type(module).__name__.endswith("Aggregation") else None

    handle = nn.modules.module.register_module_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def _replaced(owner: Any, name: str, change: Callable[[Any], Any]) -> Callable[[], Any]:
    @contextlib.contextmanager
    def context() -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, name, change(getattr(owner, name)))
            yield

    return context


def _doubling(function: Any) -> Any:
    def doubled(*given: Any, **more: Any) -> Any:
        found = function(*given, **more)
        return (found[0], found[1] * 2) if isinstance(found, tuple) else found * 2

    return doubled


@contextlib.contextmanager
def _default_precision() -> Any:
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextlib.contextmanager
def _deterministic() -> Any:
    torch.use_deterministic_algorithms(mode=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(mode=False)


MODES: dict[str, Callable[[], Any]] = {
    "no gradients": torch.no_grad,
    "inference": torch.inference_mode,
    "gradients": torch.enable_grad,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "autocast that is off": lambda: torch.autocast("cpu", enabled=False),
    "anomalies": lambda: torch.autograd.set_detect_anomaly(mode=True),
    "saved elsewhere": lambda: torch.autograd.graph.saved_tensors_hooks(torch.clone, torch.clone),
    "saved on the CPU": torch.autograd.graph.save_on_cpu,
    "a mode of functions": _Watching,
    "a mode of operations": _Dispatching,
    "a default device": lambda: torch.device("cpu"),
    "another default precision": _default_precision,
    "deterministic": _deterministic,
    "a hook of all modules": _global_hook,
    "dropout replaced": _replaced(functional, "dropout", _doubling),
    "softmax of GAT replaced": _replaced(gat_conv, "softmax", _doubling),
    "softmax of GATv2 replaced": _replaced(gatv2_conv, "softmax", _doubling),
    "softmax of the transformer replaced": _replaced(transformer_conv, "softmax", _doubling),
    "Laplacian replaced": _replaced(cheb_conv, "get_laplacian", _doubling),
    "normalisation of Chebyshev layers replaced": _replaced(ChebConv, "__norm__", _doubling),
    "normalisation replaced": _replaced(gcn_conv, "gcn_norm", _doubling),
    **{f"{cls.__name__}.message replaced": _replaced(cls, "message", _doubling) for cls in LAYERS},
    "GCNConv.forward replaced": _replaced(GCNConv, "forward", _doubling),
    "SAGEConv.propagate replaced": _replaced(SAGEConv, "propagate", _doubling),
}

USES: dict[str, Use] = {
    "by name": lambda model, x, edges: model(x=x, edge_index=edges),
    "half by name": lambda model, x, edges: model(x, edge_index=edges),
    "with nothing more": lambda model, x, edges: model(x, edges, None),
    "with too much": lambda model, x, edges: model(x, edges, None, None, None, None, None),
    "with what it does not know": lambda model, x, edges: model(x, edges, nothing=None),
    "with size": lambda model, x, edges: model(x, edges, size=(N_NODES, N_NODES)),
    "with edge weights": lambda model, x, edges: model(x, edges, torch.rand(edges.size(1), dtype=x.dtype)),
    "with attention": lambda model, x, edges: model(x, edges, return_attention_weights=True),
    "without attention": lambda model, x, edges: model(x, edges, return_attention_weights=False),
    "without edges": lambda model, x, _: model(x),
    "with nothing at all": lambda model, _, __: model(None, None),
    "twice": lambda model, x, edges: (model(x, edges), model(x, edges)),
    "scored, then trained": _scored_then_trained(torch.no_grad),
    "scored by inference, then trained": _scored_then_trained(torch.inference_mode),
    "torch.func.grad": _by_func_grad,
    "Hessian": _by_hessian,
    "jvp": _by_jvp,
    "dual numbers": _by_dual_numbers,
    "vmap": _by_vmap,
    "functional_call": _with_other_parameters,
    "traced": _traced,
    "checkpoint": lambda model, x, edges: checkpoint(model, x, edges, use_reentrant=False),
    "re-entrant checkpoint": lambda model, x, edges: checkpoint(model, x, edges, use_reentrant=True),
    "gradient penalty": _penalised,
    "MAML": _fast_adapted,
    "curvature": _curvature,
    "third derivative": _third,
    "accumulated gradients": _accumulated,
    "saliency": _salient,
    "saliency in place": _salient_in_place,
    "integrated gradients": _integrated,
    "pickled": _pickled,
    "saved": _saved,
    "graph saved": _graph_saved,
    "state loaded": _reloaded,
    "copied": _copied_and_told,
    "told in a shallow copy": _told_in_a_shallow_copy,
    "explained": _explained,
    "attention explained": _attention_explained,
    "scripted": _scripted,
    "with a function of one's own": _with_a_function_of_ones_own,
    "referred to": _referred_to,
    "held by a graph": _held_by_a_graph,
    "by threads": _by_threads,
    "reset": _reset,
    "summarised": lambda model, x, edges: (summary(model, x, edges) and None, model(x, edges))[1],
    "in parallel": lambda model, x, edges: nn.DataParallel(model)(x, edges),
    **{f"under {name}": _under(context) for name, context in MODES.items()},
}


# Kernels serve one of them, and Torch the other.
DTYPES = (torch.float32, torch.float64)


def tried(cls: type, use: Use, form: str, *, order: int = 1, **more: Any) -> Trial:
    options = {"heads": 2, "dropout": 0.4} if cls in ATTENTION else {}
    is_sparse = form.startswith("sparse")
    return Trial(
        lambda: make(cls, SPARSE_WIDTH if is_sparse else 5, **options),
        call=use,
        x=SPARSE if is_sparse else DENSE,
        form=form,
        order=order,
        **more,
    )


Row = tuple[str, Use, str, type, torch.dtype]


def at_turns(rows: dict[str, Use], forms: tuple[str, ...]) -> list[Row]:
    """Return each use of each layer once, in a form that changes from one to the next, and in either precision."""
    pairs = [(name, use, cls) for name, use in rows.items() for cls in LAYERS]
    kinds = itertools.cycle(itertools.product(forms, DTYPES))
    return [(name, use, form, cls, dtype) for (name, use, cls), (form, dtype) in zip(pairs, kinds, strict=False)]


def all_of(rows: dict[str, Use], forms: tuple[str, ...]) -> list[Row]:
    crossed = itertools.product(rows.items(), forms, LAYERS, DTYPES)
    return [(name, use, form, cls, dtype) for (name, use), form, cls, dtype in crossed]


def hold(rows: list[Row], **more: Any) -> None:
    tally = Tally()
    for name, use, form, cls, dtype in rows:
        trial = tried(cls, use, form, dtype=dtype, **more)
        if (name, cls, dtype) not in KNOWN and (name, form) not in UNSEEN:
            tally.add(f"{cls.__name__}, {form}, {dtype}, {name}", trial)
    print(f"\n{tally}")  # noqa: T201
    assert not tally.different


# Parameters drawn anew by their `data`: models that are trusted do so before they see features, and not in between.
UNSEEN = {(name, "sparse and trusted") for name in ("reset", "an infinite weight", "a weight that is not a number")}
# What the kernels of attention leave out, because it is zero: infinity times that would not be a number.
KNOWN = {("an infinite gradient", cls, torch.float32) for cls in ATTENTION} | {
    # And what changes places with a sum.
    ("an infinite gradient", cls, dtype)
    for cls in (SGConv, ChebConv)
    for dtype in DTYPES
}
