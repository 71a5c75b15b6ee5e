"""``gnz features`` prints a graph as numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Gnz = Callable[..., Any]


@pytest.fixture
def triangle(tmp_path: Path) -> str:
    """Return a file of a triangle with a tail."""
    path = tmp_path / "triangle.txt"
    path.write_text("0 1\n1 2\n2 0\n2 3\n", encoding="utf-8")
    return str(path)


def test_features_are_printed_by_name(gnz: Gnz, triangle: str) -> None:
    answer = gnz("features", triangle, "--set", "tiny")
    assert (answer.code, answer.err) == (0, "")
    title, head, *rows = answer.out.splitlines()
    assert title == "13 features of triangle.txt"
    assert head.split() == ["feature", "value"]
    assert [row.split() for row in rows[:4]] == [
        ["n_nodes_non_isolated", "4"],
        ["n_edges", "4"],
        ["density", "0.666667"],
        ["max_degree", "3"],
    ]


def test_json_and_csv_hold_all_digits(gnz: Gnz, triangle: str) -> None:
    found = json.loads(gnz("features", triangle, "--json").out)
    assert (found["graph"], found["set"]) == ("triangle.txt", "compact@1")
    assert found["features"]["n_triangles"] == 1
    lines = gnz("features", triangle, "--set", "regular", "--csv").out.splitlines()
    assert lines[0] == "feature,value"
    assert len(lines) == 319
    assert float(lines[1].split(",")[1]) == pytest.approx(2 / 3, abs=1e-15)


def test_a_task_is_described_as_recommendations_see_it_and_says_so(gnz: Gnz) -> None:
    flags = ("features", "planted_partition", "--set", "task", "--json")
    seen, whole = gnz(*flags), gnz(*flags, "--whole")
    assert seen.err.strip() == (
        "note: planted_partition is described with the labels for training and validation alone, of seed 0 under the "
        "split policy 'published'; all of it: --whole"
    )
    assert whole.err == ""
    shares = [json.loads(answer.out)["features"]["labels.known_share"] for answer in (seen, whole)]
    assert shares == pytest.approx([0.4, 1.0])
    links = gnz("features", "les_miserables", "--csv")
    assert "note: les_miserables is described without the links that seed 0" in links.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--set", "compat"), ("unknown feature set 'compat'", "did you mean 'compact'")),
        (("--json", "--csv"), ("--json --csv", "one of them")),
    ],
)
def test_mistake_is_one_line(gnz: Gnz, triangle: str, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    answer = gnz("features", triangle, *arguments)
    assert (answer.code, answer.out, len(answer.err.splitlines())) == (2, "", 1)
    assert all(word in answer.err for word in words), answer.err


def test_name_that_is_no_graph_is_one_line(gnz: Gnz) -> None:
    answer = gnz("features", "coraa")
    assert answer.code == 2
    assert "did you mean 'cora'" in answer.err


@pytest.mark.parametrize("arguments", [("nosuch",), ("edges.xyz",), ("cora", "--set", "compat")])
def test_a_refusal_does_not_wait_for_torch(arguments: tuple[str, ...]) -> None:
    code = """
import sys
from gnz_track.cli import main
try:
    main()
finally:
    print(sorted({"torch", "networkx", "pandas", "sklearn"} & set(sys.modules)))
"""
    answer = subprocess.run([sys.executable, "-c", code, "features", *arguments], capture_output=True, check=False)
    assert (answer.returncode, answer.stdout.strip()) == (2, b"[]"), answer.stderr
