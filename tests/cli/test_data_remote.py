"""``gnz data push`` and ``pull``: through DVC, to a remote and back, in another copy of the repository."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gnz_track.datasets.frozen import open_frozen
from gnz_track.datasets.sources.dvc_remote import find_repository
from gnz_track.errors import BadValue

Gnz = Callable[..., Any]
DVC = shutil.which("dvc") or shutil.which("dvc", path=str(Path(sys.executable).parent))
needs_dvc = pytest.mark.skipif(DVC is None, reason="dvc is not installed: pip install 'gnz-track[dvc]'")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a DVC repository with a remote, and work in it."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.setenv("DVC_NO_ANALYTICS", "1")
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "site"))
    monkeypatch.setenv("DVC_GLOBAL_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.chdir(folder)
    for words in (["init", "--no-scm", "-q"], ["remote", "add", "-q", "-d", "store", str(tmp_path / "remote")]):
        subprocess.run([str(DVC), *words], cwd=folder, check=True)
    return folder


@needs_dvc
@pytest.mark.slow
def test_frozen_data_go_to_a_remote_and_come_back(gnz: Gnz, repository: Path) -> None:
    home = repository / "data"
    for words in (("les_miserables",), ("random_tsp", "--seed", "2")):
        assert gnz("data", "get", *words, "--home", "data").code == 0
    digests = [open_frozen(home / name).digest for name in ("les_miserables", "random_tsp/seed-2")]
    pushed = gnz("data", "push", "--home", "data")
    assert (pushed.code, pushed.err) == (0, "")
    assert all(digest in pushed.out for digest in digests)
    assert (home / "les_miserables.dvc").is_file()
    assert (home / "random_tsp" / "seed-2.dvc").is_file()
    # Another copy of the repository, without data and without DVC's cache.
    shutil.rmtree(home / "les_miserables")
    shutil.rmtree(home / "random_tsp" / "seed-2")
    shutil.rmtree(repository / ".dvc" / "cache")
    pulled = gnz("data", "pull", "random_tsp", "--home", "data")
    assert (pulled.code, pulled.err) == (0, "")
    assert digests[1] in pulled.out
    assert not (home / "les_miserables").exists()
    assert gnz("data", "pull", "--home", "data", "--remote", "store").code == 0
    assert [open_frozen(home / name, verify=True).digest for name in ("les_miserables", "random_tsp/seed-2")] == digests
    assert gnz("data", "check", "les_miserables", "--home", "data").code == 0
    # What is tracked can be frozen anew in place.
    assert gnz("data", "get", "les_miserables", "--home", "data").code == 0


@needs_dvc
@pytest.mark.slow
def test_what_dvc_complains_about_is_told(gnz: Gnz, repository: Path) -> None:
    assert gnz("data", "get", "les_miserables", "--home", "data").code == 0
    answer = gnz("data", "push", "--home", "data", "--remote", "stor")
    assert answer.code == 2
    assert answer.err.startswith("error: 'dvc push' ended with code ")
    assert "stor" in answer.err
    assert (repository / "data" / "les_miserables.dvc").is_file()


def test_without_dvc_the_way_to_it_is_named(gnz: Gnz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".dvc").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert gnz("data", "get", "les_miserables", "--home", "data").code == 0
    answer = gnz("data", "push", "--home", "data")
    assert answer.code == 2
    assert answer.err.strip() == (
        "error: the program dvc is None; allowed: an installed one. Try: pip install 'gnz-track[dvc]'"
    )


def test_data_that_are_not_there_are_named(gnz: Gnz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".dvc").mkdir()
    monkeypatch.chdir(tmp_path)
    push, pull = (gnz("data", verb, "cora", "--home", "data") for verb in ("push", "pull"))
    assert "the data of 'cora' are not here (it is not frozen)" in push.err
    assert "the data of 'cora' are not here (it has no .dvc file (fetch it with Git))" in pull.err
    assert (push.code, pull.code) == (2, 2)


def test_the_repository_is_that_of_the_working_folder(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / ".dvc").mkdir()
    assert find_repository(inner / "data", start=inner) == tmp_path / "a"
    with pytest.raises(BadValue, match=r"one inside of a DVC repository\. Try: dvc init"):
        find_repository(tmp_path / "data", start=tmp_path)
    with pytest.raises(
        BadValue, match=r"the folder of frozen data is .* allowed: a folder inside of the DVC repository"
    ):
        find_repository(tmp_path / "elsewhere", start=inner)
