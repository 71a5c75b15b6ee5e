"""Code as users of the published package write it, with nothing but the import changed, on a small category."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from gnz_track import GAT, GCN, BenchmarkReport, GraphSAGE, run_benchmark


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the report of the call that opens the published documentation, short."""
    folder = tmp_path_factory.mktemp("published")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GNZ_STORE", str(folder / "gnz.db"))
        patch.setenv("GNZ_DATA", str(folder / "data"))
        patch.setenv("XDG_DATA_HOME", str(folder))
        patch.delenv("GNZ_MIRROR", raising=False)
        yield run_benchmark(
            "combinatorial",
            {"GCN": GCN, "GAT": GAT, "GraphSAGE": GraphSAGE},
            seeds=range(3),
            task_type="link_pred",
            epochs=2,
            verbose=False,
        )


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples write into the working folder."""
    monkeypatch.chdir(tmp_path)


def test_quick_start(report: BenchmarkReport) -> None:
    assert report.seeds == (0, 1, 2)
    assert {"n_seeds", "mean", "std", "sem", "ci_low", "ci_high"} <= set(report.summary().columns)
    assert {"task", "model_a", "model_b", "mean_diff", "p_raw", "p_holm", "significant"} <= set(
        report.pairwise().columns
    )
    assert {"chi2", "p_value", "k", "n", "rejected"} <= set(report.friedman())
    assert len(report.power()) == len(report.pairwise())
    report.plot_critical_difference()
    report.to_latex("results.tex")
    assert Path("results.tex").read_text().count(r"\bottomrule") >= 1


def test_methods_for_a_call_or_for_all(report: BenchmarkReport) -> None:
    print(report.summary())  # noqa: T201
    print(report.summary(method="bootstrap"))  # noqa: T201
    print(report.pairwise(alpha=0.05))  # noqa: T201
    print(report.pairwise(alpha=0.05, method="wilcoxon"))  # noqa: T201
    other = BenchmarkReport.from_json(report.to_json())
    other.ci_method = "bootstrap"
    other.pairwise_method = "wilcoxon"
    assert other.summary().equals(report.summary(method="bootstrap"))
    assert other.pairwise().equals(report.pairwise(method="wilcoxon"))


def test_figures(report: BenchmarkReport) -> None:
    drawn = []
    fig, _ = report.plot_forest(ci=0.95)
    drawn.append(fig)
    fig, _ = report.plot_forest(ci=0.95, sort_within=True, band=True)
    drawn.append(fig)
    fig, _ = report.plot_pairwise(layout="matrix")
    drawn.append(fig)
    fig, _ = report.plot_pairwise(layout="matrix", alpha=0.05)
    drawn.append(fig)
    fig, _ = report.plot_pairwise(layout="list", max_cols=2, method="wilcoxon")
    drawn.append(fig)
    fig, _ = report.plot_critical_difference(alpha=0.05)
    drawn.append(fig)
    fig, _ = report.plot_learning_curves(ci=0.95, ylabel="Test AUC")
    drawn.append(fig)
    labels = [text.get_text() for text in fig.findobj(lambda one: hasattr(one, "get_text"))]
    assert labels.count("Test AUC") == len(report), "one label for each panel"
    assert not [label for label in labels if label.startswith("val/")]
    fig, ax = report.plot()
    drawn.append(fig)
    assert ax is not None
    for number, figure in enumerate(drawn):
        assert isinstance(figure, Figure)
        figure.savefig(f"{number}.pdf")
        assert Path(f"{number}.pdf").read_bytes().startswith(b"%PDF")


def test_tables_for_a_paper(report: BenchmarkReport) -> None:
    report.to_latex("results.tex", ci=0.95, bold_best=True)
    report.pairwise_to_latex("pairwise.tex")
    report.pairwise_to_latex("pairwise_wilcoxon.tex", method="wilcoxon")
    assert Path("pairwise.tex").read_text() != Path("pairwise_wilcoxon.tex").read_text()


def test_adequacy(report: BenchmarkReport) -> None:
    power = report.power(alpha=0.05, target_power=0.80)
    power[["task", "model_a", "model_b", "mean_diff", "mde", "observed_power", "detectable"]]
    power[["task", "model_a", "model_b", "sigma_d", "seeds_for_0.01", "seeds_for_0.005"]]
    eq = report.equivalence(margin=0.01)
    assert eq["verdict"].value_counts().sum() == len(power)
    f = report.friedman(alpha=0.05)
    assert f["critical_difference"] > 0
    assert f["n_for_observed_gap"] >= (f["max_rank_gap"] > 0)
    st = report.rank_stability(n_boot=1_000)
    assert 0 <= st["order_stability"] <= 1
    assert len(st["separation"]) == 3
    assert len(st["jackknife"]) == 3 * f["n"]


def test_task_weighting(report: BenchmarkReport) -> None:
    task_to_category = dict.fromkeys(report, "combinatorial")
    weights = {task: 1.0 + number for number, task in enumerate(report)}
    report.mean_ranks()
    report.mean_ranks(aggregation="reliability")
    report.mean_ranks(aggregation="custom", weights=weights)
    alike = report.mean_ranks(aggregation="hierarchical", groups=task_to_category)
    assert alike.to_dict() == pytest.approx(report.rank_table().mean().to_dict())


def test_a_single_cell_and_the_mapping(report: BenchmarkReport) -> None:
    finals = report.final_metrics()
    task = next(iter(report))
    arr = finals[task]["GCN"]
    mean = sum(arr) / len(arr)
    assert mean == pytest.approx(report.summary().loc[(task, "GCN"), "mean"])
    for name, per_task in report.items():
        for model, history in per_task.items():
            assert history == report.histories[name][model][0]
            assert np.isfinite(history[f"test/{report.metric_name(name)}"]).all()


def test_persistence(report: BenchmarkReport) -> None:
    report.to_json("report_social.json")
    again = BenchmarkReport.from_json("report_social.json")
    assert again.histories == report.histories
    assert again.summary().equals(report.summary())
