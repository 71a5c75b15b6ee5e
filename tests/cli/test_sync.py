"""``gnz sync`` writes what waits, says what it did, and leaves nothing out without a word."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cells import context_of, record, sweep_records

from gnz_track.store.address import parse_address
from gnz_track.store.outbox import Outbox, make_outbox_folder
from gnz_track.store.reader import read_table

Gnz = Callable[..., Any]


@pytest.fixture
def folder(gnz: Gnz) -> Path:
    """Return the outbox of the configured store."""
    assert gnz
    return make_outbox_folder(parse_address())


def outbox_sweep(folder: Path, name: str = "away") -> None:
    context = context_of(name)
    with Outbox(folder, context) as outbox:
        for one in sweep_records(context):
            outbox.append(one)


def test_what_waits_is_written_once(gnz: Gnz, folder: Path) -> None:
    outbox_sweep(folder)
    outbox_sweep(folder, "other")
    listed = gnz("sync", "--list")
    assert (listed.code, listed.err) == (0, "")
    assert str(parse_address()) in listed.out
    assert [row.split()[1:3] for row in listed.out.splitlines()[2:]] == [["away", "10"], ["other", "10"]]
    answer = gnz("sync")
    assert (answer.code, answer.err) == (0, "")
    assert [row.split() for row in answer.out.splitlines()[2:]] == [["away", "10"], ["other", "10"]]
    assert len(read_table(sweep="away")) == 10
    for arguments in (("sync",), ("sync", "--list")):
        again = gnz(*arguments)
        assert (again.code, again.err) == (0, "")
        assert again.out.startswith("nothing waits for ")


def test_nothing_to_do_makes_no_store(gnz: Gnz, tmp_path: Path) -> None:
    assert gnz("sync").code == 0
    assert not (tmp_path / "runs").exists()


def test_refused_record_and_busy_sweep_are_told_with_code_1(gnz: Gnz, folder: Path) -> None:
    with Outbox(folder, context_of("refused")) as outbox:
        outbox.append(replace(record(0, context=context_of("refused")), split_digest="s" * 9000))
        outbox.append(record(1, context=context_of("refused")))
    with Outbox(folder, context_of("busy")):
        answer = gnz("sync")
    assert answer.code == 1
    busy, refused = (row.split() for row in answer.out.splitlines()[2:])
    assert busy == ["busy", "0", "yes"]
    assert refused == ["refused", "1", "1"]
    told_busy, told_refused = answer.err.splitlines()
    assert told_busy.startswith("busy: another process is writing it")
    assert "tag gnz.split.digest" in told_refused
    assert gnz("sync").code == 1, "what was refused still waits"
    listed = gnz("sync", "--list")
    assert listed.out.splitlines()[-1].split()[1:4] == ["refused", "1", "1"]
    assert [path.name for path in (folder / "refused").iterdir()] == ["refused.jsonl", "refused.reasons"]


def test_line_that_cannot_be_read_is_told_with_code_1(gnz: Gnz, folder: Path) -> None:
    outbox_sweep(folder)
    file = folder / "away.jsonl"
    file.write_bytes(file.read_bytes() + b"garbage\n")
    assert gnz("sync", "--list").out.splitlines()[2].split()[1:4] == ["away", "10", "1"]
    answer = gnz("sync")
    assert answer.code == 1
    assert f"{file}:12" in answer.err
    assert len(read_table(sweep="away")) == 10


def test_what_waits_for_others_is_told(gnz: Gnz) -> None:
    for place in ("http://one:5000", "http://two:5000"):
        outbox_sweep(make_outbox_folder(parse_address(place)))
    assert (
        gnz("sync").out
        == f"nothing waits for {parse_address()}; records wait for 2 other stores, see: gnz sync --list\n"
    )
    assert gnz("sync", "--store", "http://three:5000").out.startswith("nothing waits for http://three:5000; records ")


def test_store_that_is_away_is_one_line_and_code_2(gnz: Gnz) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{probe.getsockname()[1]}"  # taken, and nobody listens
        folder = make_outbox_folder(parse_address(uri))
        outbox_sweep(folder)
        answer = gnz("sync", "--store", uri)
    assert (answer.code, answer.out) == (2, "")
    (line,) = answer.err.splitlines()
    assert f"the store '{uri}' does not answer" in line
    assert "gnz sync" in line
    assert gnz("sync", "--list").out.splitlines()[2].split()[:3] == [uri, "away", "10"]


def test_refused_record_is_written_once_the_store_takes_it(
    gnz: Gnz, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Outbox(folder, context_of("refused")) as outbox:
        outbox.append(replace(record(0, context=context_of("refused")), split_digest="s" * 9000))
    assert gnz("sync").code == 1
    # As a later version may take more.
    monkeypatch.setattr("gnz_track.store.schema.MOST_TAG_CHARACTERS", 10_000)
    monkeypatch.setenv("MLFLOW_TRUNCATE_LONG_VALUES", "true")
    answer = gnz("sync")
    assert (answer.code, answer.err) == (0, "")
    assert len(read_table(sweep="refused")) == 1
    assert {path.name for path in folder.iterdir()} == {"store.txt"}
    assert gnz("sync").out.startswith("nothing waits for ")
