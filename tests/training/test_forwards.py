"""Forwards as cells ask for them: half precision and what Torch compiles, on the CPU backend."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.errors import BadValue, ModelInvalid
from gnz_track.models.adapters import GraphHead, LinkHead
from gnz_track.models.gat import GAT
from gnz_track.models.gcn import GCN
from gnz_track.training.compiler import AMP, check_forwards, describe_forwards
from gnz_track.training.forwards import compute_as_asked, has_fast_layers
from gnz_track.training.loop import Trained, train
from gnz_track.types import CellSettings, TaskType

Toys = dict[str, Callable[[], Any]]


def _train(toy: Any, model: Callable[[], nn.Module] | None = None, **changes: Any) -> Trained:
    settings = toy.settings(**changes)
    torch.manual_seed(1)
    built = (model or toy.model)()
    with compute_as_asked(built, settings, name="Toy"):
        trained = train(built, toy.objective, toy.scorers, settings, batch_seed=5)
    assert not {"forward", "encode", "decode"} & vars(built).keys(), "what was put in place stays"
    return trained


class _Listening(nn.Module):
    """A linear map that tells in which type it was computed."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.heard = nn.Linear(6, 2), list[torch.dtype]()

    def forward(self, data: Data) -> Tensor:
        found = self.linear(data.x)
        self.heard.append(found.dtype)
        return found


# Half precision ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("amp", AMP)
def test_half_precision_learns_as_single_precision_does(toy: Any, amp: str) -> None:
    single, half, again = _train(toy), _train(toy, amp=amp), _train(toy, amp=amp)
    assert half.series["train/loss"] != single.series["train/loss"]
    assert half.series["train/loss"][-1] == pytest.approx(single.series["train/loss"][-1], rel=0.2, abs=0.05)
    assert half.series == again.series
    assert half.prediction is not None
    assert half.prediction.dtype is torch.float32


@pytest.mark.parametrize("amp", AMP)
def test_products_are_in_half_precision_and_what_leaves_the_model_is_not(amp: str, toys: Toys) -> None:
    toy, model = toys["nodes"](), _Listening()
    settings = toy.settings(amp=amp)
    with compute_as_asked(model, settings, name="Listening"):
        logits = model(toy.objective.data)
    assert model.heard == [getattr(torch, amp)]
    assert logits.dtype is torch.float32
    assert model(toy.objective.data).dtype is torch.float32
    assert model.heard[-1] is torch.float32


def test_outputs_of_any_form_are_in_single_precision() -> None:
    class Several(nn.Module):
        def forward(self, x: Tensor) -> Any:
            h = x @ x
            return {"pair": (h, [h, 3]), "places": torch.arange(2)}

    settings, model = CellSettings(task_type=TaskType.node_cls, seed=0, amp="bfloat16"), Several()
    with compute_as_asked(model, settings, name="Several"):
        found = model(torch.ones(2, 2))
    (first, (second, three)), places = found["pair"], found["places"]
    assert (first.dtype, second.dtype, three, places.dtype) == (torch.float32, torch.float32, 3, torch.int64)


class _Slope:
    """An objective that falls with the one number of a model, by so much."""

    def __init__(self, slope: float) -> None:
        self.slope = slope

    def batches(self, _: torch.Generator) -> Iterator[None]:
        yield None

    def loss(self, model: Any, _: None) -> tuple[Tensor, int]:
        return model().sum() * self.slope, 1

    def predict(self, model: Any) -> Tensor:
        return model()


class _Product(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.number = nn.Parameter(torch.ones(1, 1))

    def forward(self) -> Tensor:
        return torch.ones(1, 1) @ self.number


class _Silent:
    def score(self, *_: Any) -> float:
        return 0.0

    def score_fully(self, *_: Any) -> dict[str, float]:
        return {"accuracy": 0.0}


def test_layers_that_are_called_as_methods_are_stay_layers(toys: Toys) -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encode, self.decode = nn.Linear(6, 4), nn.Linear(4, 2)

        def forward(self, data: Data) -> Tensor:
            return self.decode(self.encode(data.x)) + self.encode.weight.sum()

    trained = _train(toys["nodes"](), Named, amp="bfloat16", epochs=2)
    assert len(trained.series["train/loss"]) == 2


# Gradients are scaled by 2 ** 16 at first, and by half of it after every overflow, which begins at 65520.
@pytest.mark.parametrize(("slope", "n_skipped"), [(1e-9, 0), (0.5, 0), (1.0, 1), (8.0, 4)])
@pytest.mark.parametrize("amp", ["", *AMP])
def test_small_gradients_are_kept_and_those_that_overflow_take_no_step(amp: str, slope: float, n_skipped: int) -> None:
    seen: list[float] = []
    settings = CellSettings(task_type=TaskType.node_cls, seed=0, metric="accuracy", epochs=8, amp=amp)
    model, scorers = _Product(), {"test": _Silent()}
    with compute_as_asked(model, settings, name="Product"):
        observe = lambda *_: seen.append(model.number.item())  # noqa: E731
        train(model, _Slope(slope), scorers, settings, batch_seed=0, observe=observe)
    n_skipped = n_skipped if amp == "float16" else 0
    assert [number == 1.0 for number in seen] == [epoch < n_skipped for epoch in range(8)]


def test_fast_layers_are_for_neither() -> None:
    def given(**changes: Any) -> bool:
        return has_fast_layers(CellSettings(task_type=TaskType.node_cls, seed=0, **changes))

    assert given()
    assert not any(given(**one) for one in ({"compile": True}, {"amp": "bfloat16"}, {"device": "cuda"}))


# What Torch compiles -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compiled_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for compiled code that is nobody's; what is compiled in it once is found again."""
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture
def compiles(compiled_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(compiled_folder))
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    try:
        check_forwards(compiles=True, amp="", device="cpu")
    except BadValue as error:
        pytest.skip(str(error))


COMPILED = {
    "nodes": lambda: GAT(6, 4, 2, heads=2, dropout=0.5),
    "graph_classes": lambda: GraphHead(GCN(3, 8, 8, dropout=0.5), 8, 2),
    "links": lambda: LinkHead(GCN(6, 8, 8)),
}


@pytest.mark.slow
@pytest.mark.usefixtures("compiles")
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_models_have_the_numbers_of_pyg_but_for_rounding(name: str, toys: Toys, compiled_folder: Path) -> None:
    toy, make = toys[name](), COMPILED[name]
    plain, compiled = _train(toy, make, epochs=4, device="cpu"), _train(toy, make, epochs=4, compile=True)
    assert compiled.series["train/loss"] == pytest.approx(plain.series["train/loss"], rel=1e-4), "other masks"
    # Another model before it, of which the compiler could remember something.
    _train(toy, epochs=1, compile=True)
    assert _train(toy, make, epochs=4, compile=True).series == compiled.series
    assert list(compiled_folder.rglob("*.cpp")), "nothing was compiled"


@pytest.mark.slow
@pytest.mark.usefixtures("compiles")
def test_compiled_models_compute_in_half_precision(toys: Toys) -> None:
    toy = toys["links"]()
    single, both = _train(toy, epochs=4, compile=True), _train(toy, epochs=4, compile=True, amp="bfloat16")
    assert both.series != single.series
    assert both.series["train/loss"] == pytest.approx(single.series["train/loss"], rel=0.05)


def _program(folder: Path, text: str) -> str:
    file = folder / "compiler"
    file.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return str(file)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("exit 1", "torch.compile finds no C++ compiler"),
        ('case "$*" in *--version*) echo "my compiler 1.0";; *) echo no headers >&2; exit 1;; esac', "no headers"),
    ],
)
def test_a_model_that_cannot_be_compiled_is_named(
    text: str, reason: str, toys: Toys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch._inductor import config

    program = _program(tmp_path, text)
    monkeypatch.setenv("CXX", program)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with (
        config.patch({"cpp.cxx": (None, program)}),
        pytest.raises(ModelInvalid, match="model 'Toy' cannot be used: ") as error,
    ):
        _train(toys["nodes"](), epochs=1, compile=True)
    assert reason in str(error.value)
    assert str(error.value).endswith("train it without --compile, or leave it out")


def test_a_compiler_is_looked_for_before_any_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    check_forwards(compiles=True, amp="", device="cuda:1")
    check_forwards(compiles=False, amp="float16", device="cpu")
    with pytest.raises(BadValue, match=r"compile is 'cpu'; allowed: where there is a C\+\+ compiler; .*none' is not"):
        check_forwards(compiles=True, amp="", device="cpu")
    with pytest.raises(BadValue, match=r"amp is 'float8'; allowed: bfloat16, float16\. Try: --amp bfloat16"):
        check_forwards(compiles=False, amp="float8", device="cpu")


def test_a_record_says_who_compiles_and_in_which_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(**changes: Any) -> list[str]:
        return describe_forwards(CellSettings(task_type=TaskType.node_cls, seed=0, **changes))

    monkeypatch.setenv("CXX", _program(tmp_path, "echo my compiler 1.0; echo more"))
    assert said() == []
    assert said(compile=True, amp="float16") == ["compiled by my compiler 1.0", "amp float16"]
    assert said(compile=True, device="cuda") == ["compiled by triton"]
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    assert said(compile=True) == [f"compiled by {tmp_path / 'none'}"]
