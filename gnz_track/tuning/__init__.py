"""Which hyperparameters: search spaces as data, and studies that can be resumed trial by trial.

A benchmark's searches are a `plan`; each `search` asks its `study` for trials, trains them blind, and tells their mean
validation score; the winner becomes ordinary cells.

- `settings`: budget, sampler and seeds of searches, as one asks for them; what scripts hand over as ``search=``
- `spaces`: search spaces as data
- `default_spaces`: ranges where nobody names any
- `plan`: the searches of a benchmark, and their winners as cells
- `search`: from a search to its record
- `study`: trials asked for, evaluated and told
- `study_terms`: what a study is agreed to be
- `study_storage`: a journal beside the local store, or PostgreSQL
- `proposals`: the values that a trial tries
- `samplers`: Optuna's samplers by name
- `pruners`: which trials are given up early
- `progress`: how far searches are, on a terminal
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "default_spaces": ("ALL", "borders_of", "defaults_of", "space_of"),
    "plan": (
        "Search",
        "SearchPlan",
        "cells_of_trial",
        "changed",
        "note_on_lengths",
        "plan_searches",
        "searches_by_cell",
        "terms_of",
        "with_tuned_cells",
        "with_values",
    ),
    "progress": ("SearchProgress",),
    "proposals": ("DIRECTIONS", "propose", "sampler_inputs_of"),
    "pruners": ("PRUNERS", "Standing"),
    "samplers": ("SAMPLERS", "SamplerInputs", "check_sampler", "count_points", "distributions_of", "make_sampler"),
    "search": ("Evaluation", "Listener", "SearchContext", "Silence", "run_searches", "scores_of"),
    "settings": ("KINDS", "PER_TASK", "SearchSettings", "SearchSpace", "Shares", "read_search", "seeds_to_tune"),
    "spaces": ("Dimension", "Space", "Value", "digest_of_space", "make_space", "plain_space", "read_spaces"),
    "study": (
        "DEFAULT",
        "ENDED",
        "First",
        "SAMPLER",
        "Study",
        "Trial",
        "TrialOutcome",
        "begin_study",
        "read_trial",
        "run_study",
    ),
    "study_storage": ("Studies", "StudyPlace", "open_studies", "parse_place"),
    "study_terms": ("Budget", "ROUND_SIZE", "StudyTerms"),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
