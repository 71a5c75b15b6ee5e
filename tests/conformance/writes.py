"""Ways to write into features, edges and outputs, and what is read there afterwards."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from trials import FORMS
from uses import Use, noted

from gnz_track.training.acceleration import SparseFeatures


def then(tensor: Any, *steps: Callable[[Any], Any]) -> None:
    for step in steps:
        tensor = step(tensor)


def _set(tensor: Any, name: str, value: Any) -> None:
    setattr(tensor, name, value)


def fill_numpy(tensor: Any, value: float) -> None:
    tensor.detach().numpy()[1:3] = value


def fill_array(tensor: Any, value: float) -> None:
    np.asarray(tensor)[1:3] = value


def fill_item(tensor: Any, value: float) -> None:
    tensor[1:2] = value


def fill_by_dlpack(tensor: Any, value: float) -> None:
    torch.from_dlpack(tensor)[1:2] = value


def fill_storage(tensor: Any) -> None:
    storage = tensor.untyped_storage()
    for place in range(16, 24):
        storage[place] = 0


def fill_copy(tensor: Any, value: float) -> None:
    copy.copy(tensor).data[1:2] = value


def fill_kept_view(tensor: Any, value: float) -> None:
    view = tensor.view(-1)
    tensor.sum()
    view.data[2:9] = value


# Ways to write into features: what is read afterwards, by layers and by others, is what was written.
WRITES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda x: x.add_(1),
    "item": lambda x: fill_item(x, 3.0),
    "relu_": lambda x: functional.relu(x, inplace=True),
    "dropout in place": lambda x: functional.dropout(x, 0.5, training=True, inplace=True),
    "out=": lambda x: torch.mul(x, 2, out=x),
    "copy_": lambda x: x.copy_(x.flip(0)),
    "data.mul_": lambda x: x.data.mul_(2),
    "data item": lambda x: fill_item(x.data, 3.0),
    "detach().data": lambda x: x.detach().data.mul_(2),
    "row.data": lambda x: x[1].data.fill_(3.0),
    "view.data": lambda x: x.view(-1).data.mul_(2),
    "transposed data": lambda x: x.t().data.mul_(2),
    "a kept view's data": lambda x: fill_kept_view(x, 3.0),
    "split": lambda x: x.split(4)[1].data.mul_(3),
    "unbind": lambda x: x.unbind(0)[2].data.mul_(3),
    "iterated": lambda x: next(iter(x)).data.mul_(3),
    "numpy": lambda x: fill_numpy(x, 3.0),
    "array": lambda x: fill_array(x, 3.0),
    "DLPack": lambda x: fill_by_dlpack(x, 3.0),
    "storage": fill_storage,
    "shallow copy": lambda x: fill_copy(x, 3.0),
    "set_": lambda x: x.set_((x.detach() * 2).clone()),
    "data =": lambda x: _set(x, "data", x.detach() * 2),
    "data = of a part": lambda x: _set(x, "data", x.detach()[:, ::2].contiguous().repeat(1, 2)[:, : x.size(1)]),
    "resize_": lambda x: x.resize_(x.size(0), x.size(1)).mul_(2),
    "apply_": lambda x: x.apply_(lambda value: value * 2),
    "shared": lambda x: x.share_memory_().data.mul_(2),
    "index_put_": lambda x: x.index_put_((torch.tensor([1]),), torch.tensor(3.0, dtype=x.dtype)),
    "maskedfill_": lambda x: x.maskedfill_(x > 0, 2.0),
    "transposed in place": lambda x: x.t_().mul_(2).t_(),
    "normalised in place": lambda x: x.div_(x.sum(dim=1, keepdim=True).clamp(min=1)),
    "nan": lambda x: x.data[0].fill_(float("nan")),
    "torch.Tensor.data of no_grad": lambda x: then(x, torch.Tensor.detach, lambda y: y.mul_(2)),
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
        noted(write)(x)
        again = model(functional.dropout(x, 0.3, training=True), edges)
        return before, model(x, edges), again, x + 0, functional.linear(x, torch.ones(2, x.size(1), dtype=x.dtype))

    return use


WRITING = {f"features: {name}": _written(write) for name, write in WRITES.items()}


def _replace_part(edges: Any) -> Any:
    other = edges.clone()
    other[1, :10] = 11
    return other


EDGE_WRITES: dict[str, Callable[[Any], Any]] = {
    "item": lambda e: fill_item(e[1], 11),
    "copy_": lambda e: e.copy_(_replace_part(e)),
    "data item": lambda e: fill_item(e.data[1], 11),
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


def _spoiled(spoil: Callable[[Any], Any]) -> Use:
    """Return a use that writes into what a layer and its linear maps gave, and looks again."""

    def use(model: Any, x: Any, edges: Tensor) -> Any:
        model.eval()
        weight = next(parameter for parameter in model.parameters() if parameter.dim() == 2).detach()[:, :1]
        weight = weight.repeat(1, x.size(1))
        with torch.no_grad():
            first, product = model(x, edges), functional.linear(x, weight)
            for given in (first, product):
                noted(spoil)(given)
            handle = next(model.children()).register_forward_pre_hook(lambda _, given: noted(spoil)(given[0]))
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
        "numpy": lambda out: fill_numpy(out, 7.0),
        "zero_": lambda out: out.zero_(),
        "detached": lambda out: out.detach().data.add_(1),
    }.items()
}
