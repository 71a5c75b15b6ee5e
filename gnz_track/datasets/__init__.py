"""Datasets: the catalogue of graphs and tasks, their frozen form, their splits. No torch is imported with this room.

- `catalogue`: the tables of datasets, tasks and suites, and the tasks that a script names
- `rows/`: a row for each dataset and task of the catalogue, by research area
- `references`: the literature behind the catalogue, as BibTeX and as the sentence that a card prints
- `preparation`: from a task to its frozen dataset on this machine
- `homes`: places of datasets on this machine, and whether a row can be used there
- `sources/`: origins of raw files: mirrors, package indexes, addresses; and a remote for what is frozen
- `readers/`: raw files in the formats of their publishers, read into graphs; nothing that lies in them is run
- `generators/`: graphs that are made here, from a seed or from images
- `own/`: graphs, tables and tasks that users bring
- `frozen`: graphs written once as tensors with a card, byte-identical on every rewrite, mapped when opened
- `card`: the card of a frozen dataset, as JSON and as a page
- `collation`: many graphs into one set of tensors with pointers, and back; the facts that a card tells of them
- `mapped_tensors`: tensors of a safetensors file, mapped into memory and not read
- `tensor_types`: types of tensors by the codes of files
- `streaming`: graphs that do not fit into memory, frozen in portions
- `steady`: frozen data that stay what they were while they are used
- `splits/`: parts for training, validation and test, as pure functions of data, policy and seed
- `encodings`: features for nodes that have none, and positional encodings, which tell where a node is in its graph
- `scales`: features on unit scale, fitted on training nodes
- `perturbations`: graphs that have lost what their edges say, or what their features say
- `checks/`: checks of a dataset: faults, and what makes it easier than it looks
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "card": ("CARD", "card_page", "card_record", "read_card"),
    "catalogue": ("DATASETS", "SUITES", "TASKS", "choose_tasks", "iter_benchmark_tasks", "iter_tasks"),
    "checks.catalogue": ("CheckFinding", "Subject", "check", "compare_with_raw"),
    "collation": ("collate", "describe", "is_multi_label"),
    "encodings": (
        "ENCODING_FORMS",
        "N_LEARNED",
        "N_STRUCTURAL",
        "describe_limits",
        "encode_nodes",
        "identity_features",
        "node_numbers",
        "parse_encoding",
        "structural_features",
    ),
    "frozen": ("FrozenDataset", "TENSORS", "freeze", "freeze_collated", "open_frozen"),
    "homes": ("data_home", "folder_name", "frozen_folder", "state_of"),
    "mapped_tensors": ("digest_of",),
    "own.added": ("AddedDataset", "added_rows", "is_added", "keep", "remove"),
    "own.files": ("pose", "read_own", "task_of_file"),
    "own.graphs": ("from_networkx", "read_tables"),
    "own.tables": ("open_table",),
    "scales": ("SCALES", "has_real_features", "standardise", "tell_scale"),
    "own.tasks": ("check_own", "own_row", "refuse_types", "task_from_dataset"),
    "perturbations": (
        "ORIGINAL",
        "PERTURBATIONS",
        "changes_edges",
        "find_perturbation",
        "form_of_features",
        "perturb",
        "perturb_together",
    ),
    "preparation": (
        "check_dataset",
        "find_frozen",
        "find_prepared",
        "forget_loaded",
        "freeze_row",
        "prepare",
        "prepare_dataset",
    ),
    "readers.networks": ("read_gml",),
    "readers.raw_files": ("both_ways", "renumber"),
    "rows.suites": ("SECONDS",),
    "sources.archives": ("LIMIT", "extract"),
    "sources.download": ("without_credentials",),
    "sources.fetch": ("Fetched", "fetch", "fetch_each", "find_complete", "n_bytes_left", "n_bytes_of", "parse_mirror"),
    "sources.origins": ("Received",),
    "splits.links": ("LinkPart", "LinkSplit", "TriplePart", "TripleSplit", "split_links", "split_triples"),
    "splits.nodes_and_graphs": (
        "POLICIES",
        "Parts",
        "label_pointer",
        "split_edges",
        "split_graphs",
        "split_nodes",
        "take_training",
    ),
    "steady": ("hold_steady", "open_steady", "read_again"),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
