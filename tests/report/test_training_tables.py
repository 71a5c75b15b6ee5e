"""The table of what was trained: means over seeds, and places that verdicts back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from score_tables import table_of

from gnz_track.report.training_tables import training_frame, write_training_markdown
from gnz_track.stats.compare import compare

MODELS = ("A", "B", "C", "D")


def _table(direction: str = "up") -> pd.DataFrame:
    rng, sign = np.random.default_rng(0), 1 if direction == "up" else -1
    base = sign * 0.8 + rng.normal(0, 0.01, 8)
    # A and B are level, C is behind both, D behind all.
    behind = [sign * shift + rng.normal(0, 0.01, 8) for shift in (0.1, 0.2)]
    level = base + 0.01 * (-1.0) ** np.arange(8) + 1e-4 * np.arange(8)
    scores = [[base, level, *(base - each for each in behind)]]
    table = table_of(scores, models=MODELS, direction=direction)
    seeds = table["seed"].to_numpy()
    return table.assign(
        n_parameters=100_000, seconds=10.0 + seeds, seconds_per_epoch=0.5, selected_epoch=54 + seeds, peak_rss_mib=512.0
    )


@pytest.mark.parametrize("direction", ["up", "down"])
def test_places_are_shared_where_verdicts_do_not_tell_models_apart(direction: str) -> None:
    table = _table(direction)
    frame = training_frame(compare(table), table)
    assert frame.set_index("model")["place"].to_dict() == {"A": "first", "B": "first", "C": "third", "D": ""}
    assert list(frame["model"])[2:] == ["C", "D"]


def test_numbers_are_means_over_seeds() -> None:
    table = _table()
    row = training_frame(compare(table), table).set_index("model").loc["C"]
    scores = table.loc[table["model"] == "C", "score"]
    assert row["mean"] == pytest.approx(scores.mean())
    assert row["sd"] == pytest.approx(scores.std(ddof=1))
    told = {"n_parameters": 100_000, "seconds": 13.5, "seconds_per_epoch": 0.5, "n_epochs": 58.5, "memory_mib": 512.0}
    assert {name: row[name] for name in told} == told


def test_what_a_table_does_not_tell_is_no_column_and_no_score_is_no_place() -> None:
    table = table_of([[[0.5, 0.6], [np.nan, np.nan]]], models=("A", "B"))
    table["status"] = ["finished", "finished", "failed", "failed"]
    frame = training_frame(compare(table), table)
    assert list(frame.columns) == ["task", "model", "mean", "sd", "n_seeds", "place"]
    assert frame["place"].tolist() == ["first", ""]
    assert write_training_markdown(compare(table), table).splitlines()[3] == "| t00 | B | - | - | 0 |  |"


def test_the_markdown_has_a_line_for_each_model() -> None:
    table = _table()
    table["model"] = table["model"].replace("D", "D|d")
    lines = write_training_markdown(compare(table), table).splitlines()
    assert lines[0].startswith("| task | model | #Param | test mean | sd | seeds | epochs |")
    assert len(lines) == 6
    assert lines[5].startswith("| t00 | D\\|d | 100,000 | 0.")
