"""Downloads from real servers of this machine: each fault ends in its message, and nothing wrong is kept."""

from __future__ import annotations

import gzip
import hashlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from file_servers import FileServer, Request, give, give_ranges, in_turn, make_certificate, redirect, run_server

from gnz_track.datasets.sources.download import Patience, download, is_web_address, part_of, without_credentials
from gnz_track.errors import BadValue, DownloadFailed

CONTENT = bytes(range(256)) * 4_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
QUICK = Patience(attempts=3, first_wait=0.01, longest_wait=0.05, timeout=5.0)


@pytest.fixture
def server() -> Iterator[FileServer]:
    with run_server() as running:
        yield running


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "file.bin"


def _left(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir())


def test_a_file_arrives_whole_and_progress_is_told(server: FileServer, target: Path) -> None:
    server.routes["/a"] = give(CONTENT)
    heard: list[tuple[int, int | None]] = []
    download(
        f"{server.address}/a",
        target,
        sha256=SHA256.upper(),
        n_bytes=len(CONTENT),
        tell=lambda here, total: heard.append((here, total)),
    )
    assert target.read_bytes() == CONTENT
    assert _left(target) == ["file.bin"]
    assert heard[-1] == (len(CONTENT), len(CONTENT))
    assert heard == sorted(heard)
    assert len(heard) > 2


def test_a_file_address_is_copied(tmp_path: Path, target: Path) -> None:
    source = tmp_path / "with space"
    source.write_bytes(CONTENT)
    download(source.as_uri(), target, sha256=SHA256)
    assert target.read_bytes() == CONTENT
    with pytest.raises(DownloadFailed, match="No such file"):
        download((tmp_path / "none").as_uri(), target)
    with pytest.raises(DownloadFailed, match="Is a directory"):
        download(tmp_path.as_uri(), target)
    with pytest.raises(DownloadFailed, match="of another machine, 'elsewhere'"):
        download("file://elsewhere/etc/passwd", target)


def test_a_dropped_connection_is_resumed(server: FileServer, target: Path) -> None:
    server.routes["/a"] = give_ranges(CONTENT, drops_after=300_000)
    download(f"{server.address}/a", target, patience=QUICK)
    assert target.read_bytes() == CONTENT
    assert server.ranges() == ["", "bytes=300000-", "bytes=600000-", "bytes=900000-"]
    assert [headers.get("if-range") for _, headers in server.seen] == [None, '"one"', '"one"', '"one"']


def test_a_later_call_goes_on_where_the_first_broke_off(server: FileServer, target: Path) -> None:
    server.routes["/a"] = in_turn(give_ranges(CONTENT, drops_after=700_000), lambda request: request.answer(404))
    with pytest.raises(DownloadFailed, match="404 Not Found"):
        download(f"{server.address}/a", target, patience=QUICK)
    assert part_of(target).stat().st_size == 700_000
    server.routes["/a"] = give_ranges(CONTENT)
    download(f"{server.address}/a", target, patience=QUICK)
    assert target.read_bytes() == CONTENT
    assert server.ranges()[-1] == "bytes=700000-"
    assert _left(target) == ["file.bin"]


def test_who_listens_may_end_a_download_and_keep_the_part(server: FileServer, target: Path) -> None:
    server.routes["/a"] = give_ranges(CONTENT)

    def stop(here: int, total: int | None) -> None:
        raise KeyboardInterrupt(here, total)

    with pytest.raises(KeyboardInterrupt):
        download(f"{server.address}/a", target, tell=stop)
    kept = part_of(target).stat().st_size
    assert 0 < kept < len(CONTENT)
    download(f"{server.address}/a", target)
    assert target.read_bytes() == CONTENT
    assert server.ranges() == ["", f"bytes={kept}-"]


def test_a_version_that_changed_between_two_parts_starts_anew(server: FileServer, target: Path) -> None:
    other = CONTENT[::-1]
    old = give_ranges(CONTENT, drops_after=500_000, tag='"old"')
    server.routes["/a"] = in_turn(old, give_ranges(other, tag='"new"'))
    download(f"{server.address}/a", target, patience=QUICK)
    assert target.read_bytes() == other


def test_a_server_that_mixes_versions_is_not_believed(server: FileServer, target: Path) -> None:
    def mix(request: Request) -> None:
        begin = int(request.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        if begin:
            place = f"bytes {begin}-{len(CONTENT) - 1}/{len(CONTENT)}"
            request.answer(206, b"x" * (len(CONTENT) - begin), content_range=place, etag='"new"')
        else:
            request.answer(200, CONTENT[:1000], content_length=str(len(CONTENT)), etag='"old"')

    server.routes["/a"] = mix
    with pytest.raises(DownloadFailed, match="another part than the one asked for"):
        download(f"{server.address}/a", target, patience=Patience(attempts=2, first_wait=0.01))
    assert _left(target) == []


def test_a_server_that_sends_the_wrong_part_is_not_believed(server: FileServer, target: Path) -> None:
    def shift(request: Request) -> None:
        if "Range" in request.headers:
            request.answer(206, CONTENT[10:], content_range=f"bytes 10-{len(CONTENT) - 1}/{len(CONTENT)}")
        else:
            request.answer(200, CONTENT[:1000], content_length=str(len(CONTENT)), etag='"one"')

    server.routes["/a"] = shift
    with pytest.raises(DownloadFailed, match="another part than the one asked for"):
        download(f"{server.address}/a", target, patience=Patience(attempts=2, first_wait=0.01))
    assert _left(target) == []


def test_a_server_without_ranges_starts_anew(server: FileServer, target: Path) -> None:
    half = give(CONTENT[:500_000], content_length=str(len(CONTENT)), etag='"one"')
    server.routes["/a"] = in_turn(half, give(CONTENT))
    download(f"{server.address}/a", target, patience=QUICK)
    assert target.read_bytes() == CONTENT
    assert server.ranges() == ["", "bytes=500000-"]


def test_without_a_version_only_a_checksum_lets_one_resume(server: FileServer, target: Path) -> None:
    server.routes["/a"] = in_turn(give(CONTENT[:500], content_length=str(len(CONTENT))), give(CONTENT))
    download(f"{server.address}/a", target, patience=QUICK)
    server.routes["/a"] = in_turn(give(CONTENT[:500], content_length=str(len(CONTENT))), give(CONTENT))
    download(f"{server.address}/a", target, sha256=SHA256, patience=QUICK)
    assert server.ranges() == ["", "", "", "bytes=500-"]


def test_a_kept_part_of_other_bytes_is_thrown_away(server: FileServer, target: Path) -> None:
    target.parent.mkdir()
    part_of(target).write_bytes(b"wrong" * 100)
    server.routes["/a"] = give_ranges(CONTENT)
    download(f"{server.address}/a", target, sha256=SHA256, patience=QUICK)
    assert target.read_bytes() == CONTENT
    assert server.ranges() == ["bytes=500-", ""]


@pytest.mark.parametrize("n_bytes", [len(CONTENT), 0])
def test_a_part_that_is_complete_is_taken(server: FileServer, target: Path, n_bytes: int) -> None:
    target.parent.mkdir()
    part_of(target).write_bytes(CONTENT)
    server.routes["/a"] = give_ranges(CONTENT)
    download(f"{server.address}/a", target, sha256=SHA256, n_bytes=n_bytes, patience=QUICK)
    assert target.read_bytes() == CONTENT
    assert _left(target) == ["file.bin"]
    assert server.ranges() == ([] if n_bytes else [f"bytes={len(CONTENT)}-", ""])


def test_a_truncated_file_is_no_file(server: FileServer, target: Path) -> None:
    server.routes["/a"] = give(CONTENT[:1000], content_length=str(len(CONTENT)))
    with pytest.raises(DownloadFailed, match=rf"ended after 1000 of {len(CONTENT)} bytes, after 3 attempts"):
        download(f"{server.address}/a", target, patience=QUICK)
    assert len(server.seen) == 3
    assert not target.exists()


@pytest.mark.parametrize("said", [len(CONTENT) - 1000, len(CONTENT) + 1000])
def test_a_length_that_is_not_the_declared_one_is_refused_at_once(server: FileServer, target: Path, said: int) -> None:
    server.routes["/a"] = give(CONTENT, content_length=str(said))
    with pytest.raises(DownloadFailed, match=rf"says that it has {said} bytes, expected are {len(CONTENT)}"):
        download(f"{server.address}/a", target, n_bytes=len(CONTENT), patience=QUICK)
    assert len(server.seen) == 1
    assert _left(target) == []


def test_a_length_too_small_is_found_by_the_checksum(server: FileServer, target: Path) -> None:
    server.routes["/a"] = give(CONTENT, content_length="1000")
    with pytest.raises(DownloadFailed, match=f"expected is {SHA256}"):
        download(f"{server.address}/a", target, sha256=SHA256, patience=QUICK)
    assert _left(target) == []


def test_a_wrong_file_is_refused_and_not_kept(server: FileServer, target: Path) -> None:
    server.routes["/a"] = give(CONTENT[::-1])
    found = hashlib.sha256(CONTENT[::-1]).hexdigest()
    with pytest.raises(DownloadFailed, match=f"its sha256 is {found}, expected is {SHA256}"):
        download(f"{server.address}/a", target, sha256=SHA256, patience=QUICK)
    assert len(server.seen) == 1
    assert _left(target) == []


@pytest.mark.parametrize("length", ["", str(len(CONTENT))])
def test_more_than_the_limit_is_not_taken(server: FileServer, target: Path, length: str) -> None:
    server.routes["/a"] = give(CONTENT, content_length=length)
    small = Patience(attempts=1, most_bytes=1000)
    with pytest.raises(DownloadFailed, match="more than 1000 bytes"):
        download(f"{server.address}/a", target, patience=small)
    with pytest.raises(DownloadFailed, match="999"):
        download(f"{server.address}/a", target, n_bytes=999, patience=QUICK)
    assert _left(target) == []


def test_a_file_shorter_than_declared_without_a_length(server: FileServer, target: Path) -> None:
    server.routes["/a"] = give(CONTENT, content_length="")
    with pytest.raises(DownloadFailed, match=f"ended after {len(CONTENT)} of {len(CONTENT) + 1}"):
        download(f"{server.address}/a", target, n_bytes=len(CONTENT) + 1, patience=QUICK)
    assert not target.exists()


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_refusal_is_told_at_once(server: FileServer, target: Path, status: int) -> None:
    server.routes["/a"] = lambda request: request.answer(status)
    with pytest.raises(DownloadFailed, match=rf"{server.address}/a: {status} "):
        download(f"{server.address}/a", target, patience=QUICK)
    assert len(server.seen) == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_server_in_trouble_is_asked_again(server: FileServer, target: Path, status: int) -> None:
    trouble = lambda request: request.answer(status, retry_after="3600")  # noqa: E731
    server.routes["/a"] = in_turn(trouble, trouble, give(CONTENT))
    download(f"{server.address}/a", target, patience=QUICK)
    assert target.read_bytes() == CONTENT
    server.routes["/b"] = trouble
    with pytest.raises(DownloadFailed, match=rf"{status} .*, after 3 attempts"):
        download(f"{server.address}/b", target, patience=QUICK)
    assert server.paths() == ["/a"] * 3 + ["/b"] * 3


def test_a_connection_that_is_hung_up_without_a_word_is_tried_again(server: FileServer, target: Path) -> None:
    server.routes["/a"] = in_turn(lambda request: request.connection.shutdown(socket.SHUT_RDWR), give(CONTENT))
    download(f"{server.address}/a", target, patience=QUICK)
    assert target.read_bytes() == CONTENT


def test_redirects_are_followed(server: FileServer, target: Path) -> None:
    server.routes["/a"] = redirect("/b", 301)
    server.routes["/b"] = redirect(f"{server.address}/c", 307)
    server.routes["/c"] = give_ranges(CONTENT, drops_after=600_000)
    download(f"{server.address}/a", target, patience=QUICK)
    assert target.read_bytes() == CONTENT
    assert server.ranges() == ["", "", "", "bytes=600000-", "bytes=600000-", "bytes=600000-"]


@pytest.mark.parametrize(
    ("address", "reason"),
    [("/a", "infinite loop"), ("file:///etc/passwd", "not allowed"), ("ftp://127.0.0.1/x", "from http to ftp")],
)
def test_redirects_that_lead_astray_are_refused(server: FileServer, target: Path, address: str, reason: str) -> None:
    server.routes["/a"] = redirect(address)
    with pytest.raises(DownloadFailed, match=reason):
        download(f"{server.address}/a", target, patience=QUICK)
    assert _left(target) == []


def test_https_is_checked_and_never_left(
    server: FileServer, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path)
    server.routes["/plain"] = give(b"anyone may have written this")
    for name in ("REQUESTS_CA_BUNDLE", "PIP_CERT", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    with run_server(certificate=certificate) as secure:
        secure.routes["/a"] = give(CONTENT)
        secure.routes["/leave"] = redirect(f"{server.address}/plain")
        with pytest.raises(DownloadFailed, match="CERTIFICATE_VERIFY_FAILED"):
            download(f"{secure.address}/a", target, patience=QUICK)
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
        download(f"{secure.address}/a", target, patience=QUICK)
        assert target.read_bytes() == CONTENT
        with pytest.raises(DownloadFailed, match="from https to http, which is refused"):
            download(f"{secure.address}/leave", target.with_name("other"), patience=QUICK)
        server.routes["/up"] = redirect(f"{secure.address}/a")
        download(f"{server.address}/up", target.with_name("up"), patience=QUICK)
    assert server.paths() == ["/up"]
    monkeypatch.setenv("PIP_CERT", str(tmp_path / "none.pem"))
    with pytest.raises(BadValue, match=r"PIP_CERT is .*none\.pem"):
        download("https://127.0.0.1:9/a", target, patience=QUICK)


def test_credentials_are_sent_to_their_host_and_never_shown(server: FileServer, target: Path) -> None:
    with run_server() as other:
        other.routes["/c"] = give(CONTENT)
        server.routes["/a"] = redirect("/b")
        server.routes["/b"] = redirect(f"{other.address}/c")
        with_secret = server.address.replace("://", "://me:se%3Acret@") + "/a"
        download(with_secret, target, patience=QUICK)
        sent = [headers.get("authorization") for _, headers in [*server.seen, *other.seen]]
    assert sent == ["Basic bWU6c2U6Y3JldA==", "Basic bWU6c2U6Y3JldA==", None]
    server.routes["/b"] = lambda request: request.answer(403)
    with pytest.raises(DownloadFailed) as caught:
        download(with_secret, target.with_name("other"), patience=QUICK)
    assert "cret" not in str(caught.value)
    assert without_credentials(with_secret) == f"{server.address}/a"


def test_a_server_that_packs_although_asked_not_to(server: FileServer, target: Path) -> None:
    packed = gzip.compress(CONTENT)
    server.routes["/a.txt"] = server.routes["/a.txt.gz"] = give(packed, content_encoding="gzip")
    with pytest.raises(DownloadFailed, match="packs it with 'gzip'"):
        download(f"{server.address}/a.txt", target, patience=QUICK)
    download(f"{server.address}/a.txt.gz", target, patience=QUICK)
    assert target.read_bytes() == packed


def test_a_machine_that_does_not_listen_is_told_at_once(target: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(DownloadFailed, match="refused"):
        download(f"http://127.0.0.1:{port}/a", target)


def test_proxies_of_the_environment_are_used(server: FileServer, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.address)
    monkeypatch.setenv("no_proxy", "")
    server.routes["http://data.invalid/a"] = give(CONTENT)
    download("http://data.invalid/a", target, patience=QUICK)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize(
    "address", ["ftp://h/a", "data:text/plain,a", "/etc/passwd", "a", "", "http://[bad/a", "http:///a"]
)
def test_what_is_no_address_is_refused(target: Path, address: str) -> None:
    with pytest.raises(DownloadFailed):
        download(address, target, patience=QUICK)
    assert _left(target) == []


def test_web_addresses_are_told_from_folders() -> None:
    assert is_web_address(Path("https://example.org/mirror"))
    assert not is_web_address(Path("https"))
    assert not is_web_address("ftp://example.org")
