"""Audits in a store: written as runs, read back whole, the latest of each task, by SQL and by search."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnz_track.store.address import parse_address
from gnz_track.store.audits import (
    AuditRecord,
    DiversityRecord,
    ModeRecord,
    PairRecord,
    SampleRecord,
    read_audits,
    write_audit,
)
from gnz_track.store.listings import list_sweeps
from gnz_track.store.reader import read_table
from gnz_track.store.schema import AUDIT_FILE
from gnz_track.store.writer import Store

RECORD = AuditRecord(
    task="mutag",
    task_type="graph_cls",
    dataset="mutag",
    dataset_digest="a" * 32,
    n_graphs=188,
    source="the graphs of the dataset",
    measure={"graph": "diffusion", "features": "euclidean", "norm": "L_{1,1}"},
    times=(1, 10),
    modes=(ModeRecord(name="original", means=(0.5, None), sds=(0.1, None), n_draws=3, values=(0.4, None, 0.6)),),
    structure=DiversityRecord(mean=0.51, sd=0.02, grade="o", sd_grade="--"),
    features=DiversityRecord(mean=None, sd=None, grade="", sd_grade=""),
    decision="keep",
    rule='it\'s "worth" it, says Łukasz',
    agreement={"jaccard": 0.5, "of_structure": None},
    performance="++",
    score=5.0,
    informative={"structure": 2, "features": 2},
    test="bootstrap",
    alpha=0.01,
    n_permutations=10_000,
    direction="up",
    samples=(SampleRecord(mode="original", model="GIN", metric="accuracy", scores=(0.9, 0.8)),),
    pairs=(
        PairRecord(
            metric="accuracy",
            first="original",
            second="empty-graph",
            statistic=0.8,
            p=0.001,
            p_adjusted=0.015,
            is_significant=False,
            outperforms=False,
            low=-0.1,
            high=0.2,
        ),
    ),
    notes=("a note",),
    version="0.1",
)


@pytest.fixture(params=["sql", "search"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Read by SQL, or as a store is read whose tables are not known."""
    if request.param == "search":
        monkeypatch.setattr("gnz_track.store.reader.KNOWN_REVISIONS", {})
    return str(request.param)


@pytest.mark.usefixtures("way")
def test_the_latest_audit_of_each_task_is_read_back_whole(store: Store) -> None:
    other = replace(RECORD, task="enzymes", decision="deprecate")
    for record in (replace(RECORD, decision="undecided"), other, RECORD):
        write_audit(store, record)
    assert read_audits(store.address) == {"mutag": RECORD, "enzymes": other}
    assert read_audits(store.address, ["enzymes", "cora"]) == {"enzymes": other}


@pytest.mark.usefixtures("way")
def test_one_that_cannot_be_read_gives_way_to_an_earlier_one(store: Store) -> None:
    write_audit(store, RECORD)
    run_id = write_audit(store, replace(RECORD, decision="realign"))
    store.write_text(run_id, AUDIT_FILE, "{")
    assert read_audits(store.address)["mutag"].decision == "keep"


def test_audits_are_no_cells_and_no_sweeps(store: Store) -> None:
    write_audit(store, RECORD)
    assert read_table(store.address).empty
    assert list_sweeps(store.address) == []
    assert store.running() == []


def test_a_store_that_is_not_there_has_none(tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("none") / "gnz.db"
    assert read_audits(parse_address(str(place))) == {}
    assert not place.exists()
