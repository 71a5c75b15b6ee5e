from __future__ import annotations

import json
import socket
import sqlite3
import urllib.request
from pathlib import Path

import pytest
from cells import context_of, failed_record, record
from chromium import open_browser
from conftest import free_port, mlflow_server
from test_sweep_manifest import plan_of, records_of

from gnz_track.errors import StoreUnusable
from gnz_track.store.address import parse_address
from gnz_track.store.sweep_manifest import conclude_sweep
from gnz_track.store.ui import choose_port, links_of_sweep, newest_sweep, serve
from gnz_track.store.writer import Store, open_store


def processes_of(group: int) -> list[Path]:
    """Return the folders, below /proc, of the processes of a group."""
    return [place for place in Path("/proc").iterdir() if place.name.isdecimal() and _group_of(place) == group]


def _group_of(place: Path) -> int:
    try:
        return int((place / "stat").read_text().rpartition(")")[2].split()[2])
    except (FileNotFoundError, ProcessLookupError):
        return -1


@pytest.mark.slow
def test_password_of_postgresql_is_in_no_list_of_processes(postgresql_database: str, tmp_path: Path) -> None:
    address = parse_address(postgresql_database.replace("gnz@", "gnz:very-secret@"), home=tmp_path)
    with open_store(address) as store:
        run_id = store.finish(record())
    with serve(address, port=choose_port(free_port())) as interface:
        group = interface.process.pid
        commands = [(place / "cmdline").read_text() for place in processes_of(group)]
        page = f"{interface.url}/ajax-api/2.0/mlflow/runs/get?run_id={run_id}"
        with urllib.request.urlopen(page, timeout=60) as answer:  # noqa: S310  (a page of this machine)
            assert json.load(answer)["run"]["info"]["status"] == "FINISHED"
        assert "very-secret" not in interface.log.read_text()
    assert len(commands) >= 2
    assert not any("very-secret" in command for command in commands)
    assert processes_of(group) == []


@pytest.mark.slow
def test_server_that_cannot_read_the_store_is_told_in_one_line(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'unheard-of'")
    connection.close()
    address, port = parse_address(str(database)), choose_port(free_port())
    with pytest.raises(StoreUnusable, match="another version of MLflow") as caught, serve(address, port=port):
        pass
    assert "\n" not in str(caught.value)
    assert "mlflow db upgrade" in str(caught.value)


@pytest.mark.slow
def test_server_that_ends_says_its_last_word(store: Store) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert choose_port(port) != port
        with (
            pytest.raises(StoreUnusable, match=r"ended with: .*address already in use"),
            serve(store.address, port=port),
        ):
            pass


def test_store_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="gnz run"), serve(parse_address(str(tmp_path / "x.db")), port=1):
        pass


def write_sweep(store: Store) -> None:
    records = [*records_of(), failed_record(2, model="GAT", context=context_of())]
    run_id = store.open_sweep(context_of())
    for one in records:
        store.finish(one)
    conclude_sweep(store, "quick", "first", run_id=run_id, plan=plan_of(records))


def test_sweep_without_views_has_no_links(store: Store) -> None:
    assert newest_sweep(store.address) == ""
    store.open_sweep(context_of("other"))
    assert newest_sweep(store.address) == "other"
    assert links_of_sweep(store.address, "other") == {}


@pytest.mark.slow
def test_links_open_a_row_for_each_model_in_a_browser(store: Store, database: Path, tmp_path: Path) -> None:
    write_sweep(store)
    with mlflow_server(database, tmp_path) as url, open_browser() as tab:
        by_file = links_of_sweep(store.address, "first", url=url)
        assert list(by_file) == ["cora", "zinc"]
        assert links_of_sweep(parse_address(url.replace("//", "//me:secret@")), "first") == by_file
        tab.open(by_file["cora"])
        tab.wait("document.body.innerText.includes('Group: GraphSAGE')")
        text = tab.ask("document.body.innerText")
    # Two seeds each; the failed third seed of one model does not count, and the runs themselves are folded away.
    assert text.count("Group: ") == 3
    assert "6 matching runs" in " ".join(text.split())
    assert "first by model" in text
    assert "GAT s0" not in text
    assert all(word in text for word in ("test/accuracy", "Group by: model"))
