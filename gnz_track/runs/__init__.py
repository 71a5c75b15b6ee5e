"""Which cells, and are they done.

`plan.py` says which cells are wanted, `one.py` trains one of them, `problems.py` brings data and training together,
`on_<where>.py` runs many, `summary.py` counts.

- `fingerprint`: identity of cells: two of one fingerprint are the same
- `plan`: which cells are wanted, and which pairs cannot be
- `progress`: progress of a sweep: a live line on a terminal, plain lines elsewhere
- `protocol_resolution`: the width that a budget of parameters gives to a model on a task, before anything is
  trained
- `remaining`: cells of a plan that are left once past runs are counted, and how long they may take
- `reproduce`: A past run trained once more, and set against what the store kept of it, number by number
- `run_one`: one cell in, one result out
- `sweep`: A sweep: what is left of a plan, trained by an executor and written by this one process
- `sweep_writer`: turns what an executor tells into records, writes them, and goes on without a store that has
  gone away
- `executors/`: TODO of this folder
- `isolation/`: TODO of this folder
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "executors.choice": ("AUTO", "Crew", "Executor", "RAY", "check_crew", "choose_executor"),
    "executors.events": ("Done", "Event", "Tell", "ignore"),
    "executors.fork_server": ("Nursery", "open_nursery_for"),
    "plan": ("Place", "Plan", "Skipped", "list_skipped", "make_plan", "perturb_plan", "usual_epochs"),
    "progress": ("Progress", "open_line", "tell_failures"),
    "protocol_resolution": ("list_widths",),
    "remaining": ("Agenda", "make_agenda"),
    "reproduce": ("Conditions", "Reproduction"),
    "run_one": ("metric_of", "presumed_metric"),
    "sweep": ("Sweep", "name_sweep", "run_sweep"),
    "sweep_writer": ("Tracking",),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
