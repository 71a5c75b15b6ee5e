"""What of a store counts: one protocol, and the same data once whatever they are called."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from selection.conftest import TASKS, Past, evidence_of

from gnz_track.api import run_benchmark
from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.errors import BadValue, NothingToCompare, UnknownName
from gnz_track.selection.graph_input import open_graph
from gnz_track.selection.recommendation import recommend
from gnz_track.store.address import parse_address
from gnz_track.store.reader import read_table


def test_scores_of_one_protocol_count(own: Past) -> None:
    before = recommend("les_miserables", store=own.store, home=own.home)
    run_benchmark(
        tasks=["les_miserables"],
        models=["GCN", "SGC"],
        seeds=[0, 1],
        epochs=2,
        protocol="glemos",
        store=own.store,
        root=own.home,
        verbose=False,
    )
    after = recommend("les_miserables", store=own.store, home=own.home)
    assert after.ranking == before.ranking
    (note,) = set(after.notes) - set(before.notes)
    assert note == (
        "scores are those under graphnetz@1; 4 cells under glemos@1 are left out, which split or train otherwise: "
        "--protocol glemos asks for them instead"
    )
    named = recommend("les_miserables", store=own.store, home=own.home, protocol="graphnetz")
    assert named.ranking == before.ranking
    with pytest.raises(BadValue, match=r"is 1; .* under glemos@1; 24 cells under graphnetz@1 are left out"):
        recommend("les_miserables", store=own.store, home=own.home, protocol="glemos")
    with pytest.raises(UnknownName, match="did you mean 'glemos'"):
        recommend("les_miserables", store=own.store, home=own.home, protocol="glemo")
    with pytest.raises(
        NothingToCompare, match=r"under protocol best-val@1; those there are under glemos@1, graphnetz@1; train"
    ):
        recommend("les_miserables", store=own.store, home=own.home, protocol="best-val")


def test_the_same_data_are_one_graph_by_any_name(own: Past) -> None:
    twin = task_from_dataset("twin", "link_pred", open_graph("les_miserables", home=own.home).graphs[0])
    how = {"seeds": [5], "epochs": 3, "store": own.store, "root": own.home, "verbose": False}
    run_benchmark(tasks=[twin], models=["GAT"], **how)
    found = recommend("les_miserables", store=own.store, home=own.home)
    (gat,) = [one for one in found.ranking if one.setting.model == "GAT"]
    assert found.n_graphs == len(TASKS), "it counts once"
    assert gat.measured is not None
    assert gat.n_past == 1
    assert {name for name, _ in found.neighbours} <= set(TASKS)
    graph = open_graph("les_miserables", home=own.home).graphs[0]
    same = recommend(graph, "link_pred", store=own.store, home=own.home)
    assert same.graph == "twin"
    assert {one.setting: one.measured for one in same.ranking} == {one.setting: one.measured for one in found.ranking}


def test_seconds_are_the_median_over_seeds_of_what_was_computed(own: Past) -> None:
    how = {"epochs": 3, "store": own.store, "root": own.home, "verbose": False}
    run_benchmark(tasks=["les_miserables"], models=["GCN"], seeds=[2, 3, 4], **how)
    table = read_table(parse_address(own.store))
    matrix = evidence_of(own).matrix
    for row, column in np.ndindex(matrix.seconds.shape):
        of_cell = table[table["run_id"].isin(matrix.run_ids[row, column])]["cpu_seconds"].tolist()
        assert matrix.seconds[row, column] == statistics.median(of_cell)
    assert max(len(ids) for ids in matrix.run_ids.flat) == 5
