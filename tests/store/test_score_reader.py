"""All test scores of runs, by SQL and run by run."""

from __future__ import annotations

import pytest
from cells import context_of, record, sweep_records

from gnz_track.store.past_runs import read_scores
from gnz_track.store.writer import Store


@pytest.mark.parametrize("is_known", [True, False])
def test_scores_are_those_that_were_written(store: Store, monkeypatch: pytest.MonkeyPatch, *, is_known: bool) -> None:
    if not is_known:
        monkeypatch.setattr("gnz_track.store.reader.KNOWN_REVISIONS", {})
    monkeypatch.setattr("gnz_track.store.read_sql.RUNS_PER_QUERY", 3)
    context = context_of("first")
    written = {store.finish(one): dict(one.scores) for one in sweep_records(context)}
    other = store.finish(record(7, context=context_of("second")))
    found = read_scores(store.address, list(written))
    assert found == written
    assert other not in found
    assert any(len(scores) > 1 for scores in found.values()) or all(len(scores) <= 1 for scores in written.values())
