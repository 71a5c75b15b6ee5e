"""Executors. An executor takes cells and yields results, and tells meanwhile what goes on.

That is the whole interface: a function of cells and of who is told. Its iterator is closed when nobody wants more
results, which ends all workers. ``tests/conformance`` holds what every executor keeps to: each cell given back once,
bit by bit as :func:`run_one` gives it, errors of models as results, a worker's death as the failure of its cell alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from gnz_track.errors import BadValue, UnknownName
from gnz_track.registry import before_others
from gnz_track.runs.executors.events import Done, Event, Tell
from gnz_track.runs.executors.fork_server import ForkServer
from gnz_track.runs.executors.processes import run_on_processes
from gnz_track.runs.executors.ray.client_process import ClientRequest, needs_client_process, run_by_client_process
from gnz_track.runs.executors.ray.head import check_address, hide_password
from gnz_track.runs.executors.ray.resources import Footprints, check_share, check_share_is_taken
from gnz_track.runs.owners import is_ours
from gnz_track.types import Cell, CellResult

__all__ = ["AUTO", "PROCESSES", "RAY", "Crew", "Executor", "check_crew", "choose_executor"]


def _take_originals() -> None:
    """Take note of how this process computes and of what stands in Torch and PyG, which code of others may change."""
    import gnz_track.runs.isolation.canary  # noqa: F401


# Torch and PyG are imported for it, so not before it is needed: names can be checked and cells planned without.
before_others(_take_originals)


# Its iterator is closed when nobody wants more results; workers may begin before it is asked for the first.
Executor = Callable[[Sequence[Cell], Tell], Generator[CellResult, None, None]]
AUTO, INLINE, PROCESSES, RAY = "auto", "inline", "processes", "ray"


@dataclass(frozen=True, kw_only=True)
class Crew:
    """Choice of an executor: ``executor`` by name or a function, where it is found, and how much of it may be used.

    ``jobs`` is the number of workers; of a cluster the most cells at once, where 1 stands for all that it takes.
    ``timeout`` is the longest time in seconds for one cell. ``address`` is that of a cluster. ``gpu_share`` is the part
    of a GPU that each cell takes; 0 has it measured.
    """

    executor: str | Executor = AUTO
    address: str = ""
    jobs: int = 1
    timeout: float | None = None
    gpu_share: float = 0.0


def check_crew(crew: Crew) -> None:
    """Refuse a crew that cannot be, or is not here, before anything is planned."""
    if callable(crew.executor):
        _check_own(crew)
        return
    if not isinstance(crew.executor, str) or crew.executor not in _CHOICES:
        raise UnknownName("executor", crew.executor, _CHOICES, command="gnz run --help")
    if not isinstance(crew.jobs, int) or crew.jobs < 1:
        raise BadValue("jobs", crew.jobs, "a whole number from 1 upwards", command="--jobs 2")
    if crew.timeout is not None and not crew.timeout > 0:
        raise BadValue("timeout", crew.timeout, "seconds, more than 0", command="--timeout 300")
    if crew.executor == INLINE and (crew.jobs > 1 or crew.timeout is not None):
        raise BadValue("executor", INLINE, "one job without a time limit", command="--executor processes")
    if crew.executor != RAY and (crew.address or crew.gpu_share):
        name, value = ("address", hide_password(crew.address)) if crew.address else ("gpu_share", crew.gpu_share)
        raise BadValue(name, value, "only with a cluster", command="--executor ray")
    if crew.executor == RAY:
        _check_cluster(crew)


def _check_own(crew: Crew) -> None:
    """Refuse what an executor of somebody's own would never hear of."""
    usual = Crew()
    for name in ("jobs", "timeout", "address", "gpu_share"):
        if getattr(crew, name) != getattr(usual, name):
            allowed = f"{getattr(usual, name)!r} with an executor of your own, which has to know it itself"
            command = f"executor=functools.partial(FUNCTION, {name}=...)"
            raise BadValue(name, hide_password(str(getattr(crew, name))), allowed, command=command)


def choose_executor(
    *,
    jobs: int = 1,
    timeout: float | None = None,
    fork_server: ForkServer | None = None,
    executor: str | Executor = AUTO,
    address: str = "",
    gpu_share: float = 0.0,
    footprints: Footprints | None = None,
) -> Executor:
    """Return what trains cells: by default this process, or workers where there are several or a time limit.

    Where the model of any cell is not of this package, workers too: one process for each such model.

    Parameters
    ----------
    jobs, timeout, executor, address, gpu_share
        Those of :class:`Crew`.
    fork_server
        Worker processes that are ready already.
    footprints
        Memory that cells need, for a cluster.
    """
    crew = Crew(executor=executor, address=address, jobs=jobs, timeout=timeout, gpu_share=gpu_share)
    check_crew(crew)
    if not isinstance(executor, str):
        return _own(executor)
    return _CHOICES[executor](crew, fork_server, footprints or Footprints())


def _auto(crew: Crew, fork_server: ForkServer | None, footprints: Footprints) -> Executor:
    in_workers = _on_processes(crew, fork_server, footprints)
    if crew.jobs != 1 or crew.timeout is not None:
        return in_workers

    def execute(cells: Sequence[Cell], tell: Tell) -> Generator[CellResult, None, None]:
        from gnz_track.runs.executors.inline import run_inline
        from gnz_track.runs.isolation.canary import find_leak
        from gnz_track.runs.isolation.originals import originals

        # Code of others may do what it likes to a process; and some of it may have been imported here before ours.
        is_safe = all(is_ours(cell.model) for cell in cells) and not (originals.strangers() or find_leak())
        return (run_inline if is_safe else in_workers)(cells, tell)

    return execute


def _inline(crew: Crew, fork_server: ForkServer | None, footprints: Footprints) -> Executor:
    from gnz_track.runs.executors.inline import run_inline

    del crew, fork_server, footprints
    return run_inline


def _on_processes(crew: Crew, fork_server: ForkServer | None, footprints: Footprints) -> Executor:
    del footprints
    return _starting_at_once(
        lambda cells: run_on_processes(cells, jobs=crew.jobs, timeout=crew.timeout, fork_server=fork_server)
    )


def _on_ray(crew: Crew, fork_server: ForkServer | None, footprints: Footprints) -> Executor:
    del fork_server
    footprints = footprints.with_share(crew.gpu_share)

    def run(cells: Sequence[Cell]) -> Generator[Event, None, None]:
        check_share_is_taken(crew.gpu_share, cells)
        request = ClientRequest(
            cells=cells, address=crew.address, jobs=crew.jobs, timeout=crew.timeout, footprints=footprints
        )
        if needs_client_process(crew.address):
            return run_by_client_process(request)
        from gnz_track.runs.executors.ray.driver import run_on_ray

        return run_on_ray(**vars(request))

    return _starting_at_once(run)


def _check_cluster(crew: Crew) -> None:
    from importlib.util import find_spec

    check_share(crew.gpu_share)
    if find_spec("ray") is None:
        allowed = "auto, inline or processes; ray once it is installed"
        raise BadValue("executor", RAY, allowed, command="pip install 'gnz-track[ray]'")
    check_address(crew.address)


_CHOICES: dict[str, Callable[[Crew, ForkServer | None, Footprints], Executor]] = {
    AUTO: _auto,
    INLINE: _inline,
    PROCESSES: _on_processes,
    RAY: _on_ray,
}


def _own(execute: Executor) -> Executor:
    """Return an executor of somebody's own, which may give its results in anything that can be gone through."""

    def start(cells: Sequence[Cell], tell: Tell) -> Generator[CellResult, None, None]:
        results = execute(cells, tell)
        return results if isinstance(results, Generator) else (result for result in results)

    return start


def _starting_at_once(run: Callable[[Sequence[Cell]], Generator[Event, None, None]]) -> Executor:
    """Return an executor of what yields events: results are yielded, all else is told."""

    def execute(cells: Sequence[Cell], tell: Tell) -> Generator[CellResult, None, None]:
        results = _results(run(cells), tell)
        # Up to where the workers are its own to end.
        next(results)
        return results

    return execute


def _results(events: Generator[Event, None, None], tell: Tell) -> Generator[CellResult, None, None]:
    with contextlib.closing(events):
        yield None  # type: ignore[misc]
        for event in events:
            if isinstance(event, Done):
                yield event.result
            else:
                tell(event)
