"""Which cells, and are they done.

A benchmark becomes a `plan`; what past runs leave of it is `remaining`; a `sweep` hands that to an executor, which
calls `run_one` for each cell, here or elsewhere; the `sweep_writer` brings what is told into the store.

- `plan`: every (task, model, seed) as a cell, and the pairs that cannot be trained
- `protocol_resolution`: a protocol applied to one task and one model: settings of a cell, the width of a budget
- `protocol_files`: protocols of one's own as YAML files
- `study_files`: studies as YAML files: factors and their levels; those of the package lie in `studies/`
- `settings`: what of a cell can be chosen by name, as a table, and what users say of it
- `variants`: cells in every combination of what was chosen, and where each setting of a cell comes from
- `fingerprint`: what makes two cells the same
- `remaining`: cells that are left once past runs are counted, and how long they may take
- `sweep`: the cells of a plan, trained and written; the same call goes on where the last one stopped
- `sweep_writer`: events into records, on disk and in the store
- `owners`: whose code the model of a cell is
- `run_one`: one cell in, one result out
- `progress`: a live line on a terminal, plain lines elsewhere
- `files_of_cell`: files that a trained cell leaves, as bytes, and how large they may be
- `reproduce`: a past run trained once more, and compared number by number
- `file_comparison`: files of a past run against those of its repetition
- `refill`: runs of a sweep that lack predictions or weights, trained once more so that they have them
- `trust`: whether code that a store names or holds may run here
- `executors/`: who trains: this process, workers, a Ray cluster
- `isolation/`: what keeps the code of one cell from changing the numbers of another
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "executors.choice": ("AUTO", "Crew", "Executor", "PROCESSES", "RAY", "check_crew", "choose_executor"),
    "executors.crew_size": ("count_cores", "usual_jobs"),
    "executors.events": ("Done", "Event", "Tell", "ignore"),
    "executors.fork_server": ("ForkServer", "open_fork_server_for"),
    "files_of_cell": (
        "KEEPS",
        "PREDICTIONS",
        "WEIGHTS",
        "check_keep",
        "check_most_bytes",
        "predictions_of",
        "read_most_bytes",
    ),
    "isolation.originals": ("originals",),
    "isolation.process_state": ("known_state",),
    "owners": ("is_ours",),
    "plan": (
        "Place",
        "Plan",
        "Skipped",
        "list_skipped",
        "make_plan",
        "perturb_plan",
        "resolve_device",
        "tell_scales",
        "usual_epochs",
    ),
    "progress": ("Progress", "count_aloud", "open_line", "tell_failures"),
    "protocol_files": ("find_protocol", "is_file_of_protocol", "read_protocol"),
    "protocol_resolution": ("list_widths", "own_options", "settings_of"),
    "refill": ("Refill",),
    "remaining": ("RemainingCells", "find_remaining"),
    "reproduce": ("Conditions", "Reproduction", "describe_code_now", "fetch_book"),
    "settings": (
        "ALIASES",
        "SETTINGS",
        "SettingChoice",
        "check_choices",
        "read_choice",
        "read_choices",
        "settle_options",
    ),
    "study_files": ("COMPONENTS", "FactorStudy", "SIZES", "find_study", "list_studies", "read_levels", "read_study"),
    "sweep": ("Sweep", "name_sweep", "run_sweep"),
    "sweep_writer": ("Tracking",),
    "trust": ("describe_unknown", "is_known"),
    "variants": ("count_variants", "label_cells", "trace_settings", "vary_plan"),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
