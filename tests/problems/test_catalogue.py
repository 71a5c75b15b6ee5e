"""The look-up of kinds of problem."""

from __future__ import annotations

from gnz_track.problems.catalogue import KINDS
from gnz_track.types import TaskType


def test_every_task_type_is_a_kind_of_problem_and_links_with_relations_are_one_more() -> None:
    assert set(KINDS) == {*map(str, TaskType), "triples"}
    of_classes = {name: kind for name, kind in KINDS.items() if name not in ("node_reg", "edge_reg")}
    assert len({id(kind) for kind in of_classes.values()}) == len(of_classes), "two kinds are one"
    assert (KINDS["node_reg"], KINDS["edge_reg"]) == (KINDS["node_cls"], KINDS["edge_cls"])
