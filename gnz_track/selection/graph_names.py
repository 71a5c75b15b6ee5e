"""Names of graphs: a file in a form that is read, a task, a dataset. Nothing heavy is imported here."""

from __future__ import annotations

import glob
from pathlib import Path

from gnz_track.datasets.catalogue import DATASETS, TASKS
from gnz_track.errors import BadValue, UnknownName

__all__ = ["FORMS", "PACKED", "check_graph_name", "find_graph_file", "form_of"]

FORMS = (
    *(".txt", ".edges", ".edgelist"),
    *(".csv", ".tsv", ".parquet"),
    *(".npz", ".mtx"),
    *(".gml", ".graphml", ".xml", ".net"),
)
# The end of a file of any form that is packed.
PACKED = ".gz"


def check_graph_name(name: str) -> None:
    """Raise where a text is neither a file in a form that is read nor a name; what the file holds is not looked at."""
    found = find_graph_file(name)
    if found is not None or name in TASKS or name in DATASETS:
        return
    path, allowed = Path(name), f"a file that exists, ending in {', '.join(FORMS)} (or one of them and {PACKED})"
    if name and path.expanduser().is_dir():
        raise BadValue("the graph", name, f"{allowed}, or a name of 'gnz tasks'; this is a folder")
    if "/" in name or path.suffix:
        raise BadValue("the graph", name, f"{allowed}, or a name of 'gnz tasks'")
    beside = [file.name for file in Path().glob(f"{glob.escape(name)}.*") if name and form_of(file) in FORMS]
    # A file without its ending is nearer than any name.
    raise UnknownName("graph", name, beside or {*TASKS.names(), *DATASETS.names()}, command="gnz tasks")


def find_graph_file(name: str) -> Path | None:
    """Return the file behind a text, None where there is none; one in another form is an error."""
    try:
        path = Path(name).expanduser()
        if not path.is_file():
            return None
    except (OSError, RuntimeError) as error:
        raise BadValue("the graph", name, f"a path that can be looked up ({error}), or a name") from error
    if form_of(path) not in FORMS and (name in TASKS or name in DATASETS):
        # A file without an ending that happens to be called as a task is.
        return None
    if form_of(path) not in FORMS:
        allowed = f"a file that ends in {', '.join(FORMS)}, or one of them and {PACKED}"
        raise BadValue("the graph", name, f"{allowed}; from Python, also a Data of PyG: gnz_track.recommend(data)")
    return path


def form_of(path: Path) -> str:
    """Return the end of a file's name, in small letters, that says its form."""
    inner = path.with_suffix("") if path.suffix.lower() == PACKED else path
    return inner.suffix.lower()
