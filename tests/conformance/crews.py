"""Every executor that the suite holds to the same contract; each says why where it cannot be tried here."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from doc_pages import DOCS, read_blocks
from ray_nodes import Nodes

from gnz_track.runs.executors.choice import Executor, choose_executor
from gnz_track.runs.executors.fork_server import open_fork_server
from gnz_track.runs.executors.ray.head import greet


@dataclass(frozen=True)
class Crew:
    """An executor of two workers; ``outlives_cells`` says that a cell may be ended without ending the caller."""

    name: str
    start: Callable[..., Executor]
    outlives_cells: bool = True


@contextlib.contextmanager
def inline() -> Iterator[Crew]:
    yield Crew(
        "inline", lambda *, timeout=None: choose_executor(timeout=timeout, executor="inline"), outlives_cells=False
    )


@contextlib.contextmanager
def processes() -> Iterator[Crew]:
    with open_fork_server() as fork_server:
        yield Crew("processes", partial(choose_executor, executor="processes", jobs=2, fork_server=fork_server))


@contextlib.contextmanager
def on_ray() -> Iterator[Crew]:
    if find_spec("ray") is None:
        pytest.skip("no ray: pip install 'gnz-track[ray]'")
    import ray

    with warnings.catch_warnings():
        # What Ray announces of its own next versions.
        warnings.simplefilter("ignore")
        ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        yield Crew("ray", partial(choose_executor, executor="ray", address="local"))
    finally:
        ray.shutdown()


@contextlib.contextmanager
def on_joined_ray() -> Iterator[Crew]:
    """Yield the same on a cluster that is joined, by a process of its own."""
    if find_spec("ray") is None:
        pytest.skip("no ray: pip install 'gnz-track[ray]'")
    # Sockets have short names.
    with tempfile.TemporaryDirectory(prefix="gnz-ray-", dir="/tmp") as folder:
        nodes = Nodes(Path(folder))
        try:
            nodes.add(n_cpus=2)
            until = time.monotonic() + 60
            while greet(nodes.address):
                assert time.monotonic() < until, "the head did not start"
                time.sleep(0.5)
            # Its own node joins it a moment later.
            time.sleep(5)
            yield Crew("ray-joined", partial(choose_executor, executor="ray", address=nodes.address))
        finally:
            nodes.close()


@contextlib.contextmanager
def on_dask() -> Iterator[Crew]:
    """Yield the adapter that the documentation shows, on a cluster of this machine."""
    if find_spec("distributed") is None:
        pytest.skip("no dask: pip install distributed")
    from distributed import LocalCluster

    adapter = _module_of_page("on_dask.py")
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        address = cluster.scheduler_address
        yield Crew("dask", lambda *, timeout=None: partial(adapter.run_on_dask, address=address, timeout=timeout))


CREWS: dict[str, Callable[[], contextlib.AbstractContextManager[Crew]]] = {
    "inline": inline,
    "processes": processes,
    # Before the next one, which connects this very process.
    "ray-joined": on_joined_ray,
    "ray": on_ray,
    "dask": on_dask,
}


def _module_of_page(name: str) -> Any:
    """Import a file that docs/clusters.md tells its reader to save."""
    (block,) = [block for block in read_blocks(DOCS / "clusters.md") if block.file_name == name]
    folder = Path(next(path for path in sys.path if path.endswith("of_the_page")))
    (folder / name).write_text(block.text, encoding="utf-8")
    spec = spec_from_file_location(name.removesuffix(".py"), folder / name)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
