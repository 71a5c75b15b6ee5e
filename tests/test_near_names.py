"""What somebody may have meant."""

from __future__ import annotations

from gnz_track.errors import near_matches

NAMES = ["GCN", "GAT", "GraphSAGE", "MLP", "SGC"]


def test_near_matches_ignore_case_and_keep_the_known_spelling() -> None:
    assert near_matches("GRAPHSAGE", NAMES) == ["GraphSAGE"]
    assert near_matches("ga", NAMES)[0] == "GAT"
    assert near_matches("zzz", NAMES) == []


def test_of_names_as_alike_the_one_that_begins_alike_comes_first() -> None:
    assert near_matches("GCM", NAMES)[0] == "GCN"
    assert near_matches("SCN", NAMES)[0] == "SGC"
