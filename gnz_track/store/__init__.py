"""Store of what has been measured: names of everything in it, one writer, three readers, the results table.

- `address`: address of a store: ``--store`` read, checked and shown without its password
- `artifacts`: files that lie with a run, wherever its store keeps them
- `audits`: audits among the runs of a store: a run for each, in one experiment, with the whole record as an
  artifact
- `cell_book`: the cells of a sweep as one text, from which each of them can be trained again
- `connection`: MLflow, imported late and set up quietly; its errors said in one line
- `curves`: curves over epochs, thinned to what a chart can show
- `environment`: facts of the machine and of the code, collected without Torch
- `listings`: contents of a store: its sweeps, their cells in whatever state, and why cells failed
- `mlflow_import`: MLflow, imported late, and so that it says nothing to users that they can do nothing about
- `outbox`: the spools of all stores on this machine: what waits in them, and what is left over of them
- `past_runs`: all test scores of runs, beside the one that the results table has of each
- `query`: conditions on rows of the results table, in a small language of its own: nothing in it can run
  anything
- `read_rest`: the results table through MLflow's own search: slow, and right everywhere, servers included
- `read_sql`: the results table by SQL from MLflow's own tables: over twenty times as fast as its search
  (benchmarks/store.py)
- `reader`: the results table out of a store: one function, three ways to the same rows
- `replay`: replay of records that wait on the disk into the store: once, whatever happened when and how often
- `results_table`: scores as an array over tasks, models and seeds, and the label that tells variants of a model
  apart
- `row_filters`: which rows of the results table are wanted: columns, and the value or values that each row must
  have there
- `run_record`: record of one cell in the store, one that can wait on disk
- `schema`: every name that is written into a store: experiments, runs, tags, params, metrics, artifacts
- `searches`: searches in the store: one run for each, and where it is asked for, one for each of its trials
- `sweep_manifest`: which cells a sweep wanted, whoever had trained them before, and which pairs it left out
- `ui`: MLflow's user interface on a store, for this machine only
- `writer`: the one writer of a store: a run per cell, in a handful of transactions
- `files/`: TODO of this folder
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "address": ("Address", "mask", "parse_address", "store_home"),
    "artifacts": ("find_place", "read_artifact"),
    "audits": (
        "AuditRecord",
        "DiversityRecord",
        "ModeRecord",
        "PairRecord",
        "SampleRecord",
        "audit_from_json",
        "read_audits",
        "write_audit",
    ),
    "cell_book": ("CellBook", "digest_of_book", "read_book", "write_book"),
    "curves": ("Curve", "load_curves", "straighten", "thin_all", "write_curves"),
    "environment": ("Environment", "NONE", "collect_environment", "parse_owner", "read_git", "this_owner"),
    "files.sqlite": ("change_of", "identity_of"),
    "listings": ("FailureRow", "SweepRow", "has_tables", "holds_sweeps", "list_cells", "list_failures", "list_sweeps"),
    "outbox": (
        "Spool",
        "clear_spool",
        "deliver",
        "describe_spools",
        "keep_search",
        "make_spool_folder",
        "spool_folder",
        "spool_home",
        "spool_unwritable",
        "waiting_records",
    ),
    "past_runs": ("PastRun", "read_curves", "read_run", "read_scores", "read_sweep_run"),
    "query": ("parse_condition", "select_rows"),
    "reader": ("check_known", "finished_fingerprints", "publish_table", "read_table"),
    "replay": ("Replay", "replay_each"),
    "results_table": (
        "COLUMNS",
        "empty_table",
        "labels_of",
        "load_table",
        "make_table",
        "table_of_records",
        "write_table",
    ),
    "row_filters": ("Where", "asked_names", "read_where"),
    "run_record": ("RunRecord", "SweepContext", "check_cells", "check_hyperparameters", "record_of", "record_of_start"),
    "searches": (
        "COMPLETE",
        "SEARCH_RECORD_FAILED",
        "SearchRecord",
        "TrialRecord",
        "read_searches",
        "rising_best",
        "search_from_json",
        "search_to_json",
    ),
    "sweep_manifest": ("SweepPlan", "plan_to_json", "read_wanted_cells"),
    "ui": ("choose_port", "serve"),
    "writer": ("Reaped", "Store", "find_stale", "now", "open_store", "reap"),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
