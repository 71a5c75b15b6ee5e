"""What may be a graph is told apart from what cannot be one before anything heavy is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gnz_track.errors import BadValue, GnzError, UnknownName
from gnz_track.selection.graph_names import check_graph_name, find_graph_file


def test_files_and_names_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "edges.TXT.gz"
    file.touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_graph_file(str(file)) == find_graph_file("~/edges.TXT.gz") == file
    for name in (str(file), "~/edges.TXT.gz", "cora", "planted_partition"):
        check_graph_name(name)
    assert find_graph_file("cora") is None


def test_a_folder_of_the_name_of_a_dataset_hides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cora").mkdir()
    check_graph_name("cora")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (".", "this is a folder"),
        (
            "none.txt",
            r"a file that exists, ending in \.txt, .*\.net \(or one of them and \.gz\), or a name of 'gnz tasks'",
        ),
        ("~nobody_of_this_name/edges.txt", "a path that can be looked up"),
        ("a" * 6000, "a path that can be looked up"),
    ],
)
def test_what_is_no_file_is_told(name: str, words: str) -> None:
    with pytest.raises(BadValue, match=words):
        check_graph_name(name)


def test_a_name_of_a_task_and_of_its_dataset_is_listed_once() -> None:
    with pytest.raises(UnknownName) as raised:
        check_graph_name("qqqqqq")
    known = str(raised.value).split("known: ")[1].split(", ...")[0].split(", ")
    assert len(known) == len(set(known)) == 12
    with pytest.raises(GnzError, match="unknown graph ''"):
        check_graph_name("")


def test_a_refusal_imports_neither_torch_nor_networkx() -> None:
    code = """
import sys
from gnz_track.errors import UnknownName
from gnz_track.selection.graph_names import check_graph_name
try:
    check_graph_name("nosuch")
except UnknownName:
    print(sorted({"torch", "networkx", "pandas", "sklearn"} & set(sys.modules)))
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
