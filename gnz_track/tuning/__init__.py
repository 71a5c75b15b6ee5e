"""Which hyperparameters: search spaces as data, and studies that can be resumed trial by trial.

- `default_spaces`: search spaces where nobody names one: one range per hyperparameter, and the models that need
  another one
- `plan`: from what searches found to ordinary cells: the winner of each, on the seeds that are reported
- `progress`: progress of searches: a live line on a terminal, plain lines elsewhere
- `proposals`: values that a trial is to try: a function of the terms of its study, its number, and the trials
  of earlier rounds
- `pruners`: which trials are given up before all of their seeds are trained, by name
- `samplers`: the samplers of Optuna by name, each made anew for every trial from a seed of its own
- `search`: from a search to its record: trials are asked for, trained and told, and the winner stands at the
  end
- `search_space`: argument ``search=`` of scripts, and the search that it asks for
- `settings`: settings of searches, as one asks for them; and their seeds, by kind of search
- `spaces`: search spaces as data: name of a hyperparameter -> the values that it may take
- `study`: A study: trials that are asked for, evaluated, and told, so that what was interrupted goes on exactly
  where it was
- `study_storage`: storage of studies: a journal beside the local store, or PostgreSQL where several machines
  share them
- `study_terms`: terms of a study: two studies that differ in any of it but the budget are two studies
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
        "plan_searches",
        "reason_against_search",
        "searches_by_cell",
        "terms_of",
        "with_tuned_cells",
        "with_values",
    ),
    "progress": ("SearchProgress",),
    "proposals": ("DIRECTIONS", "propose", "sampler_inputs_of"),
    "pruners": ("PRUNERS", "Standing"),
    "samplers": ("SAMPLERS", "SamplerInputs", "check_sampler", "count_points", "distributions_of", "make_sampler"),
    "search": (
        "Evaluation",
        "Listener",
        "SearchContext",
        "Silence",
        "find_first",
        "reason_of",
        "run_searches",
        "scores_of",
    ),
    "search_space": ("SearchSpace", "read_search"),
    "settings": ("KINDS", "PER_TASK", "SearchSettings", "Share", "seeds_to_tune"),
    "spaces": ("Dimension", "Space", "Value", "digest_of_space", "make_space", "plain_space", "read_spaces"),
    "study": (
        "DEFAULT",
        "ENDED",
        "First",
        "SAMPLER",
        "Study",
        "Trial",
        "TrialOutcome",
        "TrialRow",
        "begin_study",
        "is_left_behind",
        "read_row",
        "round_of",
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
