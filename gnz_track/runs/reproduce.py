"""A past run trained once more from its record, and set against what the store kept of it, number by number."""

from __future__ import annotations

import enum
import json
import math
import platform
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.preparation import find_frozen
from gnz_track.errors import BadValue, DataMissing, NotReproducible, UnknownName
from gnz_track.models.building import load_parts
from gnz_track.models.catalogue import readdress
from gnz_track.records import to_json
from gnz_track.registry import import_target
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.file_comparison import FileDifference, compare_files
from gnz_track.runs.files_of_cell import NOTHING, PREDICTIONS, WEIGHTS, check_most_bytes
from gnz_track.runs.fingerprint import NUMBERS, changed_parts, code_of, fingerprint, tell_unseen
from gnz_track.runs.plan import Place, resolve_device
from gnz_track.runs.run_one import KERNELS, SETTINGS
from gnz_track.runs.trust import check_model, is_known_loader, refuse_loader
from gnz_track.store import run_record, schema
from gnz_track.store.address import Address
from gnz_track.store.artifacts import find_place, read_artifact
from gnz_track.store.cell_book import digest_of_book, read_book
from gnz_track.store.cell_files.kept_files import LARGEST_FILE, files_from_tag
from gnz_track.store.curves import Curve
from gnz_track.store.environment import NONE, Environment, collect_environment, read_git
from gnz_track.store.past_runs import read_curves, read_run, read_sweep_run
from gnz_track.store.row_filters import PastRun
from gnz_track.store.run_record import RunRecord, SweepContext, record_of
from gnz_track.store.writer import open_store
from gnz_track.training.acceleration.library import VARIABLE
from gnz_track.types import Cell, CellResult, ModelRow, Status
from gnz_track.user_code.digests import ITSELF, Code, describe_own

__all__ = [
    "TOLERANCE",
    "Change",
    "Conditions",
    "NumberDifference",
    "Rebuilt",
    "Reproduction",
    "ReproductionVerdict",
    "SeriesDifference",
    "describe_code_now",
    "fetch_book",
    "files_to_keep",
    "rebuild",
    "reproduce",
]


TRAIN_ANEW = "gnz run trains its cell anew"
# What an executor calls the failure of a cell whose process it had to give up: the cell itself said nothing.
ENDED_FROM_OUTSIDE = frozenset({"WorkerDied", "TimeLimit"})


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Conditions under which a run is trained again: where its data are, on which device, and whether its code may run.

    That is code which lies in the store, and code which the store names and nothing here has registered. No device
    means the one that the run was trained on.
    """

    place: Place = field(default_factory=Place)
    device: str = ""
    trusts_code: bool = False


@dataclass(frozen=True, kw_only=True)
class Rebuilt:
    """A cell as it was planned, what its fingerprint was made with, and the code of its model as it is now."""

    cell: Cell
    numbers: int
    code: Code

    @property
    def cell_now(self) -> Cell:
        """The cell to train: with the code of now, which is not held against that of then."""
        model = replace(self.cell.model, parts={}, unseen=())
        return replace(self.cell, model=model, code=code_of(self.cell.perturbation))


def rebuild(run: PastRun, address: Address, conditions: Conditions) -> Rebuilt:
    """Return the cell of a run from what the store says of it; nothing else is known of the past.

    The data are those of the same digest, to the byte.

    Parameters
    ----------
    run
        Run as the store has it.
    address
        Its store.
    conditions
        Device and data of the repetition, and whether code is trusted that is not registered here.
    """
    _refuse_what_has_no_end(run)
    cells, numbers = fetch_book(run, address)
    cell = cells.get(run.tags.get(schema.FINGERPRINT, ""))
    if cell is None:
        raise _lost(run, "the cells that its sweep describes do not contain it")
    cell = replace(cell, model=readdress(cell.model))
    if not conditions.trusts_code:
        check_model(run.run_id, cell.model, address)
    code = describe_code_now(run, cell.model, numbers=numbers)
    device = _choose_device(run, conditions)
    dataset = _find_data(run, cell, address, conditions)
    cell = replace(cell, device=device, data=str(dataset.folder))
    return Rebuilt(cell=cell, numbers=numbers, code=code)


def _refuse_what_has_no_end(run: PastRun) -> None:
    if run.tags.get(schema.KIND) != schema.CELL:
        sweep = run.tags.get(schema.SWEEP, "")
        reason = f"it trained nothing, it stands for the whole sweep {sweep!r}"
        raise NotReproducible(run.run_id, reason, remedy=f"name one of its cells: gnz ls --sweep {shlex.quote(sweep)}")
    error = run.tags.get(schema.ERROR, "")
    if run.status == "KILLED":
        raise NotReproducible(run.run_id, f"it was killed before it ended ({error})", remedy=TRAIN_ANEW)
    if run.status not in {"FINISHED", "FAILED"}:
        raise NotReproducible(run.run_id, f"it has not ended yet ({run.status})", remedy="wait for it: gnz ls")
    if error.partition(":")[0] in ENDED_FROM_OUTSIDE:
        raise NotReproducible(run.run_id, f"it did not end by itself ({error})", remedy=TRAIN_ANEW)


def fetch_book(run: PastRun, address: Address) -> tuple[dict[str, Cell], int]:
    """Return the cells of the sweep of a run by their fingerprints, and the numbers with which these were made."""
    digest, sweep = schema.read_bookkeeping(run.tags).get(schema.BOOK, ""), run.tags.get(schema.SWEEP, "")
    if not re.fullmatch("[0-9a-f]{16}", digest):
        raise _lost(run, "an earlier version wrote it, without the book of its cells")
    of_sweep = read_sweep_run(address, suite=run.tags.get(schema.SUITE, ""), sweep=sweep)
    if of_sweep is None:
        raise _lost(run, f"the run of its sweep {sweep!r}, which describes its cells, is gone")
    name = schema.book_file(digest)
    # Says in its own words where this machine does not look, and why.
    find_place(address, of_sweep.artifacts)
    text = read_artifact(address, of_sweep.artifacts, name)
    if text is None:
        raise _lost(run, f"{name} of its sweep is gone from {of_sweep.artifacts}")
    if digest_of_book(text) != digest:
        raise _lost(run, f"{name} of its sweep was changed: its digest is {digest_of_book(text)}")
    return read_book(text)


def _lost(run: PastRun, reason: str) -> NotReproducible:
    return NotReproducible(run.run_id, reason, remedy=TRAIN_ANEW)


def describe_code_now(run: PastRun, model: ModelRow, *, numbers: int) -> Code:
    """Return the code of the model as it is now; none where the record has none, as for our own models.

    Parameters
    ----------
    run
        Run that was trained with the model.
    model
        Its row, known here or trusted.
    numbers
        What fingerprints of its sweep were made with.
    """
    if not model.payload:
        found = [import_target(target) for target in (model.target, model.factory) if target]
        return describe_own(*found) if model.source_digest else Code()
    python = run.tags.get("env.python", "")
    if _minor(python) != _minor(platform.python_version()):
        reason = f"its model {model.name!r} lies in the store as code of Python {_minor(python)}"
        remedy = f"call that Python; this is {_minor(platform.python_version())}"
        raise NotReproducible(run.run_id, reason, remedy=remedy)
    # Known here, or trusted; its bytes are those recorded.
    found = load_parts(model)
    code = describe_own(*(item for item in found if item is not None))
    # What it refers to and lies in files may have changed; the model itself is in the record. Digests of earlier
    # versions told classes of this package by their modules.
    changed = changed_parts(model.parts, code.parts) if model.parts and numbers == NUMBERS else ()
    if any(name.endswith(ITSELF) for name in changed):
        digests = f"{code.digest}, not {model.source_digest}"
        raise _lost(run, f"the code of its model {model.name!r} has the digest {digests}")
    return code


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _choose_device(run: PastRun, conditions: Conditions) -> str:
    if conditions.device:
        return resolve_device(conditions.device)
    then = run.tags.get(schema.ENV_DEVICE, "cpu")
    try:
        return resolve_device(then)
    except BadValue as error:
        reason = f"it was trained on {then!r}, which is not here ({error})"
        raise NotReproducible(run.run_id, reason, remedy="train it elsewhere: --device cpu") from error


def _find_data(run: PastRun, cell: Cell, address: Address, conditions: Conditions) -> FrozenDataset:
    digest, task, place = cell.dataset_digest, cell.source_task, conditions.place
    if not re.fullmatch("[0-9a-f]+", digest):
        raise _lost(run, f"the digest of its data is {digest!r}")
    may_load = conditions.trusts_code or is_known_loader(task)
    try:
        dataset = find_frozen(
            task, digest=digest, seed=cell.seed, home=place.home, mirror=place.mirror, may_load=may_load
        )
    except DataMissing as error:
        if may_load:
            raise
        raise refuse_loader(run.run_id, task, digest, address) from error
    if dataset.digest != digest:
        name, found = cell.task.dataset, f"{dataset.digest} in {dataset.folder}"
        reason = f"it was trained on {name!r} of digest {digest}, and here it is {found}"
        raise NotReproducible(run.run_id, reason, remedy=_remedy_for(run, cell))
    return dataset


def _remedy_for(run: PastRun, cell: Cell) -> str:
    if cell.task.dataset in DATASETS:
        version = run.tags.get(schema.VERSION, "of then")
        return f"the data of then are made by gnz_track {version}: gnz data get {cell.task.dataset} --home FOLDER"
    return "bring the data of then back"


# Tags that every run bears -> what they say, in words.
_TAGS = {
    schema.DATASET_DIGEST: "digest of the data",
    schema.SPLIT_DIGEST: "digest of the split",
    schema.VERSION: "gnz_track",
    "env.python": "Python",
    "env.torch": "torch",
    "env.pyg": "torch-geometric",
    schema.ENV_DEVICE: "device",
    "env.gpu": "GPU",
    "env.cuda": "CUDA",
    "env.driver": "driver of the GPU",
    schema.INSTRUCTIONS: "instructions of the processor",
    schema.GIT_COMMIT: "git commit of the working folder",
    schema.GIT_DIRTY: "working folder has changes that no commit holds",
}
# Facts of an environment that only its file holds.
_MACHINE = {"os": "operating system", "cpu": "processor", "cores": "cores", "memory_mib": "memory in MiB"}
# Packages that tags name already.
_NAMED = frozenset({"torch", "torch-geometric", "gnz-track"})
# Tags of later versions: a run without one says nothing of it, and nothing is known to have changed.
_LATER = {schema.INSTRUCTIONS: "with which instructions of the processor it was computed is not recorded"}
_DIRTY = "the working folder had changes that no commit holds: what they were is not recorded"


@dataclass(frozen=True, kw_only=True)
class Change:
    """One thing that is not what it was; ``"none"`` where there was none, or is none now."""

    what: str
    then: str
    now: str


def _find_changes(
    run: PastRun, record: RunRecord, address: Address, *, rebuilt: Rebuilt
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """Return what has changed since a run, and sentences about what is not known of it."""
    cell = rebuilt.cell
    pairs = list(_by_tag(run.tags, run_record.tags_of(record)))
    code, notes = _by_code(rebuilt)
    pairs += code
    pairs.append(("way in which gnz_track makes numbers (NUMBERS)", str(rebuilt.numbers), str(NUMBERS)))
    if rebuilt.numbers == NUMBERS:
        pairs.append(("fingerprint of the cell", run.tags[schema.FINGERPRINT], fingerprint(cell)))
    notes += [_DIRTY] if run.tags.get(schema.GIT_DIRTY) == "true" else []
    notes += [sentence for tag, sentence in _LATER.items() if tag not in run.tags]
    if run.tags.get(schema.ENVIRONMENT, "") != record.environment:
        facts = _read_environment(run, address)
        pairs += _by_file(facts)
        notes += [] if facts else ["the file with all facts of its environment is gone: other packages may differ"]
    changes = (Change(what=what, then=then or NONE, now=now or NONE) for what, then, now in pairs if then != now)
    return tuple(changes), tuple(notes)


# Vector level of Torch, the lowest first -> what ``ATEN_CPU_CAPABILITY`` calls it.
_LEVELS = {"DEFAULT": "default", "AVX2": "avx2", "AVX512": "avx512"}


def _tell_path(run: PastRun, now: str) -> list[str]:
    """Return a sentence on how a run was computed, where it was otherwise than here, and what to type for the same."""
    then = run.tags.get(schema.INSTRUCTIONS, "")
    (level, *before), (own_level, *here) = then.split("; "), now.split("; ")
    if not then or then == now:
        return []
    # Of what a store says, only what is known here is something to type.
    known = [item for item in before if item not in here and item.partition("=")[0] in SETTINGS]
    words = [f"{VARIABLE}=off"] if KERNELS in here and KERNELS not in before else []
    levels = list(_LEVELS)
    if level in levels[: levels.index(own_level) if own_level in levels else 0]:
        words.append(f"ATEN_CPU_CAPABILITY={_LEVELS[level]}")
    words += [f"{name}={shlex.quote(value)}" for name, _, value in (item.partition("=") for item in known)]
    ways = [f"the same bits may come of: {' '.join(words)} gnz reproduce {run.run_id[:12]}"] if words else []
    if KERNELS in before and KERNELS not in here:
        ways.append(f"gnz doctor says why no compiled kernels compute here (is {VARIABLE} set?)")
    return ["; ".join([f"its numbers were computed with {then!r}, and those of now with {now!r}", *ways])]


def _by_code(rebuilt: Rebuilt) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Return then and now of all code of the user's, and sentences about what is not known of it."""
    model, now = rebuilt.cell.model, rebuilt.code
    then_beside, now_beside = dict(rebuilt.cell.code), dict(rebuilt.cell_now.code)
    beside = [(what, then_beside.get(what, ""), now_beside.get(what, "")) for what in {**then_beside, **now_beside}]
    if model.source_digest and (not model.parts or (model.payload and rebuilt.numbers != NUMBERS)):
        return beside, [
            f"an earlier version recorded the model {model.name}: whether its code has changed is not known"
        ]
    parts = [
        (f"code {name}", model.parts.get(name, ""), now.parts.get(name, ""))
        for name in changed_parts(model.parts, now.parts)
    ]
    source = (f"source of the model {model.name}", model.source_digest, now.digest)
    return [source, *parts, *beside], tell_unseen([replace(model, unseen=now.unseen)])


def _by_tag(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for tag, what in _TAGS.items():
        if tag in then or tag not in _LATER:
            yield what, then.get(tag, ""), now.get(tag, "")


def _by_file(then: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    if not then:
        return
    now: dict[str, Any] = json.loads(to_json(collect_environment()))
    for name, what in _MACHINE.items():
        yield what, str(then.get(name, "")), str(now[name])
    packages = {**dict.fromkeys(now["packages"], ""), **then.get("packages", {})}
    for name in sorted(set(packages) - _NAMED):
        yield f"package {name}", packages[name], now["packages"].get(name, "")


def _read_environment(run: PastRun, address: Address) -> dict[str, Any]:
    """Return the facts of a run's environment; none where its file is gone or is none."""
    digest = run.tags.get(schema.ENVIRONMENT, "")
    sweep = read_sweep_run(address, suite=run.tags.get(schema.SUITE, ""), sweep=run.tags.get(schema.SWEEP, ""))
    text = read_artifact(address, sweep.artifacts, schema.environment_file(digest)) if sweep and digest else None
    try:
        found = json.loads(text or "{}")
        return json.loads(to_json(Environment(**found))) if found else {}
    except (ValueError, TypeError):
        return {}


# Of one run there is no best.
_KEEPS = (PREDICTIONS, WEIGHTS, NOTHING)
# What rounding in another order does to a score of a short training; a model that is another one differs by more.
TOLERANCE = 1e-4
# How long a cell took is no part of what is to come out again.
_TIMES = frozenset({schema.SECONDS, schema.CPU_SECONDS, schema.SECONDS_PER_EPOCH})
_COSTS = _TIMES | {schema.PEAK_RSS, schema.PEAK_DEVICE, schema.MEMORY}


class ReproductionVerdict(enum.StrEnum):
    """Closeness of a run to its repetition."""

    bit_identical = "bit_identical"
    within_tolerance = "within_tolerance"
    different = "different"


@dataclass(frozen=True, kw_only=True)
class SeriesDifference:
    """A curve that came out otherwise: the first epoch that differs, and by how much values differ at most.

    The largest difference is None where no epoch has a value on both sides that differs: one curve is shorter.
    """

    series: str
    first_epoch: int
    largest: float | None


@dataclass(frozen=True, kw_only=True)
class NumberDifference:
    """A final number that came out otherwise; None where there was none, or is none now."""

    name: str
    then: float | None
    now: float | None


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A run and its repetition: the verdict, the numbers that differ, and what else has changed since.

    ``n_points`` and ``n_numbers`` say how many values of curves and final numbers were compared, ``compared_files``
    which files. ``error_then`` and ``error_now`` are the failures of cells that failed. ``kept`` are files that the run
    has now.
    """

    run_id: str
    sweep: str
    task: str
    cell: str
    verdict: ReproductionVerdict
    tolerance: float
    metric: str
    score_then: float | None
    score_now: float | None
    status_then: Status
    status_now: Status
    error_then: str
    error_now: str
    n_points: int
    n_series: int
    n_numbers: int
    series: tuple[SeriesDifference, ...]
    numbers: tuple[NumberDifference, ...]
    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    seconds_then: float | None
    seconds_now: float
    compared_files: tuple[str, ...] = ()
    files: tuple[FileDifference, ...] = ()
    kept: tuple[str, ...] = ()


def reproduce(
    start: str,
    address: Address,
    *,
    conditions: Conditions,
    tolerance: float = TOLERANCE,
    version: str = "",
    keep: str = NOTHING,
    keep_at_most: int = Cell.keep_at_most,
) -> Reproduction:
    """Train a run once more, from its record alone, and compare; nothing is written but files that are to be kept.

    Bit-identical: every number that the store kept, and every prediction, came out equal, or the cell failed again in
    the same words. Within tolerance: the scores differ by at most ``tolerance``, on equal data in equal
    splits. Everything else is different.

    Parameters
    ----------
    start
        First characters of the run's id.
    address
        Its store.
    conditions
        Device and data of the repetition, and whether foreign code is trusted.
    tolerance
        Largest difference of a score, relative to the score where that is above 1.
    version
        Version of this package.
    keep
        Files that the run gets where it came out bit-identical: ``predictions``, ``weights``, or ``nothing``.
    keep_at_most
        Bytes of the largest file that it gets.
    """
    if keep not in _KEEPS:
        raise UnknownName("files to keep", keep, _KEEPS, command="gnz reproduce --help")
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise BadValue("tolerance", tolerance, "a number from 0 upwards", command=f"--tolerance {TOLERANCE}")
    run = read_run(address, start)
    rebuilt = rebuild(run, address, conditions)
    has_weights = schema.WEIGHTS_FILE in files_from_tag(run.tags.get(schema.FILES, ""))
    kept = WEIGHTS if has_weights or keep == WEIGHTS else PREDICTIONS
    most_bytes = _most_bytes(run, check_most_bytes(keep_at_most))
    [result] = run_inline([replace(rebuilt.cell_now, keep=kept, keep_at_most=most_bytes)])
    record = _record_now(result, run, version)
    then, now = _numbers_of(run), _numbers(run_record.final_metrics(record))
    curves = read_curves(address, [run.run_id])[run.run_id]
    series = _compare_curves(curves, result)
    numbers = tuple(_compare_numbers(then, now))
    changes, notes = _find_changes(run, record, address, rebuilt=rebuilt)
    compared_files, files = compare_files(run, result.files, address)
    verdict = _judge(run, record, is_equal=not series and not numbers and not files, tolerance=tolerance)
    if verdict is not ReproductionVerdict.bit_identical:
        notes = (*notes, *_tell_path(run, record.instructions))
    return Reproduction(
        **_facts_of(run, record, rebuilt),
        verdict=verdict,
        compared_files=compared_files,
        files=files,
        kept=_keep(run, result, address) if keep != NOTHING else (),
        tolerance=tolerance,
        n_points=sum(map(len, curves.values())),
        n_series=len(curves),
        n_numbers=len(then),
        series=series,
        numbers=numbers,
        changes=changes,
        notes=(*notes, *(result.left_out.values() if keep != NOTHING else ())),
    )


def _most_bytes(run: PastRun, asked: int) -> int:
    """Return the bytes that a file of the repetition may have, so that those of the run can be compared."""
    kept = files_from_tag(run.tags.get(schema.FILES, ""))
    then = [kept[name].n_bytes for name in (schema.PREDICTIONS_FILE, *schema.OF_MODEL) if name in kept]
    # The same content may be a little longer in the bytes of another version.
    return min(max(asked, 2 * max(then, default=0)), LARGEST_FILE)


def _keep(run: PastRun, result: CellResult, address: Address) -> tuple[str, ...]:
    files = files_to_keep(run, result, address)
    with open_store(address) as store:
        store.add_files(run.run_id, files)
    return tuple(files)


def files_to_keep(run: PastRun, result: CellResult, address: Address) -> dict[str, bytes]:
    """Return the files of a repetition that its run may get: those of one that has the same scores and series.

    A run whose files were changed gets back those that its own record names.

    Parameters
    ----------
    run, result
        The run, and its repetition.
    address
        Store of the run.
    """
    record = _record_now(result, run)
    then, now = _numbers_of(run), _numbers(run_record.final_metrics(record))
    curves = read_curves(address, [run.run_id])[run.run_id]
    if list(_compare_numbers(then, now)) or _compare_curves(curves, result) or not record.files:
        reason = "its numbers came out otherwise: files of the repetition would not be those of the run"
        raise NotReproducible(run.run_id, reason, remedy=f"see what has changed: gnz reproduce {run.run_id[:12]}")
    return {name: result.files[name] for name in record.files}


def _record_now(result: CellResult, run: PastRun, version: str = "") -> RunRecord:
    """Return what would be written of the repetition, were it written."""
    context = SweepContext(
        sweep=run.tags[schema.SWEEP],
        suite=run.tags[schema.SUITE],
        environment=collect_environment(),
        git=read_git(),
        version=version,
    )
    return record_of(result, context, fingerprint=fingerprint(result.cell), ended_at=0)


def _facts_of(run: PastRun, record: RunRecord, rebuilt: Rebuilt) -> dict[str, object]:
    return {
        "run_id": run.run_id,
        "sweep": record.sweep,
        "task": record.task,
        "cell": rebuilt.cell.label,
        "metric": record.metric,
        "score_then": _score_of(run),
        "score_now": record.score,
        "status_then": _STATUS[run.status],
        "status_now": record.status,
        "error_then": run.tags.get(schema.ERROR, ""),
        "error_now": run_record.error_text(record),
        "seconds_then": run.metrics.get(schema.SECONDS),
        "seconds_now": record.seconds,
    }


_STATUS = {"FINISHED": Status.finished, "FAILED": Status.failed}


def _score_of(run: PastRun) -> float | None:
    return run.metrics.get(run.tags.get(schema.SCORE_KEY, "")) if run.status == "FINISHED" else None


def _judge(run: PastRun, record: RunRecord, *, is_equal: bool, tolerance: float) -> ReproductionVerdict:
    has_ended_alike = _STATUS[run.status] is record.status
    if has_ended_alike and is_equal and run.tags.get(schema.ERROR, "") == run_record.error_text(record):
        return ReproductionVerdict.bit_identical
    then, now = _score_of(run), record.score
    is_same_split = run.tags.get(schema.SPLIT_DIGEST, "") == record.split_digest
    if then is None or now is None or not is_same_split:
        return ReproductionVerdict.different
    is_close = abs(then - now) <= tolerance * max(1.0, abs(then))
    return ReproductionVerdict.within_tolerance if is_close else ReproductionVerdict.different


def _numbers_of(run: PastRun) -> dict[str, float]:
    """Return the final numbers of a run; what was computed later from its predictions is none of its own."""
    later = schema.read_origins(run.tags)
    return _numbers({name: value for name, value in run.metrics.items() if name not in later})


def _numbers(metrics: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if name not in _COSTS}


def _compare_numbers(then: Mapping[str, float], now: Mapping[str, float]) -> list[NumberDifference]:
    return [
        NumberDifference(name=name, then=then.get(name), now=now.get(name))
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name)
    ]


def _compare_curves(curves: Mapping[str, Curve], result: CellResult) -> tuple[SeriesDifference, ...]:
    """Compare stored points with the epochs of the repetition, and where both end."""
    # As the store names them.
    found = {schema.series_of(schema.curve_key(name)): values for name, values in result.series.items()}
    differences = []
    for name in sorted({*curves, *found}):
        then = dict(curves.get(name, ()))
        # What is no finite number is not stored.
        now = {epoch: value for epoch, value in enumerate(found.get(name, ())) if math.isfinite(value)}
        # Ends are never thinned out.
        epochs = sorted({*then, *(list(now)[-1:])})
        unequal = [epoch for epoch in epochs if then.get(epoch) != now.get(epoch)]
        if unequal:
            gaps = [abs(then[epoch] - now[epoch]) for epoch in unequal if epoch in then and epoch in now]
            largest = max(gaps, default=None)
            differences.append(SeriesDifference(series=name, first_epoch=unequal[0], largest=largest))
    return tuple(differences)
