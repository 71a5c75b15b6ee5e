"""The look-up of kinds of problem."""

from __future__ import annotations

from gnz_track.problems.catalogue import KINDS
from gnz_track.types import TaskType


def test_every_task_type_is_a_kind_of_problem_and_links_with_relations_are_one_more() -> None:
    assert set(KINDS) == {*map(str, TaskType), "triples"}
    assert len({id(kind) for kind in KINDS.values()}) == len(KINDS), "two kinds are one"
