"""How a paper says what was done: every choice that can be made has its words."""

from __future__ import annotations

import numpy as np
import pytest
from score_tables import table_of

from gnz_track.report.figures.labels import ADJUSTED
from gnz_track.report.page import methods
from gnz_track.report.page.methods import write_methods
from gnz_track.stats.comparison.choices import POSTHOCS, TESTS
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.significance.multiple import ADJUSTMENTS


@pytest.mark.parametrize(
    ("words", "choices"),
    [
        (methods.ADJUSTMENTS, ADJUSTMENTS),
        (ADJUSTED, ADJUSTMENTS),
        (methods.TESTS, TESTS),
        (methods.POSTHOCS, POSTHOCS),
    ],
    ids=["adjustments", "adjustments in captions", "tests", "posthocs"],
)
def test_every_choice_has_its_words_and_no_others_have(words: dict[str, object], choices: dict[str, object]) -> None:
    assert set(words) == set(choices)


@pytest.mark.parametrize("adjustment", ADJUSTMENTS)
def test_methods_are_written_with_every_adjustment(adjustment: str) -> None:
    scores = np.random.default_rng(0).random((4, 3, 5))
    found = write_methods(compare(table_of(scores), adjustment=adjustment))
    assert methods.ADJUSTMENTS[adjustment][0] in str(found)
