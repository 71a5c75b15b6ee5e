from __future__ import annotations

import base64
import contextlib
import http.server
import os
import socket
import sqlite3
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.errors import OutboxCorrupted, StoreUnreachable, StoreUnusable
from gnz_track.store import address as address_module
from gnz_track.store import connection as connection_module
from gnz_track.store.address import NETWORK_FILE_SYSTEMS, check_place, file_system_of, mask, parse_address
from gnz_track.store.writer import open_store


@pytest.fixture(autouse=True)
def _no_store_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GNZ_STORE", raising=False)


def test_default_is_an_absolute_file_with_artifacts_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = parse_address(home=tmp_path)
    assert (found.uri, found.kind) == (f"sqlite:///{tmp_path}/gnz.db", "sqlite")
    assert found.artifacts == tmp_path / "artifacts"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert parse_address().file == tmp_path / "data" / "gnz_track" / "gnz.db"
    monkeypatch.setenv("GNZ_STORE", "http://host:5000")
    assert parse_address().uri == "http://host:5000"


def test_relative_files_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in (
        "runs/my.db",
        "sqlite:///runs/my.db",
        f"sqlite:///{tmp_path}/runs/my.db",
        str(tmp_path / "runs/my.db"),
    ):
        found = parse_address(text)
        assert found.uri == f"sqlite:///{tmp_path}/runs/my.db"
        assert found.artifacts == tmp_path / "runs" / "artifacts"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg", "PostgreSQL"])
def test_postgresql_is_reached_by_psycopg_three(scheme: str, tmp_path: Path) -> None:
    found = parse_address(f"{scheme}://me:pw@host:5433/db", home=tmp_path)
    assert found.uri == "postgresql+psycopg://me:pw@host:5433/db"
    assert found.artifacts == tmp_path / "artifacts"
    assert found.is_database
    assert parse_address("postgresql:///db?host=/run/postgresql").kind == "postgresql"


def test_server_has_no_slash_at_its_end_and_its_own_artifacts() -> None:
    found = parse_address("http://host:5000/")
    assert (found.uri, found.kind, found.artifacts, found.is_database) == ("http://host:5000", "server", None, False)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("mysql://me:pw@host/db", "nothing is known of the scheme 'mysql'"),
        ("postgresql+psycopg2://me:pw@host/db", "nothing is known of the scheme 'postgresql\\+psycopg2'"),
        ("sqlite://", "it names no file"),
        ("sqlite:///:memory:", "it names no file"),
        ("sqlite:///a.db?mode=ro", "options behind"),
        ("http://", "it names no host"),
        ("http://host:port", "it names no host"),
        ("postgresql:///db", "it names no host"),
        # Passwords that nobody escaped: half of one would be the host, and be looked up.
        ("postgresql://u:hunter@pw@127.0.0.1:1/db", "holds an @.*write it as %40"),
        # One slash or two short of an address; each would be a file named after the password.
        ("u:pw@127.0.0.1:5000", "looks like an address"),
        ("http:/u:pw@127.0.0.1:5000", "looks like an address"),
        ("postgresql:u:pw@host/db", "looks like an address"),
    ],
)
def test_wrong_addresses_are_refused_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(StoreUnusable, match=reason) as caught:
        parse_address(text)
    assert "\n" not in str(caught.value)
    assert "pw" not in str(caught.value)


def test_missing_driver_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    # A module that is None in there is what Python itself takes for missing.
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.setattr(address_module, "find_spec", sys.modules.get)
    with pytest.raises(StoreUnusable, match=r"psycopg is not installed; install it with: pip install"):
        parse_address("postgresql://me@host/db")


secrets = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=6, max_size=20).filter(
    lambda text: text not in "postgresql://me:***@host/db"
)


@given(secrets)
def test_passwords_are_never_shown(secret: str) -> None:
    shown = mask(f"postgresql://me:{secret}@host/db")
    assert secret not in shown
    assert "me" in shown


def test_passwords_hide_in_errors_and_in_what_is_printed() -> None:
    found = parse_address("postgresql://me:hunter2@127.0.0.1:1/db?sslpassword=hunter2")
    assert "hunter2" in found.uri
    assert "hunter2" not in f"{found} {found!r} {found.masked}"
    with pytest.raises(StoreUnreachable) as caught:
        open_store(found)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_server_that_is_not_there_is_unreachable() -> None:
    with pytest.raises(StoreUnreachable, match=r"does not answer: .*refused.*; start it: mlflow server"):
        open_store("http://127.0.0.1:1")


def test_wrong_password_is_said_in_one_line(postgresql: str) -> None:
    with pytest.raises(StoreUnusable, match=r"does not know this user; .* PGPASSWORD") as caught:
        open_store(postgresql.replace("gnz@", "nobody:hunter2@") + "/postgres")
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/me/fast xfs rw 0 0
//box/share /mnt/my\\040share cifs rw 0 0
me@host: /home/me/fast/far fuse.sshfs rw 0 0
tmpfs /over tmpfs rw 0 0
scratch /over lustre rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/var/gnz.db", "ext4"),
        ("/home/me/gnz.db", "nfs4"),
        ("/home/me/fast/gnz.db", "xfs"),
        ("/home/me/faster/gnz.db", "nfs4"),
        ("/home/me/fast/far/gnz.db", "fuse.sshfs"),
        ("/mnt/my share/gnz.db", "cifs"),
        ("/over/gnz.db", "lustre"),
    ],
)
def test_innermost_mount_counts(path: str, expected: str) -> None:
    assert file_system_of(Path(path), MOUNTS) == expected
    assert (expected in NETWORK_FILE_SYSTEMS) == (expected not in {"ext4", "xfs"})


def test_file_on_a_network_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\n")
    monkeypatch.setattr("gnz_track.store.address.MOUNTS", mounts)
    with pytest.raises(StoreUnusable, match=r"network file system \(nfs4\).*postgresql://"):
        open_store(str(tmp_path / "new" / "gnz.db"))
    assert not (tmp_path / "new").exists()


def test_places_that_hold_no_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="it is a folder; name a file in it"):
        check_place(parse_address(str(tmp_path)))
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnusable, match="is no folder"):
        check_place(parse_address(str(tmp_path / "file" / "gnz.db")))


def test_what_is_no_file_is_refused_untouched(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.db")
    with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(tmp_path):
        listening.bind("socket.db")
    for name in ("pipe.db", "socket.db"):
        with pytest.raises(StoreUnusable, match="it is a device, a pipe or a socket; name a file"):
            open_store(str(tmp_path / name))
    assert {path.name for path in tmp_path.iterdir()} == {"pipe.db", "socket.db"}
    assert not (tmp_path / "pipe.db").is_file()


def test_link_to_a_store_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.db").touch()
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    with open_store(str(tmp_path / "link.db")) as store:
        assert store.experiments() == []
    assert (tmp_path / "link.db").is_symlink()
    assert (tmp_path / "real.db").stat().st_size > 0


def test_files_beside_a_store_are_left_alone(tmp_path: Path) -> None:
    ours = [tmp_path / f"runs.db.new{ending}" for ending in ("", "-wal", "-shm", "-journal")]
    theirs = tmp_path / "runs.db.newest_results.csv"
    for file in (*ours, theirs):
        file.write_text("precious")
    with open_store(str(tmp_path / "runs.db")):
        pass
    assert theirs.read_text() == "precious"
    assert not any(file.exists() for file in ours)


@pytest.mark.parametrize("tables", [("recipes",), ("runs", "experiments"), ("alembic_version",)])
def test_database_of_something_else_is_refused_untouched(tables: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(file)) as connection:
        for name in tables:
            connection.execute(f"CREATE TABLE {name} (version_num)")
        connection.execute(f"INSERT INTO {tables[0]} VALUES ('0123abcd')")  # noqa: S608
        connection.commit()
    before = file.read_bytes()
    with pytest.raises(StoreUnusable, match=f"a database of something else, with the tables {min(tables)}"):
        open_store(str(file))
    assert file.read_bytes() == before


def test_tables_of_another_version_are_told(database: Path) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0123abcd'")
        connection.commit()
    with pytest.raises(StoreUnusable, match="another version of MLflow; copy it"):
        open_store(str(database))


def test_user_of_a_server_is_no_part_of_its_host() -> None:
    asked = []

    class Gate(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers["Authorization"], self.headers["Host"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"OK")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Gate) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host = f"127.0.0.1:{server.server_port}"
        with connection_module._prepared_server(parse_address(f"http://alice:p%40w@{host}")):  # noqa: SLF001
            server.shutdown()
    assert asked == [("/health", f"Basic {base64.b64encode(b'alice:p@w').decode()}", host)]


def test_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("this is not a database, but long enough to be mistaken for one " * 10)
    with pytest.raises(StoreUnusable, match="file is not a database; choose another file"):
        open_store(str(tmp_path / "notes.txt"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_file_is_refused(database: Path) -> None:
    database.chmod(0o444)
    with pytest.raises(StoreUnusable, match="read-only; make it writable"):
        open_store(str(database))


def test_errors_name_the_next_step() -> None:
    assert str(StoreUnusable("a", "it is odd", remedy="do this")) == "the store 'a' cannot be used: it is odd; do this"
    said = str(StoreUnreachable("a", "refused"))
    assert said == (
        "the store 'a' does not answer: refused; start it, or check the address. "
        "Records that were spooled are replayed with: gnz sync --store a"
    )
    assert str(OutboxCorrupted(["f:3"], "aside")) == (
        "no record can be read at f:3; the lines are kept in aside. Rerun their cells: gnz run"
    )
