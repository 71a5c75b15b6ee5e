"""Accelerated layers, and who writes into what they were given or gave: what is read there is what was written."""

from __future__ import annotations

import pytest
from trials import FORMS
from uses import all_of, at_turns, hold
from writes import REWIRING, SPOILING, UNTRUSTED, WRITING

# Torch warns of its own modes, and of PyG's ways in them.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_what_is_written_into_features_is_read() -> None:
    hold(at_turns(WRITING, FORMS), wants_gradient=False)


@pytest.mark.slow
def test_what_is_written_into_features_is_read_in_all_forms() -> None:
    for wants_gradient in (True, False):
        hold(all_of(WRITING, FORMS), wants_gradient=wants_gradient)


# Through edges that change between a forward and its backward, PyG refuses to go back, or goes along the new ones.
def test_what_is_written_into_edges_is_read() -> None:
    hold(at_turns(REWIRING, UNTRUSTED), order=0)


@pytest.mark.slow
def test_what_is_written_into_edges_is_read_in_all_forms() -> None:
    hold(all_of(REWIRING, UNTRUSTED), order=0)


def test_what_is_written_into_outputs_stays_there() -> None:
    hold(all_of(SPOILING, UNTRUSTED), wants_gradient=False)
