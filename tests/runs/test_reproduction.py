"""Past runs are trained again from their records alone, and what has changed is named."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import own_nets
import pytest
from servers import mlflow_server
from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.datasets.catalogue import DATASETS, TASKS
from gnz_track.datasets.frozen import TENSORS, freeze
from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.errors import BadValue, DataCorrupted, DataMissing, NotReproducible, TargetMissing, UnknownRun
from gnz_track.models.catalogue import describe
from gnz_track.records import to_json
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.fingerprint import NUMBERS, fingerprint
from gnz_track.runs.plan import Place, Plan, make_plan
from gnz_track.runs.remaining import find_remaining
from gnz_track.runs.reproduce import (
    Change,
    Conditions,
    Reproduction,
    ReproductionVerdict,
    SeriesDifference,
    rebuild,
    reproduce,
)
from gnz_track.runs.sweep import run_sweep
from gnz_track.runs.sweep_writer import Tracking
from gnz_track.store import past_runs as past_run
from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.cell_book import write_book
from gnz_track.store.environment import collect_environment
from gnz_track.store.outbox import Outbox
from gnz_track.store.past_runs import read_run, read_sweep_run
from gnz_track.store.replay import replay
from gnz_track.store.run_record import SweepContext, record_of
from gnz_track.store.writer import open_store
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, ModelRow, Protocol, Status, Task

THREE_TASKS = ("planted_partition", "les_miserables", "digits_regions")
VERSION = "0.1"
# No row of the table: the record must hold what it says.
OWN_PROTOCOL = replace(PROTOCOLS.get("best-val"), name="mine", hidden_channels=7, patience=3)


@dataclass(frozen=True)
class Past:
    """A store with runs of the past, the folder of their data, and run ids by (task, model)."""

    address: Address
    home: Path
    runs: dict[tuple[str, str], str]

    def again(self, run_id: str, **changed: Any) -> Reproduction:
        conditions = Conditions(place=Place(home=self.home), **changed)
        return reproduce(run_id, self.address, conditions=conditions, version=VERSION)


def track(
    address: Address,
    home: Path,
    tasks: Sequence[Task],
    models: Sequence[object],
    *,
    protocol: Protocol = OWN_PROTOCOL,
    sweep: str = "past",
    **hyperparameters: Any,
) -> Past:
    """Train and write a sweep of one seed."""
    rows = [describe(model) for model in models]
    plan = make_plan(tasks, rows, seeds=[3], protocol=protocol, epochs=6, device="cpu", place=Place(home=home))
    varied = tuple(sorted(hyperparameters.items()))
    plan = Plan(cells=tuple(replace(cell, hyperparameters=varied) for cell in plan.cells), skipped=plan.skipped)
    tracking = Tracking(address=address, sweep=sweep, suite="quick", version=VERSION)
    table = run_sweep(find_remaining(plan, address), tracking, execute=run_inline).table
    return Past(address, home, {(row.task, row.model): row.run_id for row in table.itertuples()})


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder without git: who else works on this one changes its state."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def tracked(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Past:
    """Return a store with three task types, and models that fail."""
    folder = tmp_path_factory.mktemp("past")
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder):
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))
        address = parse_address(str(shutil.copy(empty_database, folder / "gnz.db")))
        tasks = [TASKS.get(name) for name in THREE_TASKS]
        models = ["GCN", own_nets.FailsForward, own_nets.FailsLate]
        return track(address, folder / "home", tasks, models, lr=0.1 + 0.2, hidden_channels=8)


@pytest.fixture
def past(tracked: Past, tmp_path: Path) -> Past:
    """Return the same with a database and data that may be changed."""
    file = shutil.copy(tracked.address.file, tmp_path / "copy.db")
    for log in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copy(f"{tracked.address.file}{log}", f"{file}{log}")
    shutil.copytree(str(tracked.address.artifacts), tmp_path / "artifacts")
    return replace(
        tracked, address=parse_address(str(file)), home=Path(shutil.copytree(tracked.home, tmp_path / "home"))
    )


def set_tags(past: Past, run_id: str, **tags: str) -> None:
    from mlflow.entities import RunTag

    with open_store(past.address) as store:
        for key, value in tags.items():
            store.tracking.set_tag(run_id, RunTag(key.replace("__", "."), value))


# Equal ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", THREE_TASKS)
def test_run_is_reproduced_bit_by_bit(task: str, tracked: Past) -> None:
    run_id = tracked.runs[task, "GCN"]
    found = tracked.again(run_id[:8])
    assert found.verdict is ReproductionVerdict.bit_identical, to_json(found)
    assert (found.run_id, found.task, found.changes, found.notes) == (run_id, task, (), ())
    assert found.score_then == found.score_now is not None
    assert found.cell == f"{task} GCN s3 hidden_channels=8 lr=0.30000000000000004"
    assert (found.n_series, found.n_points > 6) == (3, True)
    assert found.n_numbers >= 4, "score, validation score, selected epoch and size"


def test_cell_is_rebuilt_as_it_was(tracked: Past) -> None:
    run = read_run(tracked.address, tracked.runs["les_miserables", "GCN"])
    cell = rebuild(run, tracked.address, Conditions(place=Place(home=tracked.home))).cell
    assert fingerprint(cell) == run.tags[schema.FINGERPRINT]
    assert cell.protocol == OWN_PROTOCOL
    assert (cell.seed, cell.epochs, cell.model.name) == (3, 6, "GCN")
    assert dict(cell.hyperparameters) == {"hidden_channels": 8, "lr": 0.1 + 0.2}


def test_data_are_made_again_where_they_are_gone(tracked: Past, tmp_path: Path) -> None:
    found = replace(tracked, home=tmp_path / "empty").again(tracked.runs["planted_partition", "GCN"])
    assert found.verdict is ReproductionVerdict.bit_identical


@pytest.mark.parametrize("model", ["FailsForward", "FailsLate"])
def test_failure_is_reproduced(model: str, tracked: Past) -> None:
    found = tracked.again(tracked.runs["planted_partition", model], trusts_code=True)
    assert found.verdict is ReproductionVerdict.bit_identical
    assert found.error_then == found.error_now != ""
    assert (found.status_then, found.status_now, found.score_now) == (Status.failed, Status.failed, None)
    assert (found.n_points > 0) == (model == "FailsLate"), "what it had learnt until then is compared too"


def test_nothing_is_written(past: Past) -> None:
    def runs() -> list[str]:
        with open_store(past.address) as store:
            return sorted(to_json(dict(run.data.tags)) for run in store.search(store.experiments(), {}))

    before = runs()
    past.again(past.runs["les_miserables", "GCN"])
    assert runs() == before


def test_record_that_waited_on_a_disk_is_enough(
    address: Address, cell_on: Callable[..., Cell], world: Callable[[str], Any], tmp_path: Path
) -> None:
    cell = cell_on(world("nodes"))
    # As the frozen data of an own task lie.
    shutil.copytree(cell.data, tmp_path / "home" / "custom" / "nodes" / cell.dataset_digest)
    book = write_book({fingerprint(cell): cell}, numbers=NUMBERS)
    context = SweepContext(sweep="past", suite="quick", environment=collect_environment(), version=VERSION, book=book)
    [result] = run_inline([cell])
    record = record_of(result, context, fingerprint=fingerprint(cell), ended_at=2_000_000)
    with Outbox(tmp_path / "spool", context) as outbox:
        outbox.append(record)
    with open_store(address) as store:
        assert len(replay(tmp_path / "spool", store).written) == 1
        run_id = store.runs_of_sweep("quick", "past")[record.key][0]
    assert Past(address, tmp_path / "home", {}).again(run_id).verdict is ReproductionVerdict.bit_identical


# Changed numbers -----------------------------------------------------------------------------------------------------


def change_number(past: Past, run_id: str, key: str, by: float, *, epoch: int = 0) -> None:
    """Change a number where the store keeps it."""
    with contextlib.closing(sqlite3.connect(past.address.file)) as connection, connection:
        for table in ("metrics", "latest_metrics"):
            text = f"UPDATE {table} SET value = value + ? WHERE run_uuid = ? AND key = ? AND step = ?"  # noqa: S608
            connection.execute(text, (by, run_id, key, epoch))


@pytest.mark.parametrize(
    ("by", "verdict"),
    [(1e-12, "within_tolerance"), (9e-5, "within_tolerance"), (2e-4, "different"), (-0.1, "different")],
)
def test_other_score_is_judged_by_the_tolerance(by: float, verdict: str, past: Past) -> None:
    run_id = past.runs["planted_partition", "GCN"]
    change_number(past, run_id, "test/accuracy", by)
    found = past.again(run_id)
    assert found.verdict == verdict
    [number] = found.numbers
    assert (number.name, number.then, number.now) == ("test/accuracy", found.score_then, found.score_now)
    assert found.series == ()


def test_other_curve_is_named_with_its_first_epoch_and_largest_difference(past: Past) -> None:
    run_id = past.runs["les_miserables", "GCN"]
    change_number(past, run_id, "curve/train/loss", 0.25, epoch=2)
    change_number(past, run_id, "curve/train/loss", -0.5, epoch=4)
    found = past.again(run_id)
    assert found.verdict is ReproductionVerdict.within_tolerance, "the score is the same"
    [series] = found.series
    assert (series.series, series.first_epoch) == ("train/loss", 2)
    assert series.largest == pytest.approx(0.5)
    assert found.numbers == ()


def test_curve_that_ends_elsewhere_is_different(past: Past) -> None:
    run_id = past.runs["les_miserables", "GCN"]
    with contextlib.closing(sqlite3.connect(past.address.file)) as connection, connection:
        connection.execute("DELETE FROM metrics WHERE run_uuid = ? AND key = 'curve/val/auc' AND step >= 4", (run_id,))
    assert past.again(run_id).series == (SeriesDifference(series="val/auc", first_epoch=5, largest=None),)


@pytest.mark.parametrize("tolerance", [-1.0, float("nan"), float("inf")])
def test_tolerance_that_is_none_is_refused(tolerance: float, tracked: Past) -> None:
    with pytest.raises(BadValue, match="tolerance is"):
        reproduce("0" * 32, tracked.address, conditions=Conditions(), tolerance=tolerance)


# Changed surroundings ------------------------------------------------------------------------------------------------


def test_changed_environment_is_named(past: Past) -> None:
    run_id = past.runs["planted_partition", "GCN"]
    now = collect_environment()
    then = replace(
        now, python="3.10.1", torch="1.0", cpu="an abacus", packages={**now.packages, "numpy": "1.0", "gone": "7"}
    )
    sweep = read_sweep_run(past.address, suite="quick", sweep="past")
    assert sweep is not None
    with open_store(past.address) as store:
        store.write_text(sweep.run_id, schema.environment_file(then.digest), to_json(then))
    tags = {"env__python": "3.10.1", "env__torch": "1.0", "gnz__env": then.digest, "gnz__version": "0.0.1"}
    set_tags(past, run_id, **tags, **{schema.GIT_COMMIT: "c" * 40, schema.GIT_DIRTY: "true"})
    found = past.again(run_id)
    assert found.verdict is ReproductionVerdict.bit_identical
    changes = {change.what: (change.then, change.now) for change in found.changes}
    assert changes == {
        "gnz_track": ("0.0.1", VERSION),
        "Python": ("3.10.1", now.python),
        "torch": ("1.0", now.torch),
        "git commit of the working folder": ("c" * 40, "none"),
        "working folder has changes that no commit holds": ("true", "false"),
        "processor": ("an abacus", now.cpu),
        "package numpy": ("1.0", now.packages["numpy"]),
        "package gone": ("7", "none"),
    }
    assert found.notes == ("the working folder had changes that no commit holds: what they were is not recorded",)


def test_other_instructions_are_named_and_unknown_ones_are_no_change(past: Past) -> None:
    run_id = past.runs["planted_partition", "GCN"]
    set_tags(past, run_id, **{schema.INSTRUCTIONS: "AVX1024; MKL_CBWR=COMPATIBLE"})
    [change] = past.again(run_id).changes
    assert (change.what, change.then) == ("instructions of the processor", "AVX1024; MKL_CBWR=COMPATIBLE")
    with sqlite3.connect(past.address.file) as connection:
        connection.execute("delete from tags where run_uuid = ? and key = ?", (run_id, schema.INSTRUCTIONS))
    found = past.again(run_id)
    assert found.changes == ()
    assert found.notes == ("with which instructions of the processor it was computed is not recorded",)


ON_ANOTHER_PATH = [
    ("AVX512; kernels", "AVX512; kernels", ""),
    ("AVX512", "AVX512; kernels", "GNZ_KERNELS=off gnz reproduce"),
    ("AVX2; kernels", "AVX512; kernels", "ATEN_CPU_CAPABILITY=avx2 gnz reproduce"),
    ("AVX2; MKL_CBWR=AVX2,STRICT a", "AVX512; kernels", "ATEN_CPU_CAPABILITY=avx2 MKL_CBWR='AVX2,STRICT a' gnz"),
    ("AVX512; kernels", "AVX2", "gnz doctor says why no compiled kernels compute here (is GNZ_KERNELS set?)"),
    ("AVX1024; kernels; X=$(rm *); $(rm *)", "AVX512; kernels", "with 'AVX512; kernels'"),
]


@pytest.mark.parametrize(("then", "now", "said"), ON_ANOTHER_PATH)
def test_other_bits_of_another_path_are_explained(
    then: str, now: str, said: str, past: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = past.runs["planted_partition", "GCN"]
    change_number(past, run_id, "test/accuracy", 1e-12)
    set_tags(past, run_id, **{schema.INSTRUCTIONS: then})
    monkeypatch.setattr("gnz_track.runs.run_one.name_instructions", lambda _=None: now)
    notes = past.again(run_id).notes
    if not said:
        assert notes == ()
        return
    [note] = notes
    assert note.startswith(f"its numbers were computed with {then!r}, and those of now with {now!r}")
    assert said in note
    typed = note.partition("may come of: ")[2]
    assert "$(" not in typed
    assert not typed or run_id[:12] in typed


def test_equal_bits_of_another_path_need_no_explanation(past: Past) -> None:
    run_id = past.runs["planted_partition", "GCN"]
    set_tags(past, run_id, **{schema.INSTRUCTIONS: "AVX1024"})
    assert past.again(run_id).notes == ()


def test_environment_whose_file_is_gone_is_noted(past: Past) -> None:
    run_id = past.runs["planted_partition", "GCN"]
    set_tags(past, run_id, gnz__env="0" * 16)
    assert past.again(run_id).notes == (
        "the file with all facts of its environment is gone: other packages may differ",
    )


def test_other_way_of_making_numbers_is_named(past: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gnz_track.runs.reproduce.NUMBERS", NUMBERS + 1)
    [change] = past.again(past.runs["planted_partition", "GCN"]).changes
    what = "way in which gnz_track makes numbers (NUMBERS)"
    assert change == Change(what=what, then=str(NUMBERS), now=str(NUMBERS + 1))


def test_device_that_is_not_here_is_refused_and_another_one_is_named(past: Past) -> None:
    run_id = past.runs["planted_partition", "GCN"]
    set_tags(past, run_id, **{schema.ENV_DEVICE: "cuda:77"})
    with pytest.raises(NotReproducible, match=r"trained on 'cuda:77', which is not here .* --device cpu"):
        past.again(run_id)
    found = past.again(run_id, device="cpu")
    assert (found.verdict, found.changes) == (
        ReproductionVerdict.bit_identical,
        (Change(what="device", then="cuda:77", now="cpu"),),
    )


# Changed data --------------------------------------------------------------------------------------------------------


def test_changed_byte_is_named_with_both_digests_and_the_next_command(past: Past) -> None:
    [file] = past.home.glob(f"planted_partition/**/{TENSORS}")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    run_id = past.runs["planted_partition", "GCN"]
    then = read_run(past.address, run_id).tags[schema.DATASET_DIGEST]
    with pytest.raises(DataCorrupted) as caught:
        past.again(run_id)
    assert (caught.value.expected, caught.value.found != then) == (then, True)
    for words in (then, caught.value.found, "rm -r", "gnz data get planted_partition"):
        assert words in str(caught.value)
    assert past.again(past.runs["les_miserables", "GCN"]).verdict is ReproductionVerdict.bit_identical, (
        "other data are as they were"
    )


NINE = Data(num_nodes=9, edge_index=Tensor([[0, 1], [1, 2]]).long())


def test_whole_data_of_another_digest_are_not_taken(past: Past) -> None:
    folder = past.home / "planted_partition"
    dataset = freeze(NINE, folder, row=DATASETS.get(folder.name))
    run_id = past.runs["planted_partition", "GCN"]
    then = read_run(past.address, run_id).tags[schema.DATASET_DIGEST]
    with pytest.raises(NotReproducible, match=f"of digest {then}, and here it is {dataset.digest}") as caught:
        past.again(run_id)
    assert f"gnz_track {VERSION}: gnz data get planted_partition" in str(caught.value)


def test_data_that_are_not_those_of_the_catalogue_are_made_again(past: Past) -> None:
    row = DATASETS.get("les_miserables")
    assert freeze(NINE, past.home / row.name, row=row).digest != row.checksum
    assert past.again(past.runs[row.name, "GCN"]).verdict is ReproductionVerdict.bit_identical


def test_own_data_are_found_by_their_digest(address: Address, world: Callable[[str], Any], tmp_path: Path) -> None:
    task = task_from_dataset("mine", "node_cls", world("nodes").graphs[0])
    past = track(address, tmp_path / "home", [task], ["MLP"])
    [run_id] = past.runs.values()
    assert past.again(run_id).verdict is ReproductionVerdict.bit_identical
    shutil.rmtree(tmp_path / "home" / "custom")
    with pytest.raises(DataMissing, match="the script that made the task 'mine'"):
        past.again(run_id)


# Models --------------------------------------------------------------------------------------------------------------

NET = """
from torch import nn
from torch_geometric.nn import GCNConv

class Net(nn.Module):
    task_types = ("node_cls",)

    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.layer = GCNConv(in_channels, out_channels)

    def forward(self, data):
        return self.layer(data.x, data.edge_index) * 1.0
"""


@pytest.fixture
def write_net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Return a function that (re)writes the module ``nets_of_a_user``."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def write_net(source: str) -> None:
        (tmp_path / "nets_of_a_user.py").write_text(textwrap.dedent(source))
        sys.modules.pop("nets_of_a_user", None)

    yield write_net
    sys.modules.pop("nets_of_a_user", None)


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("* 1.0", "* 1.0  # as it was", "bit_identical"),
        ("* 1.0", "* 3.0", "different"),
        ("* 1.0", "/ None", "different"),
    ],
)
def test_changed_source_of_an_own_model_is_named(
    old: str, new: str, verdict: str, address: Address, write_net: Callable[[str], None], tmp_path: Path
) -> None:
    write_net(NET)
    past = track(address, tmp_path / "home", [TASKS.get("planted_partition")], ["nets_of_a_user:Net"])
    [run_id] = past.runs.values()
    assert past.again(run_id, trusts_code=True).changes == ()
    write_net(NET.replace(old, new))
    found = past.again(run_id, trusts_code=True)
    assert found.verdict == verdict
    # A comment is no change of the code.
    expected = [] if "#" in new else ["source of the model Net", "code nets_of_a_user:Net"]
    assert [change.what for change in found.changes] == expected
    assert (found.error_now != "") == (new == "/ None")


def test_own_model_that_is_gone_is_said(address: Address, write_net: Callable[[str], None], tmp_path: Path) -> None:
    write_net(NET)
    past = track(address, tmp_path / "home", [TASKS.get("planted_partition")], ["nets_of_a_user:Net"])
    write_net("")
    with pytest.raises(TargetMissing, match="nets_of_a_user:Net"):
        past.again(*past.runs.values(), trusts_code=True)


def local_net(width: int) -> ModelRow:
    """Return a model that no other process can import."""

    class Local(nn.Module):
        task_types = ("node_cls",)

        def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:  # noqa: ARG002
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(in_channels, width), nn.Tanh(), nn.Linear(width, out_channels))

        def forward(self, data: Data) -> Tensor:
            found: Tensor = self.layers(data.x)
            return found

    return describe(Local)


def test_model_by_value_runs_only_where_it_is_trusted(address: Address, tmp_path: Path) -> None:
    past = track(address, tmp_path / "home", [TASKS.get("planted_partition")], [local_net(5)])
    [run_id] = past.runs.values()
    with pytest.raises(NotReproducible, match=r"'Local' lies in the store as code.*--trust"):
        past.again(run_id)
    assert past.again(run_id, trusts_code=True).verdict is ReproductionVerdict.bit_identical
    set_tags(past, run_id, env__python="3.4.0")
    with pytest.raises(NotReproducible, match=r"code of Python 3\.4"):
        past.again(run_id, trusts_code=True)


def test_payload_of_another_model_is_refused(address: Address, tmp_path: Path) -> None:
    row, other = local_net(5), local_net(6)
    swapped = replace(row, payload=other.payload)
    past = track(address, tmp_path / "home", [TASKS.get("planted_partition")], [swapped])
    with pytest.raises(NotReproducible, match=f"has the digest {other.source_digest}, not {row.source_digest}"):
        past.again(*past.runs.values(), trusts_code=True)


# What cannot be reproduced -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["", "abc", "12345", "xyzxyz", "0" * 33, "%%%%%%", "______", "../../etc"])
def test_what_is_no_id_is_refused(start: str, tracked: Past) -> None:
    with pytest.raises(UnknownRun, match=r"6 to 32 of the digits 0-9 and a-f\. List runs with: gnz ls"):
        tracked.again(start)


def test_unknown_and_ambiguous_ids_are_refused(tracked: Past, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(UnknownRun, match="no id begins so"):
        tracked.again("0" * 32)
    monkeypatch.setattr(past_run, "FEWEST_DIGITS", 0)
    with pytest.raises(UnknownRun, match="several ids begin so, type more of it"):
        tracked.again("")
    with pytest.raises(UnknownRun, match="no id begins so"):
        reproduce("0" * 32, parse_address(str(tmp_path / "none.db")), conditions=Conditions())


def test_id_in_capitals_is_taken(tracked: Past) -> None:
    run_id = tracked.runs["les_miserables", "GCN"]
    assert read_run(tracked.address, f" {run_id.upper()[:12]} ").run_id == run_id


def test_runs_that_did_not_end_by_themselves_are_refused(past: Past) -> None:
    run_id = past.runs["planted_partition", "FailsForward"]
    for error in ("TimeLimit: the cell ran longer than 5 s", "WorkerDied: ended by SIGKILL"):
        set_tags(past, run_id, gnz__error=error)
        with pytest.raises(NotReproducible, match=f"did not end by itself .{error}"):
            past.again(run_id)
    for status, words in (("KILLED", "it was killed before it ended"), ("RUNNING", "it has not ended yet")):
        with contextlib.closing(sqlite3.connect(past.address.file)) as connection, connection:
            connection.execute("UPDATE runs SET status = ? WHERE run_uuid = ?", (status, run_id))
        with pytest.raises(NotReproducible, match=words):
            past.again(run_id)


def test_run_of_a_sweep_is_refused(tracked: Past) -> None:
    sweep = read_sweep_run(tracked.address, suite="quick", sweep="past")
    assert sweep is not None
    with pytest.raises(NotReproducible, match=r"stands for the whole sweep 'past'; .* gnz ls --sweep past"):
        tracked.again(sweep.run_id)


def test_record_without_its_book_is_refused(past: Past, tmp_path: Path) -> None:
    run_id = past.runs["les_miserables", "GCN"]
    digest = schema.read_bookkeeping(read_run(past.address, run_id).tags)[schema.BOOK]
    sweep = read_sweep_run(past.address, suite="quick", sweep="past")
    assert sweep is not None
    # The copy's own, wherever the record says that they were.
    file = tmp_path.joinpath("artifacts", *Path(sweep.artifacts).parts[-3:]) / schema.book_file(digest)
    content = json.loads(file.read_text())
    content["cells"] = {}
    file.write_text(json.dumps(content))
    with pytest.raises(NotReproducible, match="was changed: its digest is"):
        past.again(run_id)
    file.unlink()
    with pytest.raises(NotReproducible, match="of its sweep is gone from"):
        past.again(run_id)
    for tag in ("", "../../../secret"):
        set_tags(past, run_id, gnz__bookkeeping=json.dumps({"cells": tag}))
        with pytest.raises(NotReproducible, match="an earlier version wrote it"):
            past.again(run_id)


# Other stores --------------------------------------------------------------------------------------------------------


def test_server_gives_the_same_as_its_database(empty_database: Path, tmp_path: Path) -> None:
    file = Path(shutil.copy(empty_database, tmp_path / "gnz.db"))
    with mlflow_server(file, tmp_path) as server:
        past = track(parse_address(server), tmp_path / "home", [TASKS.get("planted_partition")], ["GCN"])
        [run_id] = past.runs.values()
        found = past.again(run_id[:8])
        assert (found.verdict, found.changes) == (ReproductionVerdict.bit_identical, ()), to_json(found)
        assert read_run(parse_address(str(file)), run_id) == read_run(past.address, run_id)
        with pytest.raises(UnknownRun, match="no id begins so"):
            past.again("0" * 32)


def test_numbers_survive_postgresql(postgresql_database: str, tmp_path: Path) -> None:
    past = track(parse_address(postgresql_database), tmp_path / "home", [TASKS.get("les_miserables")], ["GCN"])
    found = past.again(*past.runs.values())
    assert (found.verdict, found.changes) == (ReproductionVerdict.bit_identical, ())
