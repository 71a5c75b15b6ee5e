"""What a confirmation takes: epochs, seconds, seeds, and the sentences where these are in doubt."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from selection.conftest import TASKS, Past, evidence_of

from gnz_track.datasets.catalogue import TASKS as CATALOGUE
from gnz_track.runs.plan import Place
from gnz_track.selection.confirmation import plan_confirmation, task_of
from gnz_track.selection.evidence import Evidence, gather_evidence, read_past
from gnz_track.selection.expectations import Expectation, count_seeds
from gnz_track.selection.graph_input import open_graph, view_as
from gnz_track.selection.matrix import ModelSetting, bare_matrix
from gnz_track.selection.recommendation import rank_settings, recommend
from gnz_track.stats.design.power import seeds_needed
from gnz_track.store.address import parse_address
from gnz_track.types import Direction, TaskType


def test_seconds_are_those_of_the_graph_or_of_a_line_over_sizes(past: Past) -> None:
    opened = open_graph("les_miserables", home=past.home)
    evidence = gather_evidence(
        read_past(parse_address(past.store), TaskType.link_pred), features="task", home=past.home
    )
    matrix = evidence.matrix
    own = rank_settings(opened, evidence)
    row = matrix.graphs.index("les_miserables")
    assert {one.setting: one.seconds for one in own.ranking} == dict(
        zip(matrix.settings, matrix.seconds[row], strict=True)
    )
    # A quarter of a second, and a millisecond for each node and edge.
    timed = replace(matrix, seconds=np.tile(0.25 + 1e-3 * evidence.sizes[:, None], (1, len(matrix.settings))))
    # Of this ring as of past graphs only the links count that no split holds out.
    ring = view_as(open_graph(nx.cycle_graph(5000)), TaskType.link_pred)
    size = 5000 + ring.parts.network.n_edges
    found = rank_settings(ring, replace(evidence, matrix=timed))
    assert [one.seconds for one in found.ranking] == pytest.approx([0.25 + 1e-3 * size] * len(matrix.settings))


def test_epochs_are_the_median_of_past_graphs_and_cost_goes_by_them(past: Past) -> None:
    evidence = evidence_of(past)
    (protocol,) = {one.protocol for one in evidence.matrix.settings}
    ring = open_graph(nx.cycle_graph(5000))
    assert not any("epochs" in note for note in rank_settings(ring, evidence).notes)
    lengths = dict(zip(evidence.matrix.graphs, (10, 20, 40, 200), strict=True))
    epochs = {(graph, protocol): n for graph, n in lengths.items()}
    # A tenth of a second an epoch, whatever the size.
    seconds = np.tile(0.1 * np.array([list(lengths.values())]).T, (1, len(evidence.matrix.settings)))
    timed = replace(evidence, epochs=epochs, matrix=replace(evidence.matrix, seconds=seconds))
    found = rank_settings(ring, timed)
    assert {one.epochs for one in found.ranking} == {30}
    assert [one.seconds for one in found.ranking] == pytest.approx([3.0] * len(found.ranking))
    (note,) = [note for note in found.notes if "epochs" in note]
    assert note.startswith("past graphs were trained for 10 to 200 epochs; a confirmation takes 30, their median")
    plan = plan_confirmation(
        found, task_of(ring, TaskType.link_pred, name="ring"), k=1, seeds=[0], place=Place(home=past.home)
    )
    assert plan.cells[0].epochs == 30
    # Of a graph that was run its own number counts, and a task of the catalogue has one.
    own = rank_settings(open_graph("random_tsp", home=past.home), timed)
    assert {one.epochs for one in own.ranking} == {lengths["random_tsp"]}
    assert not any("epochs" in note for note in own.notes)
    known = [name for name in lengths if name != "random_tsp"]
    without = replace(
        timed,
        matrix=timed.matrix.take(known),
        features=evidence.features[[evidence.matrix.graphs.index(name) for name in known]],
        sizes=evidence.sizes[[evidence.matrix.graphs.index(name) for name in known]],
        epochs={key: n for key, n in epochs.items() if key[0] in known},
    )
    new = rank_settings(open_graph("random_tsp", home=past.home), without)
    assert {one.epochs for one in new.ranking} == {CATALOGUE.get("random_tsp").epochs}
    # Posed as another kind of problem it is no task of the catalogue.
    nodes = rank_settings(open_graph("grid_mines", home=past.home), timed)
    assert {one.epochs for one in nodes.ranking} == {30}


def test_seeds_are_counted_for_the_first_two_as_ranked() -> None:
    matrix = bare_matrix(["here", "there"], [ModelSetting(name) for name in "abc"], "auc", Direction.up)
    matrix.spread[:] = 0.1
    evidence = Evidence(task_type=TaskType.link_pred, matrix=matrix, features=np.zeros((2, 1)), sizes=np.ones(2))
    expected = Expectation(np.array([0.9, 0.7, 0.8]), np.full(3, np.nan), 0.8, (0, 1))
    order = np.array([0, 1, 2])
    # The same difference of .2 is two standard deviations, or the root of two for a difference of two settings.
    assert count_seeds(evidence, expected, order, "new") == (seeds_needed(2**0.5), "")
    turned = count_seeds(evidence, expected, np.array([1, 2, 0]), "new")
    assert turned[0] == seeds_needed(0.5**0.5) == 18
    assert turned[1].startswith("by expected score c, the second, is ahead of b, the first, by 0.1: ")
    errors = replace(evidence, matrix=replace(matrix, direction=Direction.down))
    assert count_seeds(errors, expected, np.array([1, 2, 0]), "new")[1] == ""
    # What was measured on both here counts before what is expected of them.
    matrix.scores[0] = [0.5, 0.6, np.nan]
    assert count_seeds(evidence, expected, np.array([1, 0, 2]), "here") == (18, "")
    assert count_seeds(evidence, expected, np.array([1, 2, 0]), "here") == turned
    matrix.spread[:] = np.nan
    number, note = count_seeds(evidence, expected, order, "new")
    assert number == 5
    assert note.startswith("how far scores differ from seed to seed is unknown")


def test_one_setting_takes_a_usual_number_of_seeds(past: Past) -> None:
    found = replace(recommend(nx.karate_club_graph(), "link_pred", store=past.store, home=past.home), n_seeds=40)
    assert [found.seeds_for(k) for k in (1, 2, 9)] == [5, 40, 40]
    assert found.minutes(1) == pytest.approx((found.ranking[0].seconds or 0.0) * 5 / 60)


def test_a_graph_far_larger_than_past_ones_is_told(past: Past) -> None:
    evidence = evidence_of(past)
    largest = max(open_graph(name, home=past.home).parts.network.n_edges for name in TASKS)
    # What no split holds out of a ring.
    share = view_as(open_graph(nx.cycle_graph(1000)), TaskType.link_pred).parts.network.n_edges / 1000
    # Some are drawn anew for every seed.
    assert evidence.most_edges == pytest.approx(largest, rel=0.05)
    rings = {n: open_graph(nx.cycle_graph(int(n * evidence.most_edges / share) + 9)) for n in (3, 7)}
    at = {n: rank_settings(ring, evidence).notes for n, ring in rings.items()}
    assert not any("extrapolated" in note for note in at[3])
    assert any(note.startswith("seconds are extrapolated: 7 times as many edges as any past graph") for note in at[7])
