"""No code of the package runs what others wrote, but for the places that answer for it here."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest
from foreign_calls import find_calls
from house import Source, read_package

# (file, what is used) -> how often, and why it may be. Few is the aim.
ADMITTED: dict[tuple[str, str], tuple[int, str]] = {
    ("datasets/readers/restricted_pickle.py", "pickle.Unpickler"): (1, "finds no class but those that it lists"),
    ("datasets/readers/restricted_pickle.py", "torch.load"): (1, "weights_only, and the result is checked once more"),
    ("datasets/readers/molecules.py", "pickle.Unpickler"): (1, "finds no class but those that it lists"),
    ("datasets/readers/molecules.py", "torch.load"): (1, "weights_only, of the numbers of one tensor"),
    ("datasets/readers/citations.py", "numpy.load"): (2, "without pickles"),
    ("datasets/readers/networks.py", "numpy.load"): (2, "without pickles"),
    ("selection/graph_files.py", "numpy.load"): (1, "without pickles; graphs, matrices and selectors are read by it"),
    ("models/building.py", "pickle.Unpickler"): (
        1,
        "a class by value: from the process that made the cell, or out of a store after --trust alone",
    ),
    ("cli/init.py", "subprocess.run"): (2, "the user's own git"),
    ("datasets/sources/dvc_remote.py", "subprocess.run"): (1, "the user's own dvc, paths as arguments of their own"),
    ("store/environment.py", "subprocess.run"): (1, "programs that tell versions; every argument stands in the file"),
    ("store/ui.py", "subprocess.Popen"): (1, "our own Python and MLflow; the store's address is in no argument"),
    ("runs/executors/ray/client_process.py", "subprocess.Popen"): (1, "our own Python and module"),
    ("runs/executors/fork_server.py", "subprocess.Popen"): (1, "our own Python and module"),
    ("deferred_imports.py", "compile"): (
        1,
        "a file of the installed PyG, as Python would compile it but for one import",
    ),
    ("training/acceleration/library.py", "subprocess.run"): (1, "the compiler of this machine, on our own file"),
    ("api.py", "compile"): (1, "the parameter of that name, handed on"),
    ("training/compiler.py", "subprocess.run"): (1, "the same that Torch calls, asked for its version"),
    ("user_code/digests.py", "compile"): (1, "the text of a model's own file, to compare; what comes of it is not run"),
}
# Annotations, and names of exceptions, run nothing.
TYPES = frozenset(
    (file, "subprocess.Popen")
    for file in ("store/ui.py", "runs/executors/ray/client_process.py", "runs/executors/fork_server.py")
)


def test_what_could_run_foreign_content_is_answered_for(root: Path) -> None:
    found = Counter(
        (source.path, name)
        for source in read_package(root / "gnz_track")
        for line, name in find_calls(source)
        if (source.path, name) not in TYPES or _is_called(source, line)
    )
    expected = {place: n for place, (n, _) in ADMITTED.items()}
    assert dict(found) == expected


def _is_called(source: Source, line: int) -> bool:
    calls = [node.func for node in ast.walk(source.tree) if isinstance(node, ast.Call)]
    return any(call.lineno == line and isinstance(call, ast.Attribute) for call in calls)


PLANTED = [
    "import pickle\npickle.loads(b'')",
    "from pickle import loads as read\nread(b'')",
    "import torch as t\nt.load('x')",
    "import yaml\nyaml.load('x', yaml.Loader)",
    "from yaml import unsafe_load\nunsafe_load('x')",
    "eval('1')",
    "run = exec\nrun('1')",
    "import numpy as np\nnp.load('x', allow_pickle=True)",
    "import subprocess\nsubprocess.run('ls', shell=True)",
    "import os\nos.system('ls')",
    "import tarfile\ntarfile.open('x').extractall('y')",
    "import torch\ntorch.load('x', weights_only=False)",
    "import tempfile\ntempfile.mktemp()",
    "import pandas as pd\npd.read_pickle('x')",
]


@pytest.mark.parametrize("text", PLANTED)
def test_planted_calls_are_found(text: str) -> None:
    assert list(find_calls(Source("planted.py", text, ast.parse(text))))


@pytest.mark.parametrize("text", ["import json\njson.loads('1')", "model.eval()", "import yaml\nyaml.safe_load('x')"])
def test_harmless_calls_are_not_found(text: str) -> None:
    assert not list(find_calls(Source("planted.py", text, ast.parse(text))))
