"""What was trained, as numbers: means over seeds, and places that verdicts back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from score_tables import table_of, trained_table

from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.report.tables.training import training_facts, training_frame
from gnz_track.stats.comparison.compare import compare


@pytest.mark.parametrize("direction", ["up", "down"])
def test_places_are_shared_where_verdicts_do_not_tell_models_apart(direction: str) -> None:
    table = trained_table(direction)
    frame = training_frame(compare(table), table)
    assert frame.set_index("model")["place"].to_dict() == {"A": "first", "B": "first", "C": "third", "D": ""}
    assert list(frame["model"])[2:] == ["C", "D"]


def test_a_difference_within_the_margin_is_a_place_and_one_that_no_test_can_find_is_none() -> None:
    table = trained_table()
    trivial = training_frame(compare(table, margin=0.5), table).set_index("model")["place"]
    assert trivial.to_dict() == {"A": "first", "B": "first", "C": "third", "D": ""}
    few = table[table["seed"] < 4]
    powerless = training_frame(compare(few, test="wilcoxon"), few)["place"]
    assert set(powerless) == {"first"}, "an exact test of four seeds rejects nothing"


def test_numbers_are_means_over_seeds() -> None:
    table = trained_table()
    row = training_frame(compare(table), table).set_index("model").loc["C"]
    scores = table.loc[table["model"] == "C", "score"]
    assert row["mean"] == pytest.approx(scores.mean())
    assert row["sd"] == row["best_validation_sd"] == pytest.approx(scores.std(ddof=1))
    assert row["best_validation_mean"] == pytest.approx(scores.mean() - 0.01)
    assert (row["train_mean"], row["train_sd"]) == pytest.approx((0.935, np.std(np.arange(8), ddof=1) / 100))
    told = {"n_parameters": 100_000, "cpu_seconds": 12.5, "seconds": 13.5, "seconds_per_epoch": 0.5, "memory_mib": 64.0}
    assert {name: row[name] for name in told} == told
    assert "process_mib" not in row, "what the process held is no memory of a cell"
    assert row["n_epochs"] == 63.5, "all that were trained, and not those up to the selected one"


def test_memory_is_that_of_the_gpu_where_one_was_used() -> None:
    table = trained_table()
    table["peak_device_mib"] = np.where(table["model"] == "A", 100.0, np.nan)
    facts = training_facts(compare(table), table)
    assert facts is not None
    assert facts.frame.set_index("model")["memory_mib"].to_dict() == {"A": 100.0, "B": 64.0, "C": 64.0, "D": 64.0}
    assert "MiB: the most memory at once, of the GPU or of the cell" in facts.notes
    only = trained_table().drop(columns=["peak_rss_mib", "memory_mib"]).assign(peak_device_mib=100.0)
    facts = training_facts(compare(only), only)
    assert facts is not None
    assert "MiB: the most memory at once, of the GPU" in facts.notes


def test_memory_of_a_process_stands_apart_from_that_of_cells() -> None:
    """Stores of before hold the high-water mark of the process, which is the same for every model."""
    table = trained_table()
    table["memory_mib"] = table["memory_mib"].where(table["model"] != "A")
    facts = training_facts(compare(table), table)
    assert facts is not None
    rows = facts.frame.set_index("model")
    assert rows["memory_mib"].dropna().to_dict() == {"B": 64.0, "C": 64.0, "D": 64.0}
    assert rows["process_mib"].dropna().to_dict() == {"A": 512.0}
    assert any(note.startswith("process MiB") and "no comparison" in note for note in facts.notes)
    old = table.drop(columns="memory_mib")
    facts = training_facts(compare(old), old)
    assert facts is not None
    assert "memory_mib" not in facts.frame
    assert set(facts.frame["process_mib"]) == {512.0}


def test_the_first_cell_of_a_process_is_not_the_cost_of_its_model() -> None:
    table = trained_table()
    table["cpu_seconds"] = np.where((table["model"] == "A") & (table["seed"] == 0), 100.0, 1.0)
    assert set(training_frame(compare(table), table)["cpu_seconds"]) == {1.0}


def test_notes_say_where_costs_are_of_several_sweeps_or_a_busy_machine() -> None:
    table = trained_table().assign(sweep="a", environment="e", device="cpu")

    def said(changed: pd.DataFrame) -> str:
        facts = training_facts(compare(changed), changed)
        assert facts is not None
        return "\n".join(facts.notes)

    assert "costs are of" not in said(table)
    assert "wall times are" not in said(table)
    first = table["model"] == "A"
    for column, what in (("sweep", "sweeps"), ("environment", "machines"), ("device", "devices")):
        mixed = table.assign(**{column: np.where(first, "cuda" if column == "device" else "b", table[column])})
        assert f"costs are of several {what}" in said(mixed)
    busy = table.assign(seconds=np.where(first, 3 * table["cpu_seconds"], table["seconds"]))
    assert "wall times are up to 3 times what cells computed (A on t00)" in said(busy)


def test_notes_say_what_places_rest_on_and_who_is_larger() -> None:
    table = trained_table()
    facts = training_facts(compare(table), table)
    assert facts is not None
    assert any(note.startswith("place: ") and "adjusted paired test" in note for note in facts.notes)
    assert facts.notes[-1].startswith("models differ by more than 10% in parameters")
    level = table.assign(n_parameters=100_000)
    facts = training_facts(compare(level), level)
    assert facts is not None
    assert not any("differ" in note for note in facts.notes)


def test_what_a_table_does_not_tell_is_no_column_and_no_test_is_no_place() -> None:
    table = table_of([[[0.5, 0.6], [np.nan, np.nan]]], models=("A", "B"))
    table["status"] = ["finished", "finished", "failed", "failed"]
    frame = training_frame(compare(table), table)
    assert list(frame.columns) == ["task", "model", "metric", "direction", "n_seeds", "mean", "sd", "place"]
    assert frame["place"].tolist() == ["", ""]
    assert training_facts(compare(table), table) is None


def test_a_report_tells_what_was_trained() -> None:
    table = trained_table()
    report = BenchmarkReport.from_frame(table)
    pd.testing.assert_frame_equal(report.training(), training_frame(compare(table), table), check_dtype=False)
    nothing = report.training(alpha=1e-12)
    assert set(nothing["place"]) == {"first"}
