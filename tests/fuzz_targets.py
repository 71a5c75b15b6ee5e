"""What reads foreign content: for each format valid examples, words of it, and a function that reads it as users do.

A reader may refuse with an error for users, and with nothing else.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import typer
from fuzz_graph_forms import graph_forms
from torch_geometric.data import Data

from gnz_track.cli import app
from gnz_track.datasets.catalogue import TASKS
from gnz_track.datasets.frozen import CARD, TENSORS, freeze, open_frozen
from gnz_track.datasets.own.graphs import read_tables
from gnz_track.errors import GnzError
from gnz_track.models.catalogue import MODELS, describe
from gnz_track.models.words import tell_apart
from gnz_track.pipeline.params import read_params
from gnz_track.records import to_json
from gnz_track.report.sources import read_parquet
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.plan import Place, Plan, make_plan
from gnz_track.runs.protocol_files import read_protocol
from gnz_track.runs.protocol_resolution import given_to, resolve
from gnz_track.runs.settings import check_choices, read_choice, settle_options
from gnz_track.runs.study_files import SIZES, read_levels, read_study
from gnz_track.runs.variants import count_variants, trace_settings, vary_plan
from gnz_track.store.query import parse_condition
from gnz_track.store.results_table import COLUMNS, empty_table, make_table, write_table
from gnz_track.text import split_names
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Category, DatasetRow, ModelRow, TaskType

# Commands that neither train, fetch nor serve.
HARMLESS = (
    "ls",
    "query",
    "compare",
    "report",
    "tasks",
    "models",
    "protocols",
    "gc",
    "reproduce",
    "features",
    "data list",
    "data card",
)

# Of one model on one task: more are only counted.
MOST_VARIANTS = 20

# What Typer itself turns into a usage and exit code 2: the base of its errors, and two that are none.
SAID_BY_TYPER = (typer.BadParameter.__mro__[2], typer.Exit, typer.Abort)


@dataclass(frozen=True)
class Target:
    """A format: examples, words that mean something in it, and its reader, called with (content, folder)."""

    name: str
    examples: tuple[bytes, ...]
    words: tuple[bytes, ...]
    read: Callable[[bytes, Path], object]
    # Of all inputs, by how long one takes.
    share: float = 0.12

    def feed(self, content: bytes, folder: Path) -> str:
        """Read content; return what came out that no user should see, or nothing."""
        try:
            self.read(content, folder)
        except (GnzError, *SAID_BY_TYPER, SystemExit):
            return ""
        except BaseException as error:  # noqa: BLE001  (this is what is looked for)
            return f"{type(error).__module__}.{type(error).__name__}: {error}"
        return ""


def _params(content: bytes, folder: Path) -> object:
    file = folder / "params.yaml"
    file.write_bytes(content)
    return read_params(file)


@functools.cache
def _frozen_files() -> tuple[bytes, bytes]:
    import tempfile

    x = torch.arange(12.0).reshape(6, 2)
    graphs = [
        Data(x=x[:n], edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([n % 2]), name=f"g{n}")
        for n in (2, 3, 4)
    ]
    facts = {"loader": "", "source": "made up", "licence": "none", "citation": "none"}
    row = DatasetRow(name="made_up", category=Category.custom, task_types=(TaskType.graph_cls,), **facts)
    with tempfile.TemporaryDirectory() as folder:
        freeze(graphs, Path(folder) / "made_up", row=row)
        files = [(Path(folder) / "made_up" / name).read_bytes() for name in (CARD, TENSORS)]
    return files[0], files[1]


def _open(card: bytes, tensors: bytes, folder: Path) -> object:
    place = folder / "frozen"
    place.mkdir(exist_ok=True)
    # A new file each time: what was mapped before stays as it was.
    for name, content in ((CARD, card), (TENSORS, tensors)):
        (place / name).unlink(missing_ok=True)
        (place / name).write_bytes(content)
    dataset = open_frozen(place, verify=True)
    return [dict(graph) for graph in dataset]


def _card(content: bytes, folder: Path) -> object:
    return _open(content, _frozen_files()[1], folder)


def _tensors(content: bytes, folder: Path) -> object:
    return _open(_frozen_files()[0], content, folder)


def _edges(content: bytes, folder: Path) -> object:
    (folder / "edges.csv").write_bytes(content)
    return read_tables(folder / "edges.csv", label="kind")


@functools.cache
def _parquet_example() -> bytes:
    import tempfile

    n = 6
    columns = {
        "task": ["cora"] * n,
        "model": ["GCN", "MLP"] * 3,
        "seed": [0, 0, 1, 1, 2, 2],
        "score": [0.1 * k for k in range(n)],
        "metric": ["accuracy"] * n,
        "direction": ["up"] * n,
        "status": ["finished"] * n,
        "fingerprint": [f"f{k}" for k in range(n)],
        "run_id": [f"r{k}" for k in range(n)],
    }
    with tempfile.TemporaryDirectory() as folder:
        write_table(make_table(columns), Path(folder) / "results.parquet")
        return (Path(folder) / "results.parquet").read_bytes()


def _parquet(content: bytes, folder: Path) -> object:
    (folder / "results.parquet").write_bytes(content)
    return read_parquet(folder / "results.parquet")


def _query(content: bytes, folder: Path) -> object:
    del folder
    return parse_condition(content.decode("utf-8", "surrogateescape"))(empty_table())


@functools.cache
def _plan() -> tuple[Plan, list[ModelRow]]:
    """Return cells of two kinds of problem; their data lie where nothing else does."""
    import atexit
    import tempfile

    home = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    models = [MODELS.get("GAT"), MODELS.get("GCN")]
    tasks = [TASKS.get("planted_partition"), TASKS.get("les_miserables")]
    protocol = PROTOCOLS.get("graphnetz")
    return make_plan(tasks, models, seeds=[0], protocol=protocol, place=Place(home=home)), models


def _settings(content: bytes, folder: Path) -> object:
    """Read each line as what stands behind --set, and vary cells by all of them."""
    del folder
    plan, models = _plan()
    choices = [read_choice(line) for line in content.decode("utf-8", "replace").splitlines()]
    check_choices(choices, models)
    if max(count_variants(choices, model, TASKS.get("planted_partition")) for model in models) > MOST_VARIANTS:
        return None
    varied = vary_plan(plan, choices)
    return [fingerprint(cell) for cell in varied.cells], trace_settings(varied, choices)


def _protocol(content: bytes, folder: Path) -> object:
    """Read a protocol, and resolve it for tasks and models."""
    file = folder / "protocol.yaml"
    file.write_bytes(content)
    protocol = read_protocol(file)
    given = [given_to(MODELS.get(name), protocol, TASKS.get("cora")) for name in ("GCN", "GAT")]
    return to_json(protocol), to_json(resolve(protocol, TASKS.get("cora"))), given


def _study(content: bytes, folder: Path) -> object:
    """Read a study in both sizes, and its levels for its models."""
    file = folder / "study.yaml"
    file.write_bytes(content)
    studies = [read_study(file, size=size) for size in SIZES]
    models = [MODELS.get(name) for name in ("GAT", "GCN")]
    return [(read_levels(study, models), study.n_combinations, study.written_seeds) for study in studies]


def _models(content: bytes, folder: Path) -> object:
    """Read models as they are typed, but for those that would be imported."""
    del folder
    found = [describe(word) for word in split_names(content.decode("utf-8", "replace")) if ":" not in word]
    return settle_options(tell_apart(found))


def _cli(content: bytes, folder: Path) -> object:
    """Parse any call; carry it out where it neither trains, fetches nor serves."""
    text = content.decode("utf-8", "replace").replace("\0", " ")
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    command = _command()
    quiet = io.StringIO()
    with (
        contextlib.redirect_stdout(quiet),
        contextlib.redirect_stderr(quiet),
        contextlib.chdir(folder),
        mock.patch.dict(
            os.environ, {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "GNZ_DATA": str(folder / "data")}
        ),
    ):
        _parse(command, words)
        called = " ".join(words[:2]) if words[:1] == ["data"] else " ".join(words[:1])
        if called in HARMLESS:
            return command.main(words, prog_name="gnz", standalone_mode=False)
    return None


@functools.cache
def _command() -> Any:
    return typer.main.get_command(app)


def _parse(command: Any, words: list[str]) -> None:
    """Read words as the command line does, without calling anything."""
    rest, parent = words, None
    while True:
        context = command.make_context("gnz", list(rest), parent=parent)
        if not hasattr(command, "commands") or not context._protected_args:  # noqa: SLF001
            return
        _, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])  # noqa: SLF001
        if found is None:
            return
        command, parent = found, context


def _words(text: str) -> tuple[bytes, ...]:
    return tuple(word.encode() for word in text.split())


@functools.cache
def targets() -> dict[str, Target]:
    """Return all formats by name."""
    root = Path(__file__).resolve().parents[1]
    card, tensors = _frozen_files()
    sizes = [(2**n).to_bytes(8, "little") for n in (0, 8, 31, 32, 62, 63)]
    made = [
        Target(
            "params.yaml",
            (
                (root / "params.yaml").read_bytes(),
                b"tasks: {cora: {epochs: 5}, mutag: }\nmodels: [GCN]\nseeds: 0-3\nmargin: {accuracy: 0.01}\n",
                b"tasks: cora\nmodels: GCN,MLP\nseeds: [0, 1]\nsplit_sizes: [3, 4]\ntimeout: 1e3\n",
                b"tasks: {cora: {settings: {lr: 1}}}\nmodels: GCN\nseeds: 0\nsettings: {lr: [1, 2], GAT: {heads: 4}}\n",
            ),
            _words(
                "!!python/object/apply:os.system !!binary &a *a << {} [] ~ null .nan .inf 0x1 1e999 0o7 2001-01-01 - ?"
                " : tasks models seeds epochs margin settings split_sizes hidden_channels |- >- %YAML --- ..."
            ),
            _params,
        ),
        Target(
            CARD,
            (card,),
            _words(
                'null true -1 1e999 NaN Infinity 9999999999999999999999 [] {} "" "tensor" "node" "each" "own" "fixed"'
                ' "stride" "dim" "fields" "sizes" "../x" "\\ud800" \\u0000'
            ),
            _card,
        ),
        Target(
            TENSORS,
            (tensors,),
            (
                *sizes,
                *_words('"F64" "I64" "BOOL" "U8" "shape" "data_offsets" [0] [-1] [1,1] [99999999999999999999] null {}'),
            ),
            _tensors,
        ),
        Target(
            "edges.csv",
            (
                b"source,target,weight\na,b,0.5\nb,c,1.5\nc,a,2\nc,d,1\n",
                b"source,target,graph,kind\n1,2,0,x\n2,1,0,y\n1,2,1,x\n",
                b"source,target\n10,9\n9,100\n",
            ),
            _words(
                '"source" target graph kind weight split train NaN inf 1e400 -0 99999999999999999999 """ \t ; \\ ,,'
            ),
            _edges,
        ),
        Target("results.parquet", (_parquet_example(),), (b"PAR1", *sizes, *_words(" ".join(COLUMNS))), _parquet),
        Target(
            "query",
            (
                b"task = 'cora' and model in ('GCN', 'GAT')",
                b"(score >= 0.8 or status = 'failed') and not protocol like 'best%'",
                b"start_time > '2026-11-18' and seed < 5",
            ),
            _words(
                "and or not in like ( ) ' \" '' = != <> < <= 1e999 -1 .5 %_% [ \\ score start_time '9999-99-99' nope"
            ),
            _query,
            0.19,
        ),
        Target(
            "--set",
            (
                b"lr=0.01,1e-3\nGAT.heads=2,4",
                b"dropout=0.5\nschedule=plateau\npatience=3\nencoding=lap4,none",
                b"budget=9000\nn_layers=2,3\nselection=best_validation\nstop_patience=5",
                b"train_size=20\nsplits=random\nclip=1\nloss=balanced\nhidden_channels=8",
            ),
            _words(
                "lr= GAT. GCN. .. = , ,, - 1e999 nan -0 0x1 1_0 true null 99999999999999999999 heads dropout norm"
                " jumping=max act=elu epochs=3 features=identity min_lr scoring hours seed=1 rw4096 lap0 order-random"
            ),
            _settings,
            0.06,
        ),
        Target(
            "protocol.yaml",
            (
                b"like: best-val\nlr: 5e-3\npatience: 7\noptimisers:\n  graph_cls: {batch_size: 6, loss: mae}\n",
                b"name: own\nby_model: {GAT: {heads: 4}}\nby_dataset: {cora: {lr: 0.1, options: {dropout: 0}}}",
                b"version: 2\nselection: best_validation\nbudget: 9000\nalso: [training]\ntolerance: 0.1\n",
            ),
            _words(
                "!!python/object/apply:os.system !!binary &a *a << {} [] ~ null .nan .inf 1e999 2001-01-01 - ? :"
                " node_cls multi_task edge_cls optimisers options by_model by_dataset stop_patience clip none"
            ),
            _protocol,
        ),
        Target(
            "study.yaml",
            (
                b"tasks: [cora]\nmodels: [GCN]\nseeds: 0-4\nfactors: {encoding: [none, lap8]}\ntiny: {seeds: 0-2}\n",
                b"name: own\ntasks: cora,mutag\nmodels: [GAT]\nsettings: {lr: 0.1}\nfactors: {n_layers: [1, 2]}\n",
                b"tasks: [cora]\nmodels: [GAT]\nfactors:\n  dropout: {levels: [0.5, 0], reference: 0}\n  norm: [a]\n",
            ),
            _words(
                "!!python/object/apply:os.system !!binary &a *a << {} [] ~ null .nan .inf 1e999 2001-01-01 - ? :"
                " tiny factors settings levels reference protocol 0-99999 99999999999999999999 n_layers none"
            ),
            _study,
        ),
        Target(
            "--models",
            (b"wide=GCN(n_layers=4),GAT", b"GAT(heads=2,norm=batch),GCN(dropout=-.5e-1)", b"a=GatedGCN-E(n_layers=3)"),
            _words("( ) = , ' \" [ ] { } ** * lambda : 1e999 -1 None True nan \\N{ f'{x}' heads n_layers act @ #"),
            _models,
            0.5,
        ),
        Target(
            "command line",
            (
                b"run --suite quick --models GCN,MLP --seeds 0-9 --jobs 2 --dry-run",
                b"run --task cora --set lr=0.1,0.2 --set GAT.heads=4 --config x.yaml --show-config",
                b"ls --failed --sweep quick-1",
                b"query \"task='cora'\"",
                b"report --out x",
                b"compare a b",
                b"tasks --suite quick",
                b"models",
                b"reproduce 0123abcd",
                b"data card cora",
            ),
            _words(
                "--help -h --suite --task --models --seeds 0-4 -1 --store sqlite:///x.db http://[ postgresql://a:b@"
                " ../../x --jobs 1e9 --epochs --out /dev/null/x --sweep '' \" %s {} [red] --executor ray data list"
            ),
            _cli,
            0.03,
        ),
        *(Target(form.name, form.examples, (*sizes, *_words(form.words)), form.read, 0.02) for form in graph_forms()),
    ]
    return {target.name: target for target in made}


# Event -> how many paths it has, and where numbers of open folders begin.
N_PATHS = {"open": (1, 3), "os.mkdir": (1, 2), "os.remove": (1, 1), "os.rename": (2, 2), "os.link": (2, 2)}


class Warden:
    """Notes every file that this process opens for writing, makes or moves outside of one folder."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.outside: list[str] = []
        sys.addaudithook(self._hear)

    @contextlib.contextmanager
    def watching(self, folder: Path) -> Iterator[None]:
        self.folder = folder.resolve()
        try:
            yield
        finally:
            self.folder = None

    def _hear(self, event: str, given: tuple[object, ...]) -> None:
        if self.folder is None or event not in N_PATHS:
            return
        # A path below an open folder: that one was opened under our eyes.
        if event != "open" and any(isinstance(place, int) and place >= 0 for place in given[N_PATHS[event][1] :]):
            return
        if event == "open" and not (isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
            return
        for path in given[: N_PATHS[event][0]]:
            if isinstance(path, str | bytes | os.PathLike):
                place = Path(os.fsdecode(path)).absolute()
                if not place.is_relative_to(self.folder) and str(place) != os.devnull:
                    self.outside.append(f"{event} {place}")


def clear(folder: Path) -> None:
    """Empty a folder."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
