"""Matrices in files: what is written comes back whole, and what cannot be meant is told with its place."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnz_track.errors import BadValue
from gnz_track.selection.matrix import ModelSetting, PerformanceMatrix, bare_matrix
from gnz_track.selection.study.matrix_files import read_matrix, write_matrix
from gnz_track.training.metrics import METRICS
from gnz_track.types import Direction


def matrix_of(metric: str = "rmse", direction: Direction = Direction.down) -> PerformanceMatrix:
    """Return a matrix of two graphs and three settings with a hole."""
    scores = np.array([[0.5, np.nan, 2.0], [0.25, 1e-300, -3.0]])
    owners = [ModelSetting("GCN", '{"lr": 0.1}', "glemos@1"), ModelSetting("GCN"), ModelSetting("a, b")]
    return replace(bare_matrix(["a", "b"], owners, metric, direction), scores=scores)


def read_text(folder: Path, text: str, encoding: str = "utf-8") -> PerformanceMatrix:
    """Return the matrix of a CSV with this text."""
    file = folder / "theirs.csv"
    file.write_bytes(text.encode(encoding))
    return read_matrix(file)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1, max_size=8).filter(str.strip)


@settings(deadline=None, max_examples=40)
@given(
    graphs=st.lists(TEXTS, min_size=1, max_size=4, unique=True),
    models=st.lists(TEXTS, min_size=1, max_size=3, unique=True),
    metric=TEXTS.filter(lambda name: name not in METRICS),
    direction=st.sampled_from(Direction),
    data=st.data(),
)
def test_whatever_is_written_comes_back(
    graphs: list[str], models: list[str], metric: str, direction: Direction, data: st.DataObject
) -> None:
    matrix = bare_matrix(graphs, [ModelSetting(name, '{"k": [1, null]}', "p@1") for name in models], metric, direction)
    for place in np.ndindex(matrix.scores.shape):
        matrix.scores[place] = data.draw(st.floats(allow_infinity=False))
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".csv", ".npz"):
            file = Path(folder) / f"matrix{suffix}"
            write_matrix(matrix, file)
            again = read_matrix(file)
            assert (again.graphs, again.settings) == (matrix.graphs, matrix.settings)
            assert (again.metric, again.direction) == (metric, direction)
            assert np.array_equal(again.scores, matrix.scores, equal_nan=True)


def test_the_head_of_the_first_column_says_metric_and_direction(tmp_path: Path) -> None:
    write_matrix(matrix_of(), tmp_path / "matrix.csv")
    assert (tmp_path / "matrix.csv").read_text("utf-8").startswith('"graph (rmse, down)",')
    again = read_matrix(tmp_path / "matrix.csv")
    assert (again.metric, again.direction) == ("rmse", Direction.down)
    assert again.signed[0, 0] == -0.5
    plain = read_text(tmp_path, "graph,A\na,1\n")
    assert (plain.metric, plain.direction) == ("score", Direction.up)


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_what_a_file_says_may_not_be_contradicted(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"matrix{suffix}"
    write_matrix(matrix_of(), file)
    assert read_matrix(file, metric="rmse", direction="down").metric == "rmse"
    with pytest.raises(BadValue, match="metric is 'mae'; allowed: 'rmse', as matrix"):
        read_matrix(file, metric="mae")
    with pytest.raises(BadValue, match="direction is 'up'; allowed: 'down', as matrix"):
        read_matrix(file, direction="up")
    with pytest.raises(BadValue, match="direction is 'sideways'; allowed: up, down"):
        read_matrix(file, direction="sideways")


def test_the_direction_of_a_metric_is_never_guessed(tmp_path: Path) -> None:
    file = tmp_path / "plain.csv"
    file.write_text("graph,A\na,1\n")
    assert read_matrix(file, metric="mae").direction is Direction.down
    assert read_matrix(file, metric="auc").direction is Direction.up
    assert read_matrix(file, metric="mae", direction="down").metric == "mae"
    assert read_matrix(file, metric="rmsle", direction="down").direction is Direction.down
    assert read_matrix(file, direction="down").direction is Direction.down
    with pytest.raises(
        BadValue, match=r"direction of rmsle in plain.csv is None; allowed: up, down: .* direction='down'"
    ):
        read_matrix(file, metric="rmsle")
    with pytest.raises(BadValue, match=r"direction of mae in plain.csv is 'up'; allowed: 'down', as this package"):
        read_matrix(file, metric="mae", direction="up")
    file.write_text('"graph (auc, down)",A\na,1\n')
    with pytest.raises(BadValue, match=r"direction of auc in plain.csv is 'down'; allowed: 'up', as this package"):
        read_matrix(file)


def test_commas_behind_the_last_column_shift_nothing(tmp_path: Path) -> None:
    for head in ("graph,A,B", "graph,A,B,"):
        matrix = read_text(tmp_path, f"{head}\na,1,2,\nb,3,,\n,,,\n")
        assert matrix.graphs == ("a", "b")
        assert [one.model for one in matrix.settings] == ["A", "B"]
        assert matrix.scores == pytest.approx(np.array([[1, 2], [3, np.nan]]), nan_ok=True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_files_of_spreadsheets_are_read(encoding: str, tmp_path: Path) -> None:
    matrix = read_text(tmp_path, 'graph,GCN,GAT\r\n"é, 1",0.5, \r\n\r\nNA,NaN,n/a\r\nnan,1,2\r\n', encoding)
    assert matrix.graphs == ("é, 1", "NA", "nan")
    assert matrix.scores == pytest.approx(np.array([[0.5, np.nan], [np.nan, np.nan], [1, 2]]), nan_ok=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a file with a first line"),
        (",\n", "a file with a first line"),
        ("graph;A\na;1\n", "with commas between"),
        ("graph,A,B,A\na,1,2,3\n", "a setting of theirs.csv is 'A'; allowed: each setting once"),
        ("graph,A,,B\na,1,2,3\n", "the name of column 3 of theirs.csv is ''"),
        ("graph,A\na,1\n ,2\n", "the graph in line 3 of theirs.csv is ' '; allowed: a name"),
        ("graph,A\na,1\na,2\n", "a graph of theirs.csv is 'a'; allowed: each graph once"),
        ("graph,A\na,inf\n", "the score of 'A' of graph 'a' in line 2 of theirs.csv is 'inf'; allowed: a finite"),
        ("graph,A,B\na,1,2\nb,3,good\n", "the score of 'B' of graph 'b' in line 3 of theirs.csv is 'good'"),
        ("graph,A,B\na,1\n", "number of cells in line 2 of theirs.csv is 2; allowed: 3, one under each name"),
        ("graph,A\na,1,2\n", "number of cells in line 2 of theirs.csv is 3; allowed: 2"),
    ],
)
def test_a_table_that_is_no_matrix_is_told_with_its_place(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadValue, match=words):
        read_text(tmp_path, text)


def test_a_file_in_another_encoding_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match=r"a file that reads \(UnicodeDecodeError"):
        read_text(tmp_path, "graph,A\né,1\n", "utf-16")


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_a_folder_that_is_not_there_is_told(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="a path in a folder that exists"):
        write_matrix(matrix_of(), tmp_path / "none" / f"matrix{suffix}")


def test_archives_that_are_no_matrix_are_told(tmp_path: Path) -> None:
    matrix = matrix_of()
    words = {
        "settings": [[one.model, one.hyperparameters, one.protocol] for one in matrix.settings],
        "graphs": list(matrix.graphs),
        "metric": "rmse",
        "direction": "down",
        "run_ids": matrix.run_ids.tolist(),
    }
    arrays = dict.fromkeys(("scores", "seconds", "spread"), matrix.scores)
    for changed, told in (
        (
            {"scores": matrix.scores[:, :2]},
            r"'scores' of odd.npz is 'float64 \(2, 2\)'; allowed: real numbers \(2, 3\)",
        ),
        ({"spread": np.full((2, 3), "a")}, "'spread' of odd.npz is '<U1"),
        ({"scores": matrix.scores.astype(object)}, "it holds Python objects, which are never run"),
        ({"words": np.array("{}")}, "'words' of odd.npz is '{}'; allowed: what write_matrix wrote"),
        ({"words": np.array(json.dumps(words | {"run_ids": [[]]}))}, "ids of runs in odd.npz"),
    ):
        np.savez(tmp_path / "odd.npz", **{"words": np.array(json.dumps(words)), **arrays, **changed})
        with pytest.raises(BadValue, match=told) as raised:
            read_matrix(tmp_path / "odd.npz")
        assert "allow_pickle" not in str(raised.value)
    np.savez(tmp_path / "few.npz", scores=matrix.scores)
    with pytest.raises(BadValue, match=r"arrays of few\.npz is 'scores'; allowed: an archive that write_matrix wrote"):
        read_matrix(tmp_path / "few.npz")
