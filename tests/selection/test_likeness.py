"""One graph in many forms is one graph: nothing of it leaks where it is to be unseen."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from selection.conftest import Past
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

from gnz_track.api import run_benchmark
from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.selection.graph_input import open_graph
from gnz_track.selection.recommendation import recommend

KARATE = nx.karate_club_graph()


def shuffled() -> Data:
    """Return the club with its members in another order."""
    order = torch.from_numpy(np.random.default_rng(0).permutation(34))
    return Data(edge_index=order[from_networkx(KARATE).edge_index], num_nodes=34)


def as_graphml(folder: Path) -> Path:
    """Return the club as a file that has weights of edges."""
    nx.write_graphml(KARATE, folder / "karate.graphml")
    return folder / "karate.graphml"


@pytest.fixture
def club(own: Past, tmp_path: Path) -> Past:
    """Return the store with a run of the club as a list of edges."""
    file = tmp_path / "club.txt"
    file.write_text("".join(f"{a} {b}\n" for a, b in KARATE.edges))
    task = task_from_dataset("club.txt", "link_pred", open_graph(file).graphs[0])
    how = {"seeds": [0], "epochs": 3, "store": own.store, "root": own.home, "verbose": False}
    run_benchmark(tasks=[task], models=["GCN", "MLP"], **how)
    return own


@pytest.mark.parametrize(
    "make",
    [lambda _: KARATE, lambda _: from_networkx(KARATE), lambda _: shuffled(), as_graphml],
    ids=["networkx", "data", "shuffled", "graphml"],
)
def test_a_past_graph_is_known_in_another_form(make: object, club: Past, tmp_path: Path) -> None:
    graph = make(tmp_path)  # type: ignore[operator]
    seen = recommend(graph, "link_pred", store=club.store, home=club.home)
    assert seen.neighbours[0][0] == "club.txt"
    (note,) = [note for note in seen.notes if "compared" in note]
    assert note.startswith("it looks like club.txt in all that is compared; its scores count as those of a past graph")
    unseen = recommend(graph, "link_pred", store=club.store, home=club.home, is_unseen=True)
    assert "club.txt" not in dict(unseen.neighbours)
    assert unseen.n_graphs == seen.n_graphs - 1 == 4
    assert "club.txt is left out too: it is this graph in all that is compared" in unseen.notes


def test_other_graphs_and_the_graph_itself_are_not_alike(club: Past, tmp_path: Path) -> None:
    for graph in (tmp_path / "club.txt", nx.florentine_families_graph(), "les_miserables"):
        for is_unseen in (False, True):
            found = recommend(graph, "link_pred", store=club.store, home=club.home, is_unseen=is_unseen)
            assert not any("compared" in note for note in found.notes)
    # One edge more is another graph.
    more = KARATE.copy()
    more.add_edge(9, 10)
    found = recommend(more, "link_pred", store=club.store, home=club.home, is_unseen=True)
    assert found.n_graphs == 5
