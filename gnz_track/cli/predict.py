"""``gnz predict``: the model of a past run on its own data, on others, and on a file."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gnz_track.cli.ls import Store
from gnz_track.cli.terminal.output import check_file, choose_place, print_rows, say
from gnz_track.cli.terminal.working_folder import reach_working_folder
from gnz_track.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_geometric.data import Data

    from gnz_track.datasets.frozen import FrozenDataset
    from gnz_track.predictions.new_predictions import NewPredictions
    from gnz_track.predictions.stored_models import StoredModel
    from gnz_track.runs.plan import Place

__all__ = ["add_to"]

EXAMPLES = """
[bold]Examples[/bold]

  gnz predict 1f0c9a2b cora      (the data that it was trained on: the same predictions, bit by bit)

  gnz predict 1f0c9a2b graphs.npz --out found.parquet      (arrays x, edge_index, batch, ... as its config.json says)

  gnz predict 1f0c9a2b network.graphml --last

The run must have kept its weights: gnz run --keep weights, or gnz reproduce RUN_ID --keep weights.
"""
DATA = "A task or dataset by name; or a file: .npz of the arrays that the model takes, or a graph of gnz recommend."
LAST = "Weights after the last epoch, in place of those of the selected one."
TRUST = "Run code that the store holds or names and nothing here has registered; it is sought in this folder too."


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command("predict", epilog=EXAMPLES)(_predict)


def _predict(  # noqa: PLR0913  (one parameter per flag)
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", help="An id, or its first digits, at least six.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help=DATA)],
    *,
    out: Annotated[Path, typer.Option(help="File of the predictions.")] = Path("predictions.parquet"),
    last: Annotated[bool, typer.Option("--last", help=LAST)] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, ...")] = "cpu",
    store: Store = "",
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
    mirror: Annotated[Path | None, typer.Option(help="Folder of raw files; default GNZ_MIRROR.")] = None,
    trust: Annotated[bool, typer.Option("--trust", help=TRUST)] = False,
) -> None:
    """Let the model of a past run answer the examples of its own data, of others, or of a file; nothing is trained."""
    # A slip in a name is told before torch is imported, which takes seconds.
    from gnz_track.selection.graph_names import check_graph_name, find_graph_file

    file = None
    with contextlib.suppress(UnknownName):
        # That of somebody's own data is known to the run alone.
        check_graph_name(data)
        file = find_graph_file(data)
    target = check_file("--out", out)
    if trust:
        reach_working_folder()

    from gnz_track.files import write_whole
    from gnz_track.predictions.new_predictions import predict
    from gnz_track.predictions.stored_models import LAST as LAST_STATE
    from gnz_track.predictions.stored_models import SELECTED, open_model
    from gnz_track.runs.plan import resolve_device
    from gnz_track.store.address import parse_address
    from gnz_track.store.cell_files.predictions import encode_predictions

    state, where = LAST_STATE if last else SELECTED, resolve_device(device)
    stored = open_model(run_id, parse_address(store), state=state, trust=trust)
    with _open(stored, file, data, choose_place(home, mirror)) as dataset:
        found = predict(stored, dataset, device=where)
        is_own = dataset.digest == stored.data
    with write_whole(target) as unfinished:
        unfinished.write_bytes(encode_predictions(list(found.parts)))
    _print_found(stored, found, data, is_own=is_own)
    say(f"written to {out}")


@contextlib.contextmanager
def _open(stored: StoredModel, file: Path | None, name: str, place: Place) -> Iterator[FrozenDataset]:
    from gnz_track.predictions.new_predictions import find_dataset, frozen_graphs

    if file is None:
        yield find_dataset(stored, name, place)
        return
    with frozen_graphs(stored, _read_graphs(stored, file), file.name) as dataset:
        yield dataset


def _read_graphs(stored: StoredModel, file: Path) -> list[Data]:
    from gnz_track.predictions.input_arrays import graphs_of_arrays
    from gnz_track.selection.graph_files import open_archive, read_graph_file

    if file.suffix.lower() == ".npz":
        with open_archive("the data", file) as arrays:
            if "edge_index" in arrays.files:
                return graphs_of_arrays(stored, {name: arrays[name] for name in arrays.files}, is_whole=False)
    return [read_graph_file(file)]


def _print_found(stored: StoredModel, found: NewPredictions, data: str, *, is_own: bool) -> None:
    rows = [(one.part, one.kind, len(one.outputs), one.outputs.shape[1]) for one in found.parts]
    title = f"{stored.row.name} of {stored.task}, {stored.name}, on {data}"
    print_rows(title, ("part", "examples", ">number", ">outputs"), rows)
    if is_own:
        say("these are the data that it was trained on, split as then")
    if found.scores:
        said = ", ".join(f"{metric} {value:.4f}" for metric, value in sorted(found.scores.items()))
        say(f"{found.parts[-1].part}: {said}")
