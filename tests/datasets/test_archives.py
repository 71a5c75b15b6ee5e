"""Members of archives, honest and hostile: only what was asked for is written, and only below the folder."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.datasets.sources.archives import Limit, extract, is_safe
from gnz_track.errors import ArchiveUnusable

FILES = {"pkg/a.txt": b"a" * 1000, "pkg/data/b.txt": b"bb", "pkg/data/deep/c.txt": b"", "other/d.txt": b"d"}
Maker = Callable[[Path, Mapping[str, bytes]], Path]


def make_zip(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def make_tar(mode: str) -> Maker:
    def make(path: Path, files: Mapping[str, bytes]) -> Path:
        with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
            folder = tarfile.TarInfo("pkg")
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
        return path

    return make


MAKERS: dict[str, Maker] = {
    "zip": make_zip,
    "tar": make_tar("w"),
    "tar.gz": make_tar("w:gz"),
    "tar.bz2": make_tar("w:bz2"),
    "tar.xz": make_tar("w:xz"),
}


def files_below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", MAKERS)
def test_named_members_and_folders_are_written(kind: str, tmp_path: Path) -> None:
    # The name says nothing: a file that was kept by its address may have any.
    archive = MAKERS[kind](tmp_path / "archive", FILES)
    extract(archive, {"x/first.txt": "pkg/a.txt", "twice": "pkg/a.txt", "data": "pkg/data/"}, tmp_path / "raw")
    assert files_below(tmp_path / "raw") == {
        "x/first.txt": FILES["pkg/a.txt"],
        "twice": FILES["pkg/a.txt"],
        "data/b.txt": b"bb",
        "data/deep/c.txt": b"",
    }
    extract(archive, {"": "/"}, tmp_path / "all")
    assert files_below(tmp_path / "all") == FILES


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("member", ["pkg/none.txt", "pkg", "pkg/nothing/"])
def test_a_missing_member_is_named(kind: str, member: str, tmp_path: Path) -> None:
    archive = MAKERS[kind](tmp_path / "archive", FILES)
    with pytest.raises(ArchiveUnusable, match=f"it has no member '{member}'"):
        extract(archive, {"x": member}, tmp_path / "raw")


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_a_single_compressed_file_has_one_member(suffix: str, pack: Any, tmp_path: Path) -> None:
    archive = tmp_path / f"edges.{suffix}"
    archive.write_bytes(pack(b"1 2\n"))
    extract(archive, {"edges.txt": "edges.txt"}, tmp_path / "raw")
    assert files_below(tmp_path / "raw") == {"edges.txt": b"1 2\n"}
    for members in ({"a": "a", "b": "b"}, {"a": "folder/"}):
        with pytest.raises(ArchiveUnusable, match="single compressed file"):
            extract(archive, members, tmp_path / "other")


@pytest.mark.parametrize("outer", MAKERS)
@pytest.mark.parametrize("inner", MAKERS)
def test_archives_inside_archives_are_read(outer: str, inner: str, tmp_path: Path) -> None:
    within = MAKERS[inner](tmp_path / "inner", FILES).read_bytes()
    single = gzip.compress(b"one")
    archive = MAKERS[outer](tmp_path / "outer", {"pkg/data.bin": within, "pkg/one.gz": single, "plain.txt": b"plain"})
    members = {
        "a.txt": "pkg/data.bin!pkg/a.txt",
        "d": "pkg/data.bin!other/",
        "one": "pkg/one.gz!one",
        "plain.txt": "plain.txt",
        "whole": "pkg/one.gz",
    }
    extract(archive, members, tmp_path / "raw")
    expected = {"a.txt": FILES["pkg/a.txt"], "d/d.txt": b"d", "one": b"one", "plain.txt": b"plain", "whole": single}
    assert files_below(tmp_path / "raw") == expected
    with pytest.raises(ArchiveUnusable, match=r"outer!pkg/data\.bin cannot be used: it has no member 'none'"):
        extract(archive, {"x": "pkg/data.bin!none"}, tmp_path / "other")


EVIL = [
    "../evil.txt",
    "data/../../evil.txt",
    "data//../../evil.txt",
    "/evil.txt",
    "data/..\\..\\evil.txt",
    "C:evil.txt",
]


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("name", EVIL)
def test_a_member_never_leaves_the_folder(kind: str, name: str, tmp_path: Path) -> None:
    archive = MAKERS[kind](tmp_path / "archive", {"data/good.txt": b"good", name: b"evil"})
    with pytest.raises(ArchiveUnusable, match="would be written outside of the raw folder"):
        extract(archive, {"": "/"}, tmp_path / "raw" / "deep")
    assert not list(tmp_path.rglob("*evil*"))
    extract(archive, {"ok.txt": "data/good.txt"}, tmp_path / "fine")
    assert files_below(tmp_path / "fine") == {"ok.txt": b"good"}


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "", "C:x", "a\\b", "a\0b"])
def test_a_row_cannot_name_a_place_outside_either(path: str, tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "archive", FILES)
    with pytest.raises(ArchiveUnusable, match="outside"):
        extract(archive, {path: "pkg/a.txt"}, tmp_path / "raw")


KINDS_OF_LINKS = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]


@pytest.mark.parametrize("kind", KINDS_OF_LINKS)
@pytest.mark.parametrize("members", [{"x": "data/link"}, {"x": "data/"}])
def test_links_and_devices_of_a_tar_are_refused(kind: bytes, members: dict[str, str], tmp_path: Path) -> None:
    archive = tmp_path / "archive.tar"
    with tarfile.open(archive, "w") as tar:
        link = tarfile.TarInfo("data/link")
        link.type, link.linkname = kind, "/etc/passwd"
        tar.addfile(link)
        below = tarfile.TarInfo("data/link/file")
        below.size = 4
        tar.addfile(below, io.BytesIO(b"evil"))
    with pytest.raises(ArchiveUnusable, match="no plain file but a link or a device"):
        extract(archive, members, tmp_path / "raw")
    assert files_below(tmp_path / "raw") == {}


def test_links_of_a_zip_are_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("data/link")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr(info, "/etc/passwd")
    for members in ({"x": "data/link"}, {"x": "data/"}):
        with pytest.raises(ArchiveUnusable, match="no plain file but a link"):
            extract(archive, members, tmp_path / "raw")


ZEROS = b"\0" * 3_000_000
SMALL = Limit(most_bytes=1_000_000, free_bytes=1_000_000)
NARROW = Limit(most_ratio=100, free_bytes=100_000)


@pytest.mark.parametrize("kind", [name for name in MAKERS if name != "tar"])
@pytest.mark.parametrize("limit", [SMALL, NARROW])
def test_a_bomb_is_stopped(kind: str, limit: Limit, tmp_path: Path) -> None:
    archive = MAKERS[kind](tmp_path / "archive", {"bomb": ZEROS, "pkg/a": b"a"})
    assert archive.stat().st_size < 30_000
    with pytest.raises(ArchiveUnusable, match="unpacks to more than"):
        extract(archive, {"x": "bomb"}, tmp_path / "raw", limit=limit)
    assert sum(map(len, files_below(tmp_path / "raw").values())) <= 3_000_000
    extract(archive, {"x": "bomb"}, tmp_path / "fine")


def test_a_bomb_inside_an_archive_is_stopped(tmp_path: Path) -> None:
    inner = make_zip(tmp_path / "inner", {f"bomb{n}": ZEROS for n in range(5)}).read_bytes()
    outer = make_zip(tmp_path / "outer", {"inner.zip": inner})
    members = {f"x{n}": f"inner.zip!bomb{n}" for n in range(5)}
    with pytest.raises(ArchiveUnusable, match="unpacks to more than 10000000 bytes"):
        extract(outer, members, tmp_path / "raw", limit=Limit(most_bytes=10_000_000))
    packed = tmp_path / "bomb.gz"
    packed.write_bytes(gzip.compress(ZEROS))
    with pytest.raises(ArchiveUnusable, match="unpacks to more than"):
        extract(packed, {"x": "x"}, tmp_path / "raw", limit=SMALL)


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_of_very_many_members_is_stopped(kind: str, tmp_path: Path) -> None:
    content = {f"d/{n}": b"" for n in range(20)}
    archive = MAKERS[kind](tmp_path / "archive", content)
    with pytest.raises(ArchiveUnusable, match="lists more than 19 members"):
        extract(archive, {"x": "d/"}, tmp_path / "raw", limit=Limit(most_members=19))
    extract(archive, {"x": "d/"}, tmp_path / "fine", limit=Limit(most_members=21))
    nested = make_zip(tmp_path / "nested", {"inner": archive.read_bytes()})
    with pytest.raises(ArchiveUnusable, match="lists more than 19 members"):
        extract(nested, {"x": "inner!d/"}, tmp_path / "deep", limit=Limit(most_members=19))


def test_a_zip_that_lies_about_sizes_is_stopped(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "archive", {"bomb": ZEROS})
    content = bytearray(archive.read_bytes())
    at = content.rindex(b"PK\x01\x02") + 24
    content[at : at + 4] = (10).to_bytes(4, "little")
    archive.write_bytes(content)
    with pytest.raises(ArchiveUnusable):
        extract(archive, {"x": "bomb"}, tmp_path / "raw", limit=SMALL)


def test_a_tar_header_that_claims_gigabytes_reads_none(tmp_path: Path) -> None:
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, 8 << 30
    archive = tmp_path / "archive.tar"
    archive.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + b"\0" * 2048)
    with pytest.raises(ArchiveUnusable):
        extract(archive, {"x": "a"}, tmp_path / "raw", limit=SMALL)


@pytest.mark.parametrize("kind", MAKERS)
def test_broken_archives_are_told(kind: str, tmp_path: Path) -> None:
    whole = MAKERS[kind](tmp_path / "archive", {"a": bytes(range(256)) * 400, "b": b"b"}).read_bytes()
    short = tmp_path / "short"
    short.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ArchiveUnusable, match=r"short cannot be used: it (does not read|has no member)"):
        extract(short, {"b": "b"}, tmp_path / "raw")


@pytest.mark.parametrize("content", [b"", b"<html>sign in</html>", b"PK\x03\x04rest", b"\x1f\x8bxx", b"BZhxx"])
def test_what_is_no_archive_is_told(content: bytes, tmp_path: Path) -> None:
    archive = tmp_path / "page.zip"
    archive.write_bytes(content)
    with pytest.raises(ArchiveUnusable, match=r"page\.zip cannot be used"):
        extract(archive, {"x": "x"}, tmp_path / "raw")
    assert files_below(tmp_path / "raw") in ({}, {"x": b""})


def test_one_name_twice_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("a", b"1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            written.writestr("a", b"2")
    with pytest.raises(ArchiveUnusable, match="'a' twice"):
        extract(archive, {"x": "a"}, tmp_path / "raw")


@given(st.text(alphabet="ab./\\:\0 C", max_size=12))
def test_safe_paths_stay_below_their_folder(path: str) -> None:
    if is_safe(path):
        folder = Path("/folder")
        landed = Path(*[part for part in (folder / path).parts if part != "."])
        assert landed.is_relative_to(folder)
        assert ".." not in landed.parts
        assert landed != folder or path.strip("./") == ""
