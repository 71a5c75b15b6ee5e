"""Kernels: compiled from these sources, equal on every vector level, continued where Torch's generator stood."""

from __future__ import annotations

import ctypes
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from gnz_track.errors import BadValue
from gnz_track.training.acceleration import library

FOLDER = Path(library.__file__).parent
MADE = library.kernels()
needs_kernels = pytest.mark.skipif(MADE is None, reason=f"no kernels: {library.describe_kernels()[1]}")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Return a function to the kernels that a process has that was told so."""

    def ask(setting: str) -> Any:
        monkeypatch.setenv(library.VARIABLE, setting)
        library._open.cache_clear()  # noqa: SLF001
        return library.kernels()

    yield ask
    library._open.cache_clear()  # noqa: SLF001


def test_the_library_is_that_of_the_sources() -> None:
    # The tests compile it before anything else, unless this machine has no compiler.
    assert library.is_current() or not library.find_compilers()


@needs_kernels
def test_the_highest_level_is_taken_unless_another_is_asked_for(asked: Callable[[str], Any]) -> None:
    highest, _ = library.describe_kernels()
    assert highest in library.levels()
    lowest = library.levels()[0]
    assert asked(lowest) is not None
    assert library.describe_kernels()[0] == lowest
    assert asked(library.OFF) is None
    assert library.describe_kernels() == ("none", "GNZ_KERNELS=off; Torch alone computes")


def test_what_cannot_be_is_refused(asked: Callable[[str], Any]) -> None:
    with pytest.raises(BadValue, match="GNZ_KERNELS is 'fast'; allowed: off"):
        asked("fast")


def _copy_sources(folder: Path) -> None:
    shutil.copy(FOLDER / "library.py", folder)
    shutil.copytree(FOLDER / "kernels", folder / "kernels")


@pytest.mark.parametrize("fault", ["no library", "sums.cpp", "vectors.h", "a new one.h", "no kernels in it"])
def test_without_a_library_of_these_sources_there_are_no_kernels(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(library.VARIABLE, raising=False)
    _copy_sources(tmp_path)
    if fault.endswith((".cpp", ".h")) and library.is_current():
        shutil.copytree(FOLDER / "built", tmp_path / "built")
        (tmp_path / "kernels" / fault).write_text("// changed\n")
    elif fault == "no kernels in it":
        (tmp_path / "built").mkdir()
        for level in library.levels():
            (tmp_path / "built" / f"kernels-{level}.so").write_bytes(b"nothing")
    copied = runpy.run_path(str(tmp_path / "library.py"))
    level, why = copied["describe_kernels"]()
    assert (copied["kernels"](), copied["is_current"](), level) == (None, False, "none")
    assert why.endswith("library.py")
    assert "Torch alone computes; to compile: " in why


def test_a_compiler_that_fails_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _copy_sources(tmp_path)
    monkeypatch.setenv("CXX", f"{sys.executable} -c 'import sys; sys.exit(\"no such target\")'")
    assert "no such target" in runpy.run_path(str(tmp_path / "library.py"))["compile_kernels"]()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kernels", "library.py"]


def test_the_file_compiles_without_anything_installed(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "library.py", tmp_path)
    command = [sys.executable, "-I", "-S", str(tmp_path / "library.py")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.strip()) == (1, "no sources in kernels")


# ----------------------------------------------------------------------------------------------------------- numbers


@needs_kernels
@pytest.mark.parametrize("keep", [0.4, 0.999999, 1e-7, 0.5])
@pytest.mark.parametrize("n", [0, 1, 311, 312, 313, 5000, 100_003])
def test_masks_continue_the_generator_of_torch(n: int, keep: float) -> None:
    generator = torch.Generator().manual_seed(7)
    # Odd numbers of words drawn before, since a uniform number takes two.
    for before in (0, 3, 622, 1247):
        torch.empty(before, dtype=torch.float32).uniform_(generator=generator)
        state = generator.get_state()
        bits = torch.empty(n, dtype=torch.bool)
        MADE.draw_mask(state.data_ptr(), n, keep, bits.data_ptr())
        expected = torch.empty(n, dtype=torch.float64).uniform_(generator=generator) < keep
        assert torch.equal(bits, expected)
        assert torch.equal(state, generator.get_state())


@needs_kernels
def test_entries_are_dropped_as_the_matrix_they_are_of() -> None:
    generator = torch.Generator().manual_seed(1)
    n = 7001
    for places in (torch.arange(0, n, 13), torch.tensor([], dtype=torch.int64), torch.tensor([0, 1, n - 1])):
        values, state = torch.randn(places.numel()), generator.get_state()
        found = torch.empty_like(values)
        MADE.drop_entries(state.data_ptr(), *_at(places), places.numel(), n, 0.3, 2.5, *_at(values, found))
        mask = torch.empty(n, dtype=torch.float64).uniform_(generator=generator) < 0.3
        assert torch.equal(found, values * mask[places] * 2.5)
        assert torch.equal(state, generator.get_state())


def _at(*tensors: Tensor | None) -> list[int | None]:
    return [None if tensor is None else tensor.data_ptr() for tensor in tensors]


def _edges(n: int, n_edges: int) -> tuple[Any, Tensor, list[Tensor]]:
    """Return the struct of random edges, the dense matrix of their numbers, and what holds the memory."""
    generator = torch.Generator().manual_seed(n_edges)
    rows = torch.randint(n, (n_edges,), generator=generator).sort().values
    columns = torch.randint(n, (n_edges,), generator=generator).int()
    pointers = torch.zeros(n + 1, dtype=torch.int32)
    pointers[1:] = torch.bincount(rows, minlength=n).cumsum(0)
    order = torch.randperm(n_edges, generator=generator).int()
    matrix = torch.zeros(n, n_edges, dtype=torch.float64)
    matrix[rows, torch.arange(n_edges)] = 1
    return library.Edges(n, n, *_at(pointers, columns, order)), matrix, [pointers, columns, order]


@needs_kernels
@pytest.mark.parametrize("width", [1, 7, 16, 23, 64, 100, 128, 213])
def test_sums_over_neighbours_and_back(width: int) -> None:
    n, n_edges = 40, 160
    edges, matrix, held = _edges(n, n_edges)
    values, x, bias, divisors = torch.randn(n_edges), torch.randn(n, width), torch.randn(width), torch.rand(n) + 1
    out, back = torch.empty(n, width), torch.zeros(n, width)
    MADE.sum_neighbours(edges, width, *_at(values, x, bias, divisors, out))
    spread = matrix.clone()
    spread[:, :] *= values
    whole = torch.zeros(n, n, dtype=torch.float64).index_add_(1, held[1].long(), spread) / divisors.view(-1, 1)
    torch.testing.assert_close(out.double(), whole @ x.double() + bias, rtol=1e-5, atol=1e-5)
    gradient = torch.randn(n, width)
    gradient[5:30] = 0
    MADE.spread_to_neighbours(edges, width, *_at(values, gradient, divisors, back))
    torch.testing.assert_close(back.double(), whole.t() @ gradient.double(), rtol=1e-5, atol=1e-5)


@needs_kernels
@pytest.mark.parametrize("activation", [0, 1, 2])
@pytest.mark.parametrize("n", [5, 16, 1000])
def test_activation_and_dropout(activation: int, n: int) -> None:
    x = torch.linspace(-100, 100, n).requires_grad_()
    bits, gradient, out, back = torch.rand(n) < 0.5, torch.randn(n), torch.empty(n), torch.empty(n)
    function = (torch.clone, torch.relu, torch.nn.functional.elu)[activation]
    expected = function(x) * bits * 2.0
    MADE.activate(*_at(x), n, activation, *_at(bits), 2.0, *_at(out))
    MADE.activate_back(*_at(x, gradient), n, activation, *_at(bits), 2.0, *_at(back))
    torch.testing.assert_close(out, expected.detach(), rtol=1e-6, atol=2e-7)
    (expected_back,) = torch.autograd.grad(expected, x, gradient)
    torch.testing.assert_close(back, expected_back, rtol=1e-6, atol=2e-7)


@needs_kernels
@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (5, 7), (64, 16), (130, 3)])
def test_narrow_linear_maps(inputs: int, outputs: int) -> None:
    n = 21
    x, weight, bias = torch.randn(n, inputs), torch.randn(outputs, inputs), torch.randn(outputs)
    for tensor in (x, weight, bias):
        tensor.requires_grad_()
    found = torch.empty(n, outputs)
    MADE.narrow(n, inputs, outputs, *_at(x, weight, bias, found))
    expected = torch.nn.functional.linear(x, weight, bias)
    torch.testing.assert_close(found, expected.detach(), rtol=1e-5, atol=1e-5)
    gradient = torch.randn(n, outputs)
    gradient[3:9] = 0
    back = [torch.zeros_like(tensor) for tensor in (x, weight, bias)]
    MADE.narrow_back(n, inputs, outputs, *_at(x, weight, gradient, *back))
    for mine, theirs in zip(back, torch.autograd.grad(expected, (x, weight, bias), gradient), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)


@needs_kernels
def test_zeros_are_left_out_of_a_pattern() -> None:
    edges, _, held = _edges(6, 20)
    values, alive = torch.randn(20), torch.tensor([1, 0, 1, 1, 1, 0], dtype=torch.uint8)
    values[::3] = 0
    pointers, columns, left = torch.empty(7, dtype=torch.int32), torch.empty(20, dtype=torch.int32), torch.empty(20)
    n = MADE.thin(edges, None, *_at(values, alive, pointers, columns, left))
    stays = (values != 0) & alive.bool()[held[1].long()]
    assert n == pointers[-1] == stays.sum()
    assert torch.equal(columns[:n], held[1][stays])
    assert torch.equal(left[:n], values[stays])
    rows = torch.tensor([[0.0, 0, 0], [0, 0, -1e-30], [float("nan"), 0, 0]])
    found, sums = torch.empty(3, dtype=torch.uint8), torch.empty(3)
    MADE.find_rows(*_at(rows), 3, 3, *_at(found))
    assert found.tolist() == [0, 1, 1]
    MADE.sum_columns(*_at(rows[:2]), 2, 3, *_at(sums))
    assert torch.equal(sums, rows[:2].sum(0))


def _attend(made: Any, heads: int, width: int, *, is_dropped: bool) -> list[Tensor]:
    """Return all that both kinds of attention compute, forwards and backwards, on one random graph."""
    n, n_edges = 30, 140
    generator = torch.Generator().manual_seed(heads * width)
    edges, _, held = _edges(n, n_edges)
    draw = lambda *shape: torch.randn(shape, generator=generator)  # noqa: E731
    bits = (torch.rand(n_edges * heads, generator=generator) < 0.5) if is_dropped else None
    weights, out = torch.empty(n_edges * heads), torch.empty(n, heads * width)
    attention = library.Attention(ctypes.pointer(edges), heads, width, *_at(bits), 2.0, *_at(weights))
    x, query, key, gradient = (draw(n, heads * width) for _ in range(4))
    gradient[3:9] = 0
    vectors, products = [draw(heads * width) for _ in range(3)], [torch.empty(n * heads) for _ in range(2)]
    gat = library.Gat(*_at(x, *vectors[:2], *products), 0.2)
    made.gat_forward(attention, gat, *_at(vectors[2], out))
    shapes = [(n, heads * width), (heads * width,), (heads * width,), (n * heads,), (n * heads,)]
    found = [torch.zeros(shape) for shape in shapes]
    made.gat_back(attention, gat, *_at(gradient), library.GatGradients(*_at(*found)))
    result = [out.clone(), weights.clone(), *found]
    inputs = library.Products(*_at(query, key, x), width**0.5)
    made.products_forward(attention, inputs, *_at(gradient, out))
    back = [torch.zeros(n, heads * width) for _ in range(3)]
    made.products_back(attention, inputs, *_at(gradient, *back))
    assert held
    return [*result, out, weights, *back]


@needs_kernels
@pytest.mark.parametrize(("heads", "width"), [(1, 7), (1, 64), (3, 5), (4, 16), (8, 64), (8, 21), (16, 3)])
@pytest.mark.parametrize("is_dropped", [True, False])
def test_levels_compute_the_same_bits(
    heads: int,
    width: int,
    is_dropped: bool,  # noqa: FBT001
    asked: Callable[[str], Any],
) -> None:
    highest, _ = library.describe_kernels()
    usable = library.levels()[: library.levels().index(highest) + 1]
    found = [_attend(asked(level), heads, width, is_dropped=is_dropped) for level in usable]
    assert all(torch.isfinite(one).all() for one in found[0])
    assert all(torch.equal(a, b) for other in found[1:] for a, b in zip(found[0], other, strict=True))
