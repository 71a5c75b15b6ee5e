"""Models of past runs, made again from the weights that the runs have kept; nothing is trained.

The header of a file of weights holds the settings of its cell. The architecture is found by them among those that this
process knows; nothing that a store says is imported or run, unless the user trusts whoever wrote it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gnz_track.errors import BadValue, GnzError, ModelNotLoaded, UnknownName
from gnz_track.models.building import build, options_of
from gnz_track.models.catalogue import MODELS, readdress
from gnz_track.models.options import MOST_COUNTED, Sizes
from gnz_track.records import from_plain
from gnz_track.runs.isolation.originals import originals
from gnz_track.runs.isolation.process_state import known_state
from gnz_track.runs.owners import is_ours
from gnz_track.runs.reproduce import describe_code_now, fetch_book
from gnz_track.runs.trust import describe_unknown, is_known
from gnz_track.seeds import seed_everything
from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.cell_files.joined_predictions import read_kept_file
from gnz_track.store.cell_files.kept_files import files_from_tag
from gnz_track.store.cell_files.weights import ArrayForm, decode_weights, read_form
from gnz_track.store.past_runs import read_run
from gnz_track.store.reader import check_known, open_reader, read_table
from gnz_track.store.row_filters import PastRun, Where, asked_names, read_where
from gnz_track.text import first_names, plural, remake_command
from gnz_track.types import CellSettings, ModelRow

__all__ = ["STATES", "StoredModel", "as_trained", "load_model", "make_model", "open_model"]

# Epoch whose weights are asked for -> the file that has them.
SELECTED, LAST = "selected", "last"
STATES = {SELECTED: schema.WEIGHTS_FILE, LAST: schema.LAST_FILE}
# What a text of somebody else may make of the settings of a cell, and of a constructor that takes them.
_BROKEN = (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, RuntimeError, MemoryError, LookupError)
# Runs that an error names.
MOST_NAMED = 5
FindRow = Callable[[Mapping[str, Any]], ModelRow]


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredModel:
    """A model in evaluation, and what is known of it: its row, the settings and sizes that it was made by, its inputs.

    ``name`` says in errors which one it is, ``data`` is the digest of what it was trained on, ``task`` and ``dataset``
    their names.
    """

    name: str
    module: nn.Module
    row: ModelRow
    settings: CellSettings
    sizes: Sizes
    inputs: Mapping[str, ArrayForm]
    task: str
    dataset: str
    data: str

    @property
    def is_of_one_graph(self) -> bool:
        """Whether what it has learnt belongs to the nodes of the graph that it was trained on."""
        has_codes = any(getattr(one, "is_of_one_graph", False) for one in self.module.modules())
        return has_codes or ("x" not in self.inputs and self.settings.features in {"identity", "learned"})


def load_model(
    run: str = "", *, store: str | Address = "", where: Where | None = None, state: str = SELECTED, trust: bool = False
) -> nn.Module:
    """Return the model of a past run in evaluation, from the weights that the run has kept; nothing is trained.

    Call it with a ``Data`` of PyG, as it was called in training; models of links have ``encode`` and ``decode``.

    Parameters
    ----------
    run
        Id of the run, or its first characters; empty: the one run that ``where`` describes.
    store
        Address of the store; empty: the default store.
    where
        Columns of the results table, and the value or collection of values that the run must have.
    state
        ``"selected"``: weights of the epoch that was scored; ``"last"``: those after the last one.
    trust
        Whether code that the store holds or names, and nothing here has registered, may run.
    """
    address = store if isinstance(store, Address) else parse_address(store)
    return open_model(run or _find_run(address, where or {}), address, state=state, trust=trust).module


def open_model(start: str, address: Address, *, state: str = SELECTED, trust: bool = False) -> StoredModel:
    """Return the model of a past run, and what is known of it.

    Parameters
    ----------
    start
        First characters of the run's id.
    address
        Its store.
    state, trust
        Those of :func:`load_model`.
    """
    if state not in STATES:
        raise UnknownName("state of a model", state, STATES)
    run = read_run(address, start)
    name = STATES[state]
    files = files_from_tag(run.tags.get(schema.FILES, ""))
    if name == schema.LAST_FILE and schema.WEIGHTS_FILE in files and name not in files:
        # The last epoch is the selected one.
        name = schema.WEIGHTS_FILE
    remedy = f"make them: {remake_command(run.run_id, address, keep='weights')}"
    if name not in files:
        raise ModelNotLoaded(run.run_id, "it has kept no weights", remedy=remedy)
    content = read_kept_file(address, run.run_id, run.artifacts, name, files[name])
    if content is None:
        raise ModelNotLoaded(run.run_id, f"its file {name} is gone", remedy=remedy)
    return make_model(content, name, lambda about: _row_of_run(run, address, about, trust=trust), run_id=run.run_id)


def make_model(content: bytes, name: str, find_row: FindRow, *, run_id: str = "") -> StoredModel:
    """Return a model from a file of weights.

    Parameters
    ----------
    content
        Bytes of the file.
    name
        Name of the file, for errors.
    find_row
        From what the settings say of the model to its row.
    run_id
        Run that has kept it, for errors.
    """
    tensors, about = decode_weights(content, name=name)
    try:
        said = dict(about["model"])
        settings = from_plain(CellSettings, {**about["settings"], "options": {}}, ignores_unknown=True)
        sizes = from_plain(Sizes, about["sizes"])
        inputs = {str(key): read_form(text) for key, text in dict(about["inputs"]).items()}
        names = {key: str(about[key]) for key in ("task", "dataset")}
        data, options = str(about["dataset_digest"]), dict(said["options"])
    except (*_BROKEN, GnzError) as error:
        raise _unusable(name, error) from error
    row = find_row(said)
    module = _build(row, settings, sizes, _given_of(row, options), tensors=tensors, name=name)
    of = f"run {run_id[:12]}" if run_id else name
    return StoredModel(
        name=of, module=module, row=row, settings=settings, sizes=sizes, inputs=inputs, data=data, **names
    )


@contextlib.contextmanager
def as_trained(row: ModelRow) -> Iterator[None]:
    """Let a model compute as it did in training: in the same state of the process, by the same functions."""
    with known_state(), originals.in_force() if is_ours(row) else originals.as_found():
        yield


def find_known(about: Mapping[str, Any]) -> ModelRow | None:
    """Return the row of the model that settings speak of where this process knows that very code; None elsewhere."""
    wanted = tuple(about.get(name) for name in ("source", "digest", "is_encoder"))
    rows = (row for row in MODELS.rows() if (row.reference, row.source_digest, row.is_encoder) == wanted)
    return next(rows, None)


def _find_run(address: Address, where: Where) -> str:
    """Return the one finished run with weights that conditions describe."""
    values = read_where(where)
    rows = read_table(address, where=values)
    check_known(address, asked_names(values), rows)
    finished = {str(row.run_id): row for row in rows[rows["status"] == "finished"].itertuples()}
    kept = open_reader(address).kept_files(list(finished))
    found = [run_id for run_id, _, tag in kept if schema.WEIGHTS_FILE in files_from_tag(tag)]
    if len(found) != 1:
        shown = f"{plural(len(found), 'run')} with weights of {plural(len(finished), 'finished run')}"
        command = remake_command(next(iter(finished)), address, keep="weights") if finished else "gnz ls"
        if found:
            named = [(run_id[:12], finished[run_id]) for run_id in found]
            listed = [f"{start} ({row.task} {row.model} s{row.seed} of {row.sweep})" for start, row in named]
            command = f"load_model({named[0][0]!r}); they are {first_names(listed, MOST_NAMED)}"
        raise BadValue("the choice by where", shown, "one run with weights", command=command)
    return found[0]


def _row_of_run(run: PastRun, address: Address, about: Mapping[str, Any], *, trust: bool) -> ModelRow:
    """Return the row of a model that is known here; where whoever wrote the store is trusted, any that it describes."""
    row = find_known(about)
    if row is not None:
        return row
    cells, numbers = fetch_book(run, address)
    cell = cells.get(run.tags.get(schema.FINGERPRINT, ""))
    if cell is None:
        raise ModelNotLoaded(run.run_id, "its sweep does not describe it", remedy="gnz run trains its cell anew")
    row = readdress(cell.model)
    if not (trust or is_known(row)):
        remedy = f"if you trust whoever wrote it: load_model({run.run_id[:12]!r}, trust=True), or --trust"
        raise ModelNotLoaded(run.run_id, describe_unknown(row), remedy=remedy)
    code = describe_code_now(run, row, numbers=numbers)
    if code.digest != row.source_digest:
        digests = f"{code.digest[:12]}, not {row.source_digest[:12]}"
        reason = f"the code of its model {row.name!r} has changed since: its digest is {digests}"
        raise ModelNotLoaded(run.run_id, reason, remedy="bring the code of then back")
    return row


def _given_of(row: ModelRow, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a model that are not what its constructor takes by itself.

    What is no number and no text is written as a text, and is taken from the constructor again.
    """
    defaults = options_of(row).defaults
    return {name: value for name, value in options.items() if name not in defaults or not _is(defaults[name], value)}


def _is(default: object, written: object) -> bool:
    is_plain = default is None or isinstance(default, bool | int | float | str)
    return (type(default), default) == (type(written), written) if is_plain else True


def _build(
    row: ModelRow,
    settings: CellSettings,
    sizes: Sizes,
    options: Mapping[str, Any],
    *,
    tensors: Mapping[str, NDArray[Any]],
    name: str,
) -> nn.Module:
    """Build a model and give it its weights; what these do not fit is not built where that can be told before."""
    bare = replace(row, options={})
    state = {key: torch.from_numpy(one.copy()) for key, one in tensors.items()}
    try:
        with as_trained(row):
            if is_ours(row):
                _check_counts(options)
                # Takes no memory, however large somebody says that the model is.
                with torch.device("meta"):
                    seed_everything(settings.seed_of("init"))
                    _check_state(build(bare, settings.task_type, sizes, options=options).state_dict(), state)
            seed_everything(settings.seed_of("init"))
            module = build(bare, settings.task_type, sizes, options=options)
            _check_state(module.state_dict(), state)
            module.load_state_dict(state)
    except (*_BROKEN, BadValue) as error:
        raise _unusable(name, error) from error
    return module.eval()


def _check_counts(options: Mapping[str, Any]) -> None:
    """Raise where options ask for more of something than anybody trains."""
    for name, value in options.items():
        if type(value) is int and value > MOST_COUNTED:
            message = f"{name} is {str(value)[:20]}, and a stored model has at most {MOST_COUNTED}"
            raise ValueError(message)


def _check_state(wanted: Mapping[str, Any], found: Mapping[str, Tensor]) -> None:
    """Raise where weights are missing, or have other shapes; of those that no model has, Torch complains."""
    if missing := sorted(wanted.keys() - found.keys()):
        message = f"{missing[0]!r} is missing"
        raise ValueError(message)
    for key, one in wanted.items():
        is_open = isinstance(one, nn.parameter.UninitializedTensorMixin)
        if not is_open and (one.shape, one.dtype) != (found[key].shape, found[key].dtype):
            message = f"{key!r} is {found[key].dtype} {list(found[key].shape)}, and its model has {list(one.shape)}"
            raise ValueError(message)


def _unusable(name: str, error: Exception) -> BadValue:
    reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return BadValue("file of a cell", name, f"weights that fit the model of their settings ({reason[:300]})")
