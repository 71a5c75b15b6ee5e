"""Run as a script: call ``gnz`` once in the folder of each foreign store, and note what Python was asked to do.

Arguments: a file of JSON with {kind: [folder, words]}, the folder outside of all stores, and the file for the answer.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

NETWORK = frozenset({"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"})
CODE = frozenset({"os.system", "os.exec", "subprocess.Popen", "pickle.find_class"})
notes: list[str] = []


def watch(outside: str) -> None:
    """Note connections, programs that are started, and files outside that are opened."""

    def hook(event: str, given: tuple[Any, ...]) -> None:
        if event in NETWORK:
            notes.append(f"network {event} {given[-1] if event == 'socket.connect' else given[0]}")
        elif event in CODE and not _is_ours(event, given):
            notes.append(f"code {event} {given[:2]}")
        elif event in {"open", "os.listdir", "os.scandir"} and str(given[0]).startswith(outside):
            notes.append(f"file {given[0]}")

    sys.addaudithook(hook)


def _is_ours(event: str, given: tuple[Any, ...]) -> bool:
    """Tell whether it is git, or another program that tells versions or fonts; no store has a say in their words."""
    programs = {"git", "nvidia-smi", "uname", "ldconfig", "gcc", "fc-list"}
    return event == "subprocess.Popen" and Path(str(given[0])).name in programs


def read_by_api(store: str) -> None:
    """Read a store by all functions that a script has for it."""
    from gnz_track.errors import GnzError
    from gnz_track.report.sources import read_store
    from gnz_track.store.address import parse_address
    from gnz_track.store.audits import read_audits
    from gnz_track.store.reader import finished_fingerprints, read_table, read_tensor
    from gnz_track.store.searches import read_searches
    from gnz_track.store.sweep_manifest import read_plan

    sweeps: set[str] = set()
    for read in (
        lambda: sweeps.update(read_table(store)["sweep"]),
        lambda: [read_plan(store, sweep) for sweep in sweeps],
        lambda: [read_store(store, sweep=sweep) for sweep in sweeps],
        lambda: read_tensor(store),
        lambda: read_searches(store),
        lambda: read_audits(parse_address(store)),
        lambda: finished_fingerprints(store),
    ):
        with contextlib.suppress(GnzError):
            read()


def call(words: list[str]) -> tuple[int, str]:
    if words[0] == "api":
        read_by_api(words[-1])
        return 0, ""
    from gnz_track.cli import main

    sys.argv = ["gnz", *words]
    code: object = 0
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        except Exception as error:  # noqa: BLE001  (a traceback is noted, and is another matter)
            code, _ = 70, said.write(f"{type(error).__name__}: {error}")
    return int(str(code)), said.getvalue()


def main(calls: str, outside: str, answer: str) -> None:
    found = {}
    watch(outside)
    for kind, (folder, words) in json.loads(Path(calls).read_text()).items():
        os.chdir(folder)
        notes.clear()
        code, said = call(words)
        found[kind] = {"code": code, "said": said[-2000:], "notes": list(notes)}
        Path(answer).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
