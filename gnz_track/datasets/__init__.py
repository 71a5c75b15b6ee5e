"""Which graphs, which tasks: the catalogue, the frozen form, splits. Importing this package imports no torch.

- `card`: the card of a frozen dataset: where it comes from, how large it is, how its tensors are cut
- `catalogue`: the one table of datasets, tasks and suites
- `collation`: many graphs into one set of tensors with pointers, and back
- `encodings`: positional encodings: numbers that tell nodes apart by where they are in their graph
- `features`: node features for graphs that have none
- `frozen`: frozen datasets: graphs written once as tensors with a card, byte-identical on every rewrite, mapped
  when opened
- `mapped_tensors`: tensors of a safetensors file, mapped into memory and not read
- `perturbations`: mode perturbations: graphs that have lost what their edges say, or what their features say
- `preparation`: frozen datasets of tasks on this machine
- `references`: the literature behind the catalogue: BibTeX entries by key, and the sentence that a card prints
  of each
- `steady`: frozen data that stay what they were while they are used: read whole once, then looked at for the
  price of a stat
- `streaming`: graphs that do not fit into memory, frozen in portions
- `checks/`: checks of datasets: faults, and what makes a dataset easier than it looks
- `generators/`: graphs that are made here, from a seed or from images
- `own/`: data that users bring
- `readers/`: raw files in the formats of their publishers, read into graphs; nothing that lies in them is run
- `rows/`: catalogue: a row for each dataset, by research area
- `sources/`: where raw files come from: mirrors, package indexes, addresses; and a remote for what is frozen
- `splits/`: TODO of this folder
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "card": ("CARD", "card_page", "card_record", "read_card"),
    "catalogue": ("DATASETS", "SUITES", "TASKS", "choose_tasks", "iter_benchmark_tasks", "iter_tasks"),
    "checks.catalogue": ("CheckFinding", "Subject", "check"),
    "checks.raw_comparison": ("compare_with_raw",),
    "collation": ("collate", "describe"),
    "encodings": ("describe_limits", "encode_nodes", "parse_encoding"),
    "features": ("N_LEARNED", "N_STRUCTURAL", "identity_features", "node_numbers", "structural_features"),
    "frozen": ("FrozenDataset", "TENSORS", "freeze", "open_frozen"),
    "mapped_tensors": ("digest_of",),
    "own.graphs": ("from_networkx", "read_tables"),
    "own.tables": ("open_table",),
    "own.tasks": ("own_row", "task_from_dataset"),
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
        "data_home",
        "find_frozen",
        "find_prepared",
        "folder_name",
        "forget_loaded",
        "freeze_row",
        "prepare",
        "prepare_dataset",
        "state_of",
    ),
    "readers.gml": ("read_gml",),
    "readers.raw_files": ("both_ways", "renumber"),
    "sources.archives": ("LIMIT", "extract"),
    "sources.download": ("without_credentials",),
    "sources.fetch": ("Fetched", "fetch", "fetch_each", "find_complete", "n_bytes_left", "n_bytes_of", "parse_mirror"),
    "sources.fetch_errors": ("ArchiveUnusable",),
    "sources.origins": ("Received",),
    "splits.links": ("LinkPart", "LinkSplit", "TriplePart", "split_links", "split_triples"),
    "splits.nodes_and_graphs": ("Parts", "label_pointer", "split_edges", "split_graphs", "split_nodes"),
    "steady": ("hold_steady", "open_steady", "read_again"),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
