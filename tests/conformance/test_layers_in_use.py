"""Accelerated layers as people use layers: under Torch's modes, in their own models, and with what they write.

Each use is a function of a model, features and edges that returns tensors; it is tried on every layer, with features
and edges in every form in which they come.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import itertools
import pickle
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.func import functional_call, grad, jacrev, jvp, stack_module_state, vmap
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint
from torch_geometric import EdgeIndex
from torch_geometric.data import Data
from torch_geometric.explain import AttentionExplainer, Explainer, GNNExplainer
from torch_geometric.nn import GATConv, GCNConv, GINConv, JumpingKnowledge, Linear, SAGEConv, TransformerConv, summary
from torch_geometric.nn.conv import gat_conv, gcn_conv, transformer_conv
from torch_geometric.utils import dropout_edge, k_hop_subgraph, subgraph
from trials import ATTENTION, FORMS, LAYERS, N_NODES, Tally, Trial, make, random_features

from gnz_track.training.acceleration import SparseFeatures

Use = Callable[[Any, Any, Any], Any]
SPARSE_WIDTH = 33
SPARSE = torch.where(
    torch.rand(N_NODES, SPARSE_WIDTH, generator=torch.Generator().manual_seed(3)) < 0.1,
    random_features(N_NODES, SPARSE_WIDTH),
    0.0,
)
DENSE = random_features(N_NODES, 5)


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
    _noted(lambda y: y.data.mul_(2))(x)
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
    "softmax of the transformer replaced": _replaced(transformer_conv, "softmax", _doubling),
    "normalisation replaced": _replaced(gcn_conv, "gcn_norm", _doubling),
    **{
        f"{cls.__name__}.message replaced": _replaced(cls, "message", _doubling)
        for cls in (GCNConv, SAGEConv, GINConv, GATConv, TransformerConv)
    },
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


def _tried(cls: type, use: Use, form: str, *, order: int = 1, **more: Any) -> Trial:
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


def _hold(cases: dict[str, Trial], title: str) -> Tally:
    tally = Tally()
    for name, trial in cases.items():
        tally.add(name, trial)
    print(f"\n{title}: {tally}")  # noqa: T201
    assert not tally.different
    return tally


Row = tuple[str, Use, str, type, torch.dtype]


def _at_turns(rows: dict[str, Use], forms: tuple[str, ...]) -> list[Row]:
    """Return each use of each layer once, in a form that changes from one to the next, and in either precision."""
    pairs = [(name, use, cls) for name, use in rows.items() for cls in LAYERS]
    kinds = itertools.cycle(itertools.product(forms, DTYPES))
    return [(name, use, form, cls, dtype) for (name, use, cls), (form, dtype) in zip(pairs, kinds, strict=False)]


def _all(rows: dict[str, Use], forms: tuple[str, ...]) -> list[Row]:
    crossed = itertools.product(rows.items(), forms, LAYERS, DTYPES)
    return [(name, use, form, cls, dtype) for (name, use), form, cls, dtype in crossed]


def _hold(rows: list[Row], **more: Any) -> None:
    tally = Tally()
    for name, use, form, cls, dtype in rows:
        trial = _tried(cls, use, form, dtype=dtype, **more)
        if (name, cls, dtype) not in KNOWN:
            tally.add(f"{cls.__name__}, {form}, {dtype}, {name}", trial)
    print(f"\n{tally}")  # noqa: T201
    assert not tally.different


# What the kernels of attention leave out, because it is zero: infinity times that would not be a number.
KNOWN = {("an infinite gradient", cls, torch.float32) for cls in (GATConv, TransformerConv)}

# Torch warns of its own modes, and of PyG's ways in them.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled(backend: str) -> None:
    def use(model: Any, x: Any, edges: Tensor) -> Any:
        torch.compiler.reset()
        return torch.compile(model, backend=backend)(x, edges), model(x, edges)

    _hold(_all({"compiled": use}, ("ordinary", "sparse", "sparse and lent")), wants_gradient=False)


def test_uses() -> None:
    _hold(_at_turns(USES, FORMS))


@pytest.mark.slow
def test_uses_in_all_forms() -> None:
    _hold(_all(USES, FORMS))


def _noted(write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a write that is left undone where Torch forbids it, as in what requires a gradient."""

    def noted(tensor: Any) -> None:
        with contextlib.suppress(RuntimeError):
            write(tensor)

    return noted


def _then(tensor: Any, *steps: Callable[[Any], Any]) -> None:
    for step in steps:
        tensor = step(tensor)


def _set(tensor: Any, name: str, value: Any) -> None:
    setattr(tensor, name, value)


def _fill_numpy(tensor: Any, value: float) -> None:
    tensor.detach().numpy()[1:3] = value


def _fill_array(tensor: Any, value: float) -> None:
    np.asarray(tensor)[1:3] = value


def _fill_item(tensor: Any, value: float) -> None:
    tensor[1:2] = value


def _fill_by_dlpack(tensor: Any, value: float) -> None:
    torch.from_dlpack(tensor)[1:2] = value


def _fill_storage(tensor: Any) -> None:
    storage = tensor.untyped_storage()
    for place in range(16, 24):
        storage[place] = 0


def _fill_copy(tensor: Any, value: float) -> None:
    copy.copy(tensor).data[1:2] = value


def _fill_kept_view(tensor: Any, value: float) -> None:
    view = tensor.view(-1)
    tensor.sum()
    view.data[2:9] = value


# Ways to write into features: what is read afterwards, by layers and by others, is what was written.
WRITES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda x: x.add_(1),
    "item": lambda x: _fill_item(x, 3.0),
    "relu_": lambda x: functional.relu(x, inplace=True),
    "dropout in place": lambda x: functional.dropout(x, 0.5, training=True, inplace=True),
    "out=": lambda x: torch.mul(x, 2, out=x),
    "copy_": lambda x: x.copy_(x.flip(0)),
    "data.mul_": lambda x: x.data.mul_(2),
    "data item": lambda x: _fill_item(x.data, 3.0),
    "detach().data": lambda x: x.detach().data.mul_(2),
    "row.data": lambda x: x[1].data.fill_(3.0),
    "view.data": lambda x: x.view(-1).data.mul_(2),
    "transposed data": lambda x: x.t().data.mul_(2),
    "a kept view's data": lambda x: _fill_kept_view(x, 3.0),
    "split": lambda x: x.split(4)[1].data.mul_(3),
    "unbind": lambda x: x.unbind(0)[2].data.mul_(3),
    "iterated": lambda x: next(iter(x)).data.mul_(3),
    "numpy": lambda x: _fill_numpy(x, 3.0),
    "array": lambda x: _fill_array(x, 3.0),
    "DLPack": lambda x: _fill_by_dlpack(x, 3.0),
    "storage": _fill_storage,
    "shallow copy": lambda x: _fill_copy(x, 3.0),
    "set_": lambda x: x.set_((x.detach() * 2).clone()),
    "data =": lambda x: _set(x, "data", x.detach() * 2),
    "data = of a part": lambda x: _set(x, "data", x.detach()[:, ::2].contiguous().repeat(1, 2)[:, : x.size(1)]),
    "resize_": lambda x: x.resize_(x.size(0), x.size(1)).mul_(2),
    "apply_": lambda x: x.apply_(lambda value: value * 2),
    "shared": lambda x: x.share_memory_().data.mul_(2),
    "index_put_": lambda x: x.index_put_((torch.tensor([1]),), torch.tensor(3.0, dtype=x.dtype)),
    "masked_fill_": lambda x: x.masked_fill_(x > 0, 2.0),
    "transposed in place": lambda x: x.t_().mul_(2).t_(),
    "normalised in place": lambda x: x.div_(x.sum(dim=1, keepdim=True).clamp(min=1)),
    "nan": lambda x: x.data[0].fill_(float("nan")),
    "torch.Tensor.data of no_grad": lambda x: _then(x, torch.Tensor.detach, lambda y: y.mul_(2)),
    "as_strided": lambda x: x.as_strided((4,), (1,)).data.fill_(2.0),
    "real": lambda x: x.real.data.mul_(2),
    "flatten": lambda x: x.flatten().data.mul_(2),
    "to": lambda x: x.to(x.dtype).data.mul_(2),
    "contiguous": lambda x: x.contiguous().data.mul_(2),
    "through a graph": lambda x: Data(x=x).x.data.mul_(2),
    "through a graph on a device": lambda x: Data(x=x).to("cpu").x.data.mul_(2),
    "Parameter": lambda x: nn.Parameter(x, requires_grad=False).data.mul_(2),
    "as_tensor": lambda x: torch.as_tensor(x).data.mul_(2),
    "asarray": lambda x: torch.asarray(x).data.mul_(2),
    "atleast_2d": lambda x: torch.atleast_2d(x).data.mul_(2),
    "broadcast": lambda x: torch.broadcast_tensors(x, torch.zeros(1, dtype=x.dtype))[0].data.mul_(2),
}


def _written(write: Callable[[Any], Any]) -> Use:
    def use(model: Any, x: Any, edges: Tensor) -> Any:
        before = model(x, edges)
        _noted(write)(x)
        again = model(functional.dropout(x, 0.3, training=True), edges)
        return before, model(x, edges), again, x + 0, functional.linear(x, torch.ones(2, x.size(1), dtype=x.dtype))

    return use


WRITING = {f"features: {name}": _written(write) for name, write in WRITES.items()}


def test_what_is_written_into_features_is_read() -> None:
    _hold(_at_turns(WRITING, FORMS), wants_gradient=False)


@pytest.mark.slow
def test_what_is_written_into_features_is_read_in_all_forms() -> None:
    for wants_gradient in (True, False):
        _hold(_all(WRITING, FORMS), wants_gradient=wants_gradient)


def _replace_part(edges: Any) -> Any:
    other = edges.clone()
    other[1, :10] = 11
    return other


EDGE_WRITES: dict[str, Callable[[Any], Any]] = {
    "item": lambda e: _fill_item(e[1], 11),
    "copy_": lambda e: e.copy_(_replace_part(e)),
    "data item": lambda e: _fill_item(e.data[1], 11),
    "data.copy_": lambda e: e.data.copy_(_replace_part(e)),
    "row.data": lambda e: e[1].data.fill_(11),
    "numpy": lambda e: e.numpy()[1].fill(11),
    "DLPack": lambda e: torch.from_dlpack(e)[1].fill_(11),
    "data =": lambda e: _set(e, "data", _replace_part(e)),
    "data = of fewer": lambda e: _set(e, "data", e.detach()[:, 3:].clone()),
    "set_": lambda e: e.set_(_replace_part(e)),
    "storage": lambda e: e.untyped_storage().__setitem__(0, 5),
    "shallow copy": lambda e: copy.copy(e).data[1].fill_(11),
    "sorted": lambda e: e.data.copy_(e.sort(dim=1).values),
    "flipped": lambda e: e.data.copy_(e.flip(0)),
    "resize_": lambda e: e.resize_(2, e.size(1) - 4),
}


def _rewired(write: Callable[[Any], Any]) -> Use:
    def use(model: Any, x: Any, edges: Tensor) -> Any:
        before = model(x, edges)
        write(edges)
        return before, model(x, edges), model(x, edges.clone()), edges.double()

    return use


REWIRING = {f"edges: {name}": _rewired(write) for name, write in EDGE_WRITES.items()}
# Whoever is trusted with edges or features has said that nobody writes there unseen.
UNTRUSTED = tuple(form for form in FORMS if not form.endswith("trusted"))


# Through edges that change between a forward and its backward, PyG refuses to go back, or goes along the new ones.
def test_what_is_written_into_edges_is_read() -> None:
    _hold(_at_turns(REWIRING, UNTRUSTED), order=0)


@pytest.mark.slow
def test_what_is_written_into_edges_is_read_in_all_forms() -> None:
    _hold(_all(REWIRING, UNTRUSTED), order=0)


def _spoiled(spoil: Callable[[Any], Any]) -> Use:
    """Return a use that writes into what a layer and its linear maps gave, and looks again."""

    def use(model: Any, x: Any, edges: Tensor) -> Any:
        model.eval()
        weight = next(parameter for parameter in model.parameters() if parameter.dim() == 2).detach()[:, :1]
        weight = weight.repeat(1, x.size(1))
        with torch.no_grad():
            first, product = model(x, edges), functional.linear(x, weight)
            for given in (first, product):
                _noted(spoil)(given)
            handle = next(model.children()).register_forward_pre_hook(lambda _, given: _noted(spoil)(given[0]))
            second = model(x.clone() if not isinstance(x, SparseFeatures) else x + 0, edges)
            handle.remove()
            return first, product, second, model(x, edges), functional.linear(x, weight)

    return use


def _relu(out: Any) -> Any:
    return functional.relu(out, inplace=True) if out.is_leaf else out.relu_()


SPOILING = {
    f"output: {name}": _spoiled(spoil)
    for name, spoil in {
        "relu_": _relu,
        "data": lambda out: out.data.mul_(2),
        "numpy": lambda out: _fill_numpy(out, 7.0),
        "zero_": lambda out: out.zero_(),
        "detached": lambda out: out.detach().data.add_(1),
    }.items()
}


def test_what_is_written_into_outputs_stays_there() -> None:
    _hold(_all(SPOILING, UNTRUSTED), wants_gradient=False)


def _in_place_in_training(model: Any, x: Any, edges: Tensor) -> Any:
    out = model(x, edges)
    out += 1
    out[0] = 0
    return functional.relu(out.mul_(1.5), inplace=True)


class _Jumping(nn.Module):
    def __init__(self, layer: Any, mode: str) -> None:
        super().__init__()
        self.first, self.second = layer, nn.Identity()
        self.jump, self.mode = JumpingKnowledge(mode), mode

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = self.first(x, edges)
        return self.jump([h, functional.dropout(h.relu(), 0.5, self.training), self.first(x, edges.flip(0))])


def _sampled(model: Any, x: Any, edges: Tensor) -> Any:
    nodes, part, _, _ = k_hop_subgraph([0, 3], 1, edges, relabel_nodes=True, num_nodes=N_NODES)
    kept, _ = subgraph(torch.arange(6), edges)
    return model(x[nodes], part), model(x, kept), model(x, edges)


def _with_dropped_edges(model: Any, x: Any, edges: Tensor) -> Any:
    kept, _ = dropout_edge(edges, p=0.3, training=model.training)
    return model(x, kept), model(x, edges)


def _masked(model: Any, x: Any, edges: Tensor) -> Any:
    return model(x * (x > 0), edges[:, edges[0] != edges[1]]), model(x, edges)


def _noised(model: Any, x: Any, edges: Tensor) -> Any:
    data = Data(x=x, edge_index=edges)
    data.x = data.x + 0.1 * torch.randn_like(data.x)
    return model(data.x, data.edge_index)


def _unusual(change: Callable[[Any], Any]) -> Use:
    return lambda model, x, edges: model(change(x), edges)


IDIOMS: dict[str, Use] = {
    "in place in training": _in_place_in_training,
    "jumping, concatenated": lambda model, x, edges: _Jumping(model, "cat")(x, edges),
    "jumping, largest": lambda model, x, edges: _Jumping(model, "max")(x, edges),
    "subgraphs": _sampled,
    "DropEdge": _with_dropped_edges,
    "masked": _masked,
    "noised": _noised,
    "typed edges": lambda model, x, edges: model(x, EdgeIndex(edges, sparse_size=(N_NODES, N_NODES))),
    "a sparse adjacency": lambda model, x, edges: model(
        x,
        torch.sparse_coo_tensor(
            edges.flip(0), torch.ones(edges.size(1), dtype=x.dtype), (N_NODES, N_NODES)
        ).to_sparse_csr(),
    ),
    "32-bit edges": lambda model, x, edges: model(x, edges.int()),
    "pairs": lambda model, x, edges: model((x, x), edges),
    "a column-major matrix": _unusual(lambda x: (x + 0).t().contiguous().t()),
    "every second row of more": _unusual(lambda x: x.repeat_interleave(2, dim=0)[::2]),
    "a row for all": _unusual(lambda x: (x + 0)[:1].expand(N_NODES, -1)),
    "a parameter": _unusual(lambda x: nn.Parameter((x + 0).detach())),
    "a vector": _unusual(lambda x: x[:, 0]),
    "two graphs at once": _unusual(lambda x: torch.stack([x + 0, x * 2])),
    "integers": _unusual(lambda x: x.long()),
    "another precision": _unusual(lambda x: x.detach().float()),
    "too narrow": _unusual(lambda x: (x + 0)[:, :3]),
    "too few nodes": _unusual(lambda x: (x + 0)[:5]),
    "too many nodes": _unusual(lambda x: torch.cat([x, x])),
    "on no device": _unusual(lambda x: x.to("meta")),
    "infinite": _unusual(lambda x: x + torch.where(torch.arange(N_NODES) == 4, float("inf"), 0.0)[:, None]),
    "not numbers": _unusual(lambda x: x / x),
    "a sparse tensor": _unusual(lambda x: (x + 0).detach().to_sparse()),
}


def _of_weights(value: float) -> Use:
    """Return a use with a weight that is no number, which is so times zero too."""

    def use(model: Any, x: Any, edges: Tensor) -> Any:
        before = model(x, edges)
        for parameter in model.parameters():
            parameter.data.view(-1)[parameter.numel() // 2] = value
        return before, model(x, edges), model(functional.dropout(x, 0.3), edges)

    return use


def _of_gradients(model: Any, x: Any, edges: Tensor) -> Any:
    out = model(x, edges)
    weights = [parameter for parameter in model.parameters() if parameter.dim() == 2]
    (out[3] / 0).sum().backward()
    found = tuple(weight.grad for weight in weights if weight.grad is not None)
    model.zero_grad()
    return found


IDIOMS |= {
    "a weight that is not a number": _of_weights(float("nan")),
    "an infinite weight": _of_weights(float("inf")),
    "an infinite gradient": _of_gradients,
}


def test_idioms() -> None:
    _hold(_at_turns(IDIOMS, ("ordinary", "sparse", "sparse and lent")))


@pytest.mark.slow
def test_idioms_in_all_forms() -> None:
    _hold(_all(IDIOMS, FORMS), order=2)


class _Within(nn.Module):
    """A layer of Torch in the place of one that passes messages."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def reset_parameters(self) -> None:
        for module in self.layer.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        del edge_index
        return self.layer(x)


# So wide that a linear map of few outputs has a kernel.
WIDE = 1400
OF_TORCH: dict[str, Callable[[], nn.Module]] = {
    "ReLU": nn.ReLU,
    "ReLU in place": lambda: nn.Sequential(nn.Linear(WIDE, 3), nn.ReLU(inplace=True)),
    "ELU": nn.ELU,
    "ELU of another slope": lambda: nn.ELU(0.3),
    "Dropout": lambda: nn.Dropout(0.4),
    "Linear": lambda: nn.Linear(WIDE, 7),
    "Linear without bias": lambda: nn.Linear(WIDE, 5, bias=False),
    "PyG's Linear": lambda: Linear(WIDE, 7),
    "a wide Linear": lambda: nn.Linear(WIDE, 40),
    "a perceptron": lambda: nn.Sequential(nn.Linear(WIDE, 6), nn.ELU(), nn.Dropout(0.2), nn.Linear(6, 2), nn.ReLU()),
}


def _seeded(build: Callable[[], nn.Module], dtype: torch.dtype) -> nn.Module:
    torch.manual_seed(4)
    return _Within(build()).to(dtype)


def _hold_of_torch(uses: dict[str, Use], dtypes: tuple[torch.dtype, ...], forms: tuple[str, ...]) -> None:
    tally = Tally()
    kinds = itertools.product(OF_TORCH.items(), uses.items(), dtypes, forms)
    wide = random_features(N_NODES, WIDE)
    for (layer, build), (name, use), dtype, form in kinds:
        x = torch.where(wide > 1.5, wide, 0.0) if form.startswith("sparse") else wide
        options = {"call": use, "x": x, "order": 1, "dtype": dtype, "form": form}
        tally.add(f"{layer}, {dtype}, {form}, {name}", Trial(functools.partial(_seeded, build, dtype), **options))
    print(f"\n{tally}")  # noqa: T201
    assert not tally.different


# What needs a layer that passes messages.
_OTHERS = {"explained", "attention explained", "scripted", "summarised", "Hessian", "third derivative"}


def test_uses_of_layers_of_torch() -> None:
    few = {name: use for place, (name, use) in enumerate(USES.items()) if place % 3 == 0 and name not in _OTHERS}
    _hold_of_torch(few, (torch.float32,), ("ordinary",))


@pytest.mark.slow
def test_uses_of_layers_of_torch_in_all_forms() -> None:
    _hold_of_torch({name: use for name, use in USES.items() if name not in _OTHERS}, DTYPES, ("ordinary", "sparse"))
    # Through what is not a number the kernels go back otherwise; training ends there.
    writing = {name: use for name, use in {**WRITING, **SPOILING}.items() if name != "features: nan"}
    _hold_of_torch(writing, DTYPES, ("ordinary", "sparse and lent"))
