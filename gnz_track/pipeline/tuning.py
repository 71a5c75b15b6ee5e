"""The stage ``tune``: the searches of a task, as far as they are not done, and what they found as a file.

Trials lie beside the store of runs, which DVC neither reads nor writes; the file is all that other stages need.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gnz_track.errors import UnknownName
from gnz_track.pipeline.choosing import SEARCHES, require
from gnz_track.pipeline.params import PARAMS_FILE, Params
from gnz_track.pipeline.training import make_request
from gnz_track.request import Request, plan_request_searches, search_all
from gnz_track.runs.nursery import Nursery
from gnz_track.store.search_record import SearchRecord, search_from_json, search_to_json

if TYPE_CHECKING:
    from gnz_track.tuning.searches import SearchPlan
    from gnz_track.tuning.searching import Listener
    from gnz_track.tuning.settings import SearchSettings

__all__ = ["Tuning", "load_searches", "make_tuning", "read_settings", "seeds_of", "tune_task"]

# What a file of parameters may say of searches; where trials are kept, and whether they are fresh, is no part of it.
_ELSEWHERE = frozenset({"place", "is_fresh", "spaces", "recommend"})


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Searches of one task's stage."""

    name: str
    request: Request
    plan: SearchPlan


def read_settings(given: Mapping[str, Any]) -> SearchSettings:
    """Return the settings that the key ``tune`` asks for; ``spaces`` are by model, as in a file of spaces."""
    from gnz_track.seeds import parse_seeds
    from gnz_track.tuning.settings import SearchSettings
    from gnz_track.tuning.spaces import make_space

    known = [field.name for field in dataclasses.fields(SearchSettings) if field.name not in _ELSEWHERE]
    for key in given:
        if key not in [*known, "spaces"]:
            raise UnknownName(f"key of tune in {PARAMS_FILE}", key, [*known, "spaces"])
    values = dict(given)
    spaces = values.pop("spaces", None) or {}
    seeds = values.pop("tuning_seeds", None)
    return SearchSettings(
        spaces={str(name): make_space(str(name), space) for name, space in spaces.items()},
        tuning_seeds=None if seeds is None else parse_seeds(str(seeds)),
        **values,
    )


def seeds_of(params: Params) -> tuple[int, ...]:
    """Return all seeds whose data are needed: those that are reported, and those that are tuned on."""
    if params.tune is None:
        return params.seeds
    from gnz_track.tuning.settings import seeds_to_tune

    shares = seeds_to_tune(read_settings(params.tune), params.seeds)
    return tuple(dict.fromkeys((*params.seeds, *(seed for share in shares for seed in share.seeds))))


def make_tuning(params: Params, name: str) -> Tuning:
    """Plan the searches of a task from its frozen data."""
    request = make_request(params, name, source=f"dvc tune@{name}")
    request = dataclasses.replace(request, search=read_settings(params.tune or {}))
    return Tuning(name=name, request=request, plan=plan_request_searches(request))


def tune_task(
    tuning: Tuning, *, listener: Listener | None = None, nursery: Nursery | None = None
) -> Sequence[SearchRecord]:
    """Do what is left of the searches of a task, and write what they found once all of them have ended.

    Parameters
    ----------
    tuning
        Searches of the stage.
    listener
        Listener of trials.
    nursery
        Workers that are getting ready.
    """
    found = search_all(tuning.request, tuning.plan, listener=listener, nursery=nursery)
    file = SEARCHES / f"{tuning.name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(search_to_json(record) + "\n" for record in found), encoding="utf-8")
    return found


def load_searches(params: Params, name: str) -> list[SearchRecord]:
    """Return what the searches of a task have found; none where nothing is tuned."""
    if params.tune is None:
        return []
    lines = require(SEARCHES / f"{name}.jsonl", f"tune@{name}").read_text("utf-8").splitlines()
    return [search_from_json(line) for line in lines]
