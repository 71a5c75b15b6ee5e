"""Store of what has been measured: one writer, one reader with two ways in, and the results table.

A record goes from `run_record` through `outbox` (the disk) and `writer` into MLflow; `reader` gets it out again, by SQL
or by MLflow's own calls, as rows of `results_table`. To rename anything in a store, change `schema` and nothing else.

- `schema`: every name that is written into a store: experiments, runs, tags, params, metrics, artifacts
- `address`: ``--store`` read, checked and shown without its password
- `connection`: MLflow, opened late and quietly; its errors in one line
- `mlflow_import`: MLflow, imported so that it says nothing that users can do nothing about
- `environment`: facts of machine, code and process that a run carries, whether its owner still lives, and the load
- `run_record`: the record of one cell, its layout in the store, and the limits of names
- `searches`: the record of one hyperparameter search and its trials, written and read
- `audits`: the record of one audit of a dataset, written and read
- `cell_book`: the cells of a sweep as one text, from which each can be trained again
- `sweep_manifest`: which cells a sweep wanted, which pairs it left out, and how its models did
- `outbox`: records on disk before they are in the store
- `replay`: what waits in the outbox, written into the store once
- `writer`: a run per cell, created, streamed, ended; runs of dead owners marked killed
- `reader`: the results table and the array of scores, whatever the store
- `read_sql`: the reader of databases whose tables are known
- `read_rest`: the reader of all other stores, by MLflow's own search
- `past_runs`: single runs: all of one, the curves of some, all their test scores
- `listings`: sweeps and cells in whatever state, and why cells failed
- `results_table`: the columns of the table, its parquet file, and its array of scores
- `row_filters`: which rows and runs are asked for, and what of them can be read
- `query`: the language of ``gnz query``
- `curves`: curves over epochs, thinned, and as a parquet file
- `cell_files/`: files that a cell leaves: predictions, settings, series; written, read and joined
- `artifacts`: files of a run, and where this machine may look for them
- `files/`: databases in files, and parquet files of others
- `ui`: MLflow's user interface on a store, for this machine only, and addresses within it
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
    "cell_book": ("digest_of_book", "read_book", "write_book"),
    "cell_files.best_weights": ("BestSoFar", "drop_beaten"),
    "cell_files.configuration": ("decode_configuration", "encode_configuration"),
    "cell_files.inventory": ("count_files", "find_unneeded"),
    "cell_files.joined_predictions": ("Predictions", "read_kept_file", "read_predictions"),
    "cell_files.kept_files": ("KeptFile", "LARGEST_FILE", "describe_files", "digest_of_bytes", "files_from_tag"),
    "cell_files.predictions": ("PartPredictions", "decode_predictions", "encode_predictions"),
    "cell_files.series": ("decode_series", "encode_series"),
    "cell_files.splits": ("decode_split", "encode_split"),
    "cell_files.weights": ("ArrayForm", "decode_weights", "encode_mlmodel", "encode_weights", "read_form"),
    "curves": ("Curve", "load_curves", "straighten", "thin_all", "write_curves"),
    "environment": (
        "Environment",
        "LoadSampler",
        "NONE",
        "collect_environment",
        "parse_owner",
        "read_git",
        "this_owner",
    ),
    "files.sqlite": ("change_of", "identity_of"),
    "listings": ("FailureRow", "SweepRow", "has_tables", "holds_sweeps", "list_cells", "list_failures", "list_sweeps"),
    "outbox": (
        "Outbox",
        "clear_outbox",
        "deliver",
        "describe_outboxes",
        "files_of_outbox",
        "keep_search",
        "make_outbox_folder",
        "outbox_folder",
        "outbox_home",
        "outbox_unwritable",
        "waiting_records",
    ),
    "past_runs": ("read_curves", "read_run", "read_scores", "read_sweep_run", "score_by"),
    "query": ("parse_condition", "select_rows"),
    "read_sql": ("keep_open",),
    "reader": ("check_known", "finished_fingerprints", "open_reader", "publish_table", "read_table"),
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
    "row_filters": ("PastRun", "Where", "asked_names", "read_where"),
    "run_record": ("RunRecord", "SweepContext", "check_cells", "check_hyperparameters", "record_of", "record_of_start"),
    "searches": ("COMPLETE", "SEARCH_RECORD_FAILED", "SearchRecord", "TrialRecord", "read_searches", "rising_best"),
    "sweep_manifest": ("SweepPlan", "conclude_sweep", "is_concluded", "plan_to_json", "read_wanted_cells"),
    "ui": ("choose_port", "links_of_sweep", "newest_sweep", "serve"),
    "writer": ("DeadRun", "Store", "find_dead_runs", "kill_dead_runs", "now", "open_store"),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
