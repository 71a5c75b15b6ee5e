"""Library of compiled kernels: how the sources in ``kernels/`` are compiled, found, loaded and called.

It is compiled when the package is installed, once for each vector level of the processor family, and the highest one
that the processor has is loaded. All levels compute the same bits. Where there is no library, or it was compiled from
other sources, everything is computed in Torch alone, with the same numbers but for rounding. ``GNZ_KERNELS=off`` asks
for that, and ``GNZ_KERNELS=x86-64-v3`` for one level. Run by its path, this file compiles the library in place, with
nothing but Python; the build of the package does so.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

__all__ = ["VARIABLE", "compile_kernels", "describe_kernels", "find_compilers", "is_current", "kernels"]

VARIABLE = "GNZ_KERNELS"
OFF = "off"
SOURCES = Path(__file__).with_name("kernels")
BUILT = Path(__file__).with_name("built")
AGAIN = f"to compile: {Path(sys.executable).name} {Path(__file__)}"
_X86, _ARM = ("x86-64-v2", "x86-64-v3", "x86-64-v4"), ("armv8-a",)
# Family of processors, as Python calls it -> the levels that a library is compiled for, the lowest first.
LEVELS = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}
# Contraction would round a product and a sum at once where a processor can, and give other bits on each level.
FLAGS = (
    *("-std=c++17", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    *("-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-fPIC", "-shared"),
)
# Slow machines, and compilers that are to watch memory, take minutes.
SECONDS_TO_COMPILE = 900


def levels() -> tuple[str, ...]:
    """Return the vector levels of this family of processors, the lowest first; none where it is unknown."""
    return LEVELS.get(platform.machine().lower(), ())


# ---------------------------------------------------------------------------------------------------------- compiling


def find_compilers() -> list[list[str]]:
    """Return the commands that may compile: ``CXX``, the system's compilers, and clang of the package ``ziglang``."""
    own = shlex.split(os.environ.get("CXX", ""))
    found = [[path] for path in map(shutil.which, ("c++", "g++", "clang++")) if path]
    # Its `cc` compiles C++ too, and does not first build a C++ library that the kernels have no use for.
    zig = [[sys.executable, "-m", "ziglang", "cc"]] if find_spec("ziglang") else []
    return [own] if own else [*found, *zig]


def _sources() -> list[Path]:
    """Return what is compiled, and what that includes; none where the package came without."""
    return sorted(path for path in SOURCES.glob("*") if path.suffix in {".cpp", ".h"})


def compile_kernels() -> str:
    """Compile the library for each level, in place; return nothing, or why there is none."""
    if not _sources() or not levels():
        return f"no kernels for {platform.machine()}" if _sources() else f"no sources in {SOURCES.name}"
    why = "no C++ compiler was found, and no package ziglang"
    for compiler in find_compilers():
        why = _compile_with(compiler)
        if not why:
            break
    return why


def _compile_with(compiler: list[str]) -> str:
    """Compile for all levels; files are put in place whole, so that whoever has loaded those before keeps them."""
    with tempfile.TemporaryDirectory(dir=SOURCES.parent, prefix=".compiling-") as name, ThreadPoolExecutor() as pool:
        folder = Path(name)
        whys = pool.map(lambda level: _compile(compiler, level, folder / _file_of(level).name), levels())
        why = next(filter(None, whys), "")
        if not why:
            BUILT.mkdir(exist_ok=True)
            for level in levels():
                (folder / _file_of(level).name).replace(_file_of(level))
        return why


def _compile(compiler: list[str], level: str, file: Path) -> str:
    """Compile for one level; return nothing, or what the compiler said."""
    units = [str(path) for path in _sources() if path.suffix == ".cpp"]
    command = [*compiler, *FLAGS, *_target(compiler, level), f'-DSOURCES="{digest()}"', *units, "-o", str(file)]
    try:
        ended = subprocess.run(  # noqa: S603  (a compiler on the path of whoever installs, and files of this folder)
            command, capture_output=True, text=True, errors="replace", check=False, timeout=SECONDS_TO_COMPILE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{compiler[0]}: {error}"
    return "" if ended.returncode == 0 else f"{' '.join(compiler)}: {ended.stderr.strip()[-500:] or 'failed'}"


def _target(compiler: list[str], level: str) -> list[str]:
    """Return the flags for a level; clang of ``ziglang`` spells them otherwise, and is told of an old C library."""
    if "ziglang" not in compiler:
        return [f"-march={level}"]
    system = ["-target", f"{platform.machine().lower()}-linux-gnu.2.17"] if sys.platform == "linux" else []
    return [*system, "-mcpu=" + level.replace("-", "_")] if level in _X86 else system


@functools.cache
def digest() -> str:
    """Return the digest of the sources, of what they are compiled with, and of nothing else."""
    texts = [part for path in _sources() for part in (path.name.encode(), path.read_bytes())]
    return hashlib.sha256(b"\0".join([*texts, " ".join(FLAGS).encode()])).hexdigest()[:16]


def is_current() -> bool:
    """Whether there is a library for each level, compiled from these sources."""
    known = digest().encode() if _sources() else b""
    files = [_file_of(level) for level in levels()]
    return bool(known and files) and all(file.exists() and known in file.read_bytes() for file in files)


def _file_of(level: str) -> Path:
    return BUILT / f"kernels-{level}.so"


# ------------------------------------------------------------------------------------------------------------ calling


class Edges(ctypes.Structure):
    """Sparse matrix by rows; ``order`` is the place of each entry in the list as it was given.

    ``places`` are those of rows among the columns; without, each row is the column of its number.
    """

    _fields_: ClassVar = [
        ("n_rows", ctypes.c_int64),
        ("n_columns", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("pointers", "columns", "order", "places")),
    ]


class Attention(ctypes.Structure):
    """Heads of attention over edges, the mask of dropout, and the weights after the softmax."""

    _fields_: ClassVar = [
        ("edges", ctypes.POINTER(Edges)),
        ("heads", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("bits", ctypes.c_void_p),
        ("scale", ctypes.c_float),
        ("weights", ctypes.c_void_p),
    ]


class Gat(ctypes.Structure):
    """Inputs of the attention of GAT, and its products of features with both vectors."""

    _fields_: ClassVar = [
        *((name, ctypes.c_void_p) for name in ("x", "to_source", "to_target", "of_source", "of_target")),
        ("slope", ctypes.c_float),
    ]


class GatGradients(ctypes.Structure):
    """Gradients of what the attention of GAT read and made."""

    _fields_: ClassVar = [(name, ctypes.c_void_p) for name in ("x", "to_source", "to_target", "of_source", "of_target")]


class Bent(ctypes.Structure):
    """Inputs of the attention of GATv2."""

    _fields_: ClassVar = [
        *((name, ctypes.c_void_p) for name in ("source", "target", "vector")),
        ("slope", ctypes.c_float),
    ]


class Products(ctypes.Structure):
    """Inputs of attention by products of queries and keys."""

    _fields_: ClassVar = [
        *((name, ctypes.c_void_p) for name in ("query", "key", "value")),
        ("root", ctypes.c_float),
    ]


class Normalisation(ctypes.Structure):
    """Rows that are normalised, and by what."""

    _fields_: ClassVar = [
        ("n", ctypes.c_int64),
        ("width", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("weight", "bias", "mean", "scale")),
        ("activation", ctypes.c_int),
    ]


class Gates(ctypes.Structure):
    """Codes of nodes and edges, gates of edges, and the sums that these weigh."""

    _fields_: ClassVar = [
        ("edges", ctypes.POINTER(Edges)),
        ("width", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("nodes", "codes", "scores", "means", "below")),
        ("epsilon", ctypes.c_float),
    ]


class Mixture(ctypes.Structure):
    """Codes of nodes, of which edges weigh several."""

    _fields_: ClassVar = [
        ("edges", ctypes.POINTER(Edges)),
        ("kernels", ctypes.c_int64),
        ("width", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("codes", "weights")),
    ]


class AmongAll(ctypes.Structure):
    """Graphs whose nodes attend to all others, with queries, keys and values."""

    _fields_: ClassVar = [
        ("starts", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("n_graphs", "heads", "width")),
        ("codes", ctypes.c_void_p),
        ("factor", ctypes.c_float),
        *((name, ctypes.c_void_p) for name in ("most", "shares")),
    ]


# p: pointer to numbers; i: count; w: small choice; d, f: number in double and single precision.
_KINDS: dict[str, Any] = {
    "p": ctypes.c_void_p,
    "i": ctypes.c_int64,
    "w": ctypes.c_int,
    "d": ctypes.c_double,
    "f": ctypes.c_float,
    "E": ctypes.POINTER(Edges),
    "A": ctypes.POINTER(Attention),
    "G": ctypes.POINTER(Gat),
    "H": ctypes.POINTER(GatGradients),
    "B": ctypes.POINTER(Bent),
    "P": ctypes.POINTER(Products),
    "N": ctypes.POINTER(Normalisation),
    "O": ctypes.POINTER(Gates),
    "M": ctypes.POINTER(Mixture),
    "L": ctypes.POINTER(AmongAll),
}
# Name of each kernel -> its parameters, as the sources have them.
SIGNATURES = {
    "draw_mask": "pidp",
    "drop_entries": "ppiidfpp",
    "activate": "piwpfp",
    "activate_back": "ppiwpfp",
    "sum_neighbours": "Eippppp",
    "spread_to_neighbours": "Eipppp",
    "thin": "Epppppp",
    "find_rows": "piip",
    "sum_columns": "piip",
    "transpose": "iipp",
    "has_same_bits": "ppi",
    "gat_forward": "AGpp",
    "gat_back": "AGpH",
    "bent_forward": "ABpp",
    "bent_back": "ABpppp",
    "products_forward": "APpp",
    "products_back": "APpppp",
    "narrow": "iiipppp",
    "narrow_back": "iiipppppp",
    "multiplies_well": "",
    "multiply_rows": "iiippwpp",
    "multiply_turned": "iiippp",
    "find_moments": "Npffpp",
    "add_rows": "ppip",
    "normalise": "Nppp",
    "normalise_back": "Npppp",
    "gate": "Op",
    "gate_back": "Opppp",
    "mix": "Mp",
    "mix_back": "Mppp",
    "attend_among_all": "Lp",
    "attend_among_all_back": "Lppp",
    "pool": "piiiwppp",
    "pool_back": "piiiwppppp",
    "multiply_pairs": "ppiiipp",
    "multiply_pairs_back": "ppiippp",
    "find_largest": "Eipp",
    "find_largest_back": "Eipppp",
    "sum_rectified": "Eippp",
    "sum_rectified_back": "Eippppp",
    "sample_neighbours": "Eipiippppp",
    "sort_edges": "ppiipp",
    "add_loops": "Epp",
}
_RESULTS: dict[str, Any] = {
    **dict.fromkeys(("thin", "sample_neighbours"), ctypes.c_int64),
    **dict.fromkeys(("has_same_bits", "pool", "pool_back", "multiply_pairs", "multiplies_well"), ctypes.c_int),
}


def kernels() -> Any:
    """Return the compiled kernels, with the names of ``SIGNATURES``; None where Torch alone is to compute."""
    return _open()[0]


def describe_kernels() -> tuple[str, str]:
    """Return the level of the kernels that are used, or ``"none"``; and whence they are, or why there are none."""
    return _open()[1:]


@functools.cache
def _open() -> tuple[Any, str, str]:
    asked = os.environ.get(VARIABLE, "")
    if asked and asked not in {OFF, *levels()}:
        _refuse(asked, f"{OFF}, {', '.join(levels())}")
    if asked == OFF:
        return None, "none", f"{VARIABLE}={OFF}; Torch alone computes"
    try:
        for library, level in _candidates(asked):
            for name, kinds in SIGNATURES.items():
                kernel = getattr(library, name)
                kernel.argtypes, kernel.restype = [_KINDS[kind] for kind in kinds], _RESULTS.get(name)
            return library, level, str(_file_of(level))
    except (OSError, AttributeError) as error:
        return None, "none", f"{error}; Torch alone computes; {AGAIN}"
    return None, "none", f"not compiled from these sources; Torch alone computes; {AGAIN}"


def _candidates(asked: str) -> Iterator[tuple[Any, str]]:
    """Yield the library for the highest level that this processor has, or for the one that was asked for."""
    known = levels()
    if not known or not _sources() or not _file_of(known[0]).exists():
        return
    lowest = ctypes.CDLL(str(_file_of(known[0])))
    usable = known[: max(1, lowest.vector_level() - 1)] if known == _X86 else known
    if asked and asked not in usable:
        _refuse(asked, f"{OFF}, {', '.join(usable)}, which this processor has")
    level = asked or usable[-1]
    library = ctypes.CDLL(str(_file_of(level)))
    library.sources.restype = ctypes.c_char_p
    if library.sources() == digest().encode():
        yield library, level


def _refuse(asked: str, allowed: str) -> None:
    from gnz_track.errors import BadValue

    raise BadValue(VARIABLE, asked, allowed)


if __name__ == "__main__":
    sys.exit(compile_kernels() or None)
