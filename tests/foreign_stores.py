"""Stores from elsewhere: copies of a real one in which addresses, targets or tables lead where nobody asked to go.

Each kind is a folder with a database, what lies beside it, and modules that leave a trace where they are imported.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import shutil
import socketserver
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SECRETS = {
    "MLFLOW_TRACKING_USERNAME": "alice-of-the-team",
    "MLFLOW_TRACKING_PASSWORD": "s3cr3t-of-the-team",
    "AWS_ACCESS_KEY_ID": "AKIAOFTHETEAM",
    "AWS_SECRET_ACCESS_KEY": "s3cr3t-of-the-bucket",
    "AZURE_STORAGE_ACCESS_KEY": "s3cr3t-of-azure",
    "DATABRICKS_TOKEN": "s3cr3t-of-databricks",
}
TOKEN = {"MLFLOW_TRACKING_TOKEN": "t0k3n-of-the-team"}
OF_NETRC = "s3cr3t-of-netrc"
MARKS = (b"authorization", b"AWS4-HMAC", b"AKIAOFTHETEAM", b"of-the-team", b"s3cr3t", b"alice")
# What a folder from elsewhere may hold beside its database; importing any of them leaves a trace.
SHADOWS = ("pandas", "numpy", "sqlalchemy", "mlflow", "torch", "yaml", "pyarrow", "optuna", "matplotlib", "jinja2")
CANARY = """
import os
with open(os.environ["CANARY_TRACES"], "a") as traces:
    traces.write(__name__ + " was imported\\n")
def called(*_, **__):
    with open(os.environ["CANARY_TRACES"], "a") as traces:
        traces.write(__name__ + " was called\\n")
class Net:
    task_types = ("node_cls",)
    def __init__(self, *_, **__):
        called()
load = called
"""


class Pickled:
    """What leaves a trace when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ('echo "a pickle was read" >> "$CANARY_TRACES"',)


class Recorder(socketserver.BaseRequestHandler):
    """Notes whoever comes, of whatever protocol, and answers as a web server would; some are sent elsewhere."""

    seen: list[bytes]
    elsewhere: list[str]

    def handle(self) -> None:
        self.request.settimeout(2)
        content = b""
        with contextlib.suppress(OSError):
            while b"\r\n\r\n" not in content:
                more = self.request.recv(65536)
                if not more:
                    break
                content += more
        self.seen.append(content)
        with contextlib.suppress(OSError):
            if b"/redirect" in content.split(b"\r\n")[0] and self.elsewhere:
                head = f"HTTP/1.1 302 Found\r\nLocation: {self.elsewhere[0]}\r\n"
            else:
                head = "HTTP/1.1 200 OK\r\n"
            self.request.sendall(f"{head}Connection: close\r\nContent-Length: 2\r\n\r\n{{}}".encode())


@contextlib.contextmanager
def recording(elsewhere: str = "") -> Iterator[tuple[str, list[bytes]]]:
    """Run a server that notes all that comes; yield its host with port, and the notes."""
    seen: list[bytes] = []
    kind = type("Recording", (Recorder,), {"seen": seen, "elsewhere": [elsewhere] if elsewhere else []})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), kind) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}", seen
        finally:
            server.shutdown()
            thread.join(10)


def has_credentials(request: bytes) -> bool:
    return any(mark.lower() in request.lower() for mark in MARKS)


@dataclass(frozen=True)
class Grounds:
    """A real store with its run to reproduce, a folder outside of every store, and the host that records."""

    base: Path
    run_id: str
    outside: Path
    host: str
    stores: dict[str, Path] = field(default_factory=dict)

    def copy(self, kind: str, *, with_files: bool) -> Path:
        """Return the folder of a new copy of the store, with modules that leave traces."""
        folder = self.base.parent / "foreign" / kind
        folder.mkdir(parents=True)
        shutil.copy(self.base / "gnz.db", folder)
        if with_files:
            shutil.copytree(self.base / "artifacts", folder / "artifacts")
        plant_canaries(folder)
        self.stores[kind] = folder
        return folder


def plant_canaries(folder: Path) -> None:
    """Put modules and an installed plugin into a folder."""
    for name in (*SHADOWS, "canary_nets", "canary_plugin", "canary_package/__init__", "canary_package/nets"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(CANARY)
    about = folder / "canary_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: canary-plugin\nVersion: 1.0\n")
    groups = ("models", "tasks", "datasets", "protocols", "suites", "selectors")
    points = "".join(f"[gnz_track.{group}]\nCanary = canary_plugin:Net\n" for group in groups)
    (about / "entry_points.txt").write_text(points)


def addresses(grounds: Grounds) -> dict[str, str]:
    """Return kind -> where a store says that the files of all its experiments lie."""
    host, outside = grounds.host, grounds.outside
    port = host.rpartition(":")[2]
    above = "/".join([".."] * 12)
    remote = {
        "http": f"http://{host}/http",
        "http in capitals": f"HTTP://{host}/http",
        "https": f"https://{host}/https",
        "http with a user": f"http://alice:guess@{host}/user",
        "http that redirects": f"http://{host}/redirect",
        "http of localhost": f"http://localhost:{port}/localhost",
        "http with a question": f"http://{host}/question?to=",
        "http of an unknown host": "http://evil.invalid/http",
        "https of an unknown host": "https://evil.invalid/https",
        "API of another server": f"http://{host}/api/2.0/mlflow-artifacts/artifacts",
        "mlflow-artifacts with a host": f"mlflow-artifacts://{host}/files",
        "mlflow-artifacts": "mlflow-artifacts:/files",
        "mlflow-artifacts with a port": f"mlflow-artifacts://{port}/files",
        "s3": "s3://evil-bucket/files",
        "s3 with a user": "s3://alice:guess@evil-bucket/files",
        "gs": "gs://evil-bucket/files",
        "r2": "r2://evil-bucket@account/files",
        "b2": "b2://evil-bucket/files",
        "oss": "oss://evil-bucket/files",
        "wasbs": f"wasbs://files@{host}/files",
        "abfss": f"abfss://files@{host}/files",
        "hdfs": f"hdfs://{host}/files",
        "viewfs": f"viewfs://{host}/files",
        "ftp": f"ftp://{host}/files",
        "ftp with a user": f"ftp://alice:guess@{host}/files",
        "sftp": f"sftp://{host}/files",
        "dbfs": "dbfs:/files",
        "dbfs with a host": f"dbfs://profile@{host}/files",
        "databricks": "databricks://profile/files",
        "runs": f"runs:/{grounds.run_id}",
        "models": "models:/evil/1",
        "models with a host": f"models://{host}/evil/1",
        "scheme of nobody": f"evil+scheme://{host}/files",
    }
    local = {
        "folder elsewhere": str(outside),
        "folder elsewhere as URI": outside.as_uri(),
        "URI with one slash": f"file:{outside}",
        "steps upwards": f"{grounds.base}/artifacts/{above}{outside}",
        "steps upwards as URI": f"file://{grounds.base}/artifacts/{above}{outside}",
        "coded steps": f"file://{grounds.base}/artifacts/{above.replace('.', '%2e')}{outside}",
        "coded slashes": f"file://{grounds.base}/artifacts%2f{above.replace('/', '%2F')}{outside}",
        "twice coded steps": f"file://{grounds.base}/artifacts/{above.replace('.', '%252e')}{outside}",
        "file of a host": f"file://{host}{outside}",
        "file of localhost": f"file://localhost{outside}",
        "share of a host": f"//{host}/share",
        "share as UNC": rf"\\{host}\share",
        "file with backslashes": f"file:{outside}\\..",
        "relative path": "canary_package",
        "relative URI": "file:canary_package",
        "device": "/dev",
        "processes": "file:///proc/self/root",
        "nothing": "",
        "a line break": f"{outside}\n",
        "percent of nothing": f"file://{outside}/%zz",
    }
    return {**remote, **local}


def make_address_kinds(grounds: Grounds) -> None:
    """Make a store of each kind of address: of the database alone, as it was sent."""
    for kind, place in addresses(grounds).items():
        folder = grounds.copy(kind, with_files=False)
        with contextlib.closing(sqlite3.connect(folder / "gnz.db")) as connection, connection:
            for table, column in (("runs", "artifact_uri"), ("experiments", "artifact_location")):
                start = (grounds.base / "artifacts").as_uri()
                text = f"UPDATE {table} SET {column} = ? || substr({column}, ?)"  # noqa: S608
                connection.execute(text, (place, len(start) + 1))


def make_link_kinds(grounds: Grounds) -> None:
    """Make stores whose own folder has links that lead out of it, and pipes that nobody writes into."""
    folder = grounds.copy("link in place of all files", with_files=False)
    (folder / "artifacts").symlink_to(grounds.outside)
    folder = grounds.copy("link in place of an experiment", with_files=False)
    (folder / "artifacts").mkdir()
    for experiment in (grounds.base / "artifacts").iterdir():
        (folder / "artifacts" / experiment.name).symlink_to(grounds.outside / experiment.name)
    folder = grounds.copy("links in place of files", with_files=True)
    for file in [path for path in (folder / "artifacts").rglob("*") if path.is_file()]:
        file.unlink()
        file.symlink_to(grounds.outside / file.relative_to(folder / "artifacts"))
    folder = grounds.copy("pipes in place of files", with_files=True)
    for file in [path for path in (folder / "artifacts").rglob("*") if path.is_file()]:
        file.unlink()
        os.mkfifo(file)


Book = dict[str, Any]


def _model(**changed: Any) -> Callable[[Book], None]:
    def change(book: Book) -> None:
        for model in book["models"].values():
            model.update(changed)

    return change


def _task(**changed: Any) -> Callable[[Book], None]:
    def change(book: Book) -> None:
        for task in book["tasks"].values():
            task.update(changed)
        for cell in book["cells"].values():
            cell["data"] = "0" * 32

    return change


def _cell(**changed: Any) -> Callable[[Book], None]:
    def change(book: Book) -> None:
        for cell in book["cells"].values():
            cell.update(changed)

    return change


def _payload(**more: str) -> Callable[[Book], None]:
    import base64

    content = pickle.dumps(Pickled())
    text = base64.b64encode(content).decode()
    return _model(target="", factory="", payload=text, is_encoder=False, source_digest="0" * 32, **more)


def book_kinds() -> dict[str, Callable[[Book], None]]:
    """Return kind -> what is changed in the book of cells; digests of the book are made anew, as whoever lies would."""
    evil = {"canary_nets:Net", "canary_package.nets:Net", "os:system", "subprocess:Popen", "gnz_track.cli:main"}
    targets = {f"target {name}": _model(target=name, source_digest="0" * 32) for name in sorted(evil)}
    digest = hashlib.sha256(pickle.dumps(Pickled())).hexdigest()
    return {
        **targets,
        "target without a digest": _model(target="canary_nets:Net", source_digest=""),
        "target that is no encoder": _model(target="canary_nets:Net", is_encoder=False),
        "factory": _model(factory="canary_nets:called"),
        "factory of an encoder": _model(factory="canary_nets:called", is_encoder=False),
        "payload": _payload(payload_digest=digest),
        "payload of an old book": _payload(),
        "payload of another digest": _payload(payload_digest="0" * 64),
        "payload beside a target": _model(payload=_payload_text()),
        "loader": _task(loader="canary_nets:load"),
        "loader in a package": _task(loader="canary_package.nets:load"),
        "loader of the system": _task(loader="os:getcwd"),
        "loader of another name": _task(loader="canary_nets:load", name="mine", dataset="mine"),
        "metric": _task(metric="canary_nets:called"),
        "perturbation": _cell(perturbation="canary_nets:called"),
        "encoding": _cell(hyperparameters=[["encoding", "canary_nets:called"]]),
        "hyperparameter": _cell(hyperparameters=[["convolution", "canary_nets:called"]]),
        "seed that is a path": _cell(seed="../../../../outside"),
    }


def _payload_text() -> str:
    import base64

    return base64.b64encode(pickle.dumps(Pickled())).decode()


def make_book_kinds(grounds: Grounds) -> None:
    """Make stores whose books name code, or hold it."""
    for kind, change in book_kinds().items():
        folder = grounds.copy(kind, with_files=True)
        [file] = (folder / "artifacts").glob("*/*/artifacts/cells/*.json")
        book = json.loads(file.read_text())
        change(book)
        text = json.dumps(book, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        file.with_name(f"{digest}.json").write_text(text)
        with contextlib.closing(sqlite3.connect(folder / "gnz.db")) as connection, connection:
            named = "UPDATE tags SET value = json_set(value, '$.cells', ?) WHERE key = 'gnz.bookkeeping'"
            connection.execute(named + " AND json_extract(value, '$.cells') IS NOT NULL", (digest,))


def make_file_kinds(grounds: Grounds) -> None:
    """Make stores whose plans, tables, trials and environments are pickles, or carry some."""
    folder = grounds.copy("pickles in place of files", with_files=True)
    for file in [path for path in (folder / "artifacts").rglob("*") if path.is_file()]:
        file.write_bytes(pickle.dumps(Pickled()))
    _sign_tables(folder)
    folder = grounds.copy("types of Arrow that unpickle", with_files=True)
    for file in (folder / "artifacts").rglob("*.parquet"):
        _add_pickled_type(file)
    _sign_tables(folder)


def _add_pickled_type(file: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(file)
    metadata = {"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": pickle.dumps(Pickled())}
    fields = [pa.field(one.name, one.type, metadata=metadata) for one in table.schema]
    pq.write_table(pa.Table.from_arrays(table.columns, schema=pa.schema(fields, metadata=table.schema.metadata)), file)


def _sign_tables(folder: Path) -> None:
    """Tell the database the digests of tables that were changed: whoever lies can do that too."""
    with contextlib.closing(sqlite3.connect(folder / "gnz.db")) as connection, connection:
        for file in (folder / "artifacts").rglob("*.parquet"):
            digest, run = hashlib.sha256(file.read_bytes()).hexdigest(), file.parents[1].name
            connection.execute("UPDATE tags SET value = ? WHERE key = 'gnz.table' AND run_uuid = ?", (digest, run))


SCHEMAS = {
    "trigger": "CREATE TRIGGER canary AFTER INSERT ON tags BEGIN SELECT load_extension('canary'); END",
    "view in place of the runs": "ALTER TABLE runs RENAME TO other; "
    "CREATE VIEW runs AS SELECT * FROM other WHERE load_extension('canary') IS NULL",
    "view without an end": "ALTER TABLE tags RENAME TO other; CREATE VIEW tags AS WITH RECURSIVE n(i) AS "
    "(SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT o.* FROM other o, n WHERE i < 0",
    "table of a module": "ALTER TABLE tags RENAME TO other; CREATE VIRTUAL TABLE tags USING fts5(key, value, run_uuid)",
    "version of nobody": "UPDATE alembic_version SET version_num = '../../canary_nets'",
    "no version": "DELETE FROM alembic_version",
    "tables that lack": "UPDATE alembic_version SET version_num = '451aebb31d03'; DROP TABLE latest_metrics",
}


def make_schema_kinds(grounds: Grounds) -> None:
    """Make stores whose tables are none, or begin something when they are read or written."""
    for kind, script in SCHEMAS.items():
        folder = grounds.copy(kind, with_files=True)
        with contextlib.closing(sqlite3.connect(folder / "gnz.db")) as connection, connection:
            connection.executescript(f"PRAGMA legacy_alter_table=ON; {script};")
