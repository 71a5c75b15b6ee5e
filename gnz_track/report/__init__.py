"""Reports: a results table and its comparison as objects, tables, figures and pages.

- `benchmark_report`: the report of a benchmark, with the methods of the published package.
- `other_metric`: the report of the same runs by another metric than that of the tasks.
- `sources`: results tables from a store, from parquet or from a plain table, with their searches and audits.
- `stored_predictions`: what the predictions behind a report say, a task at a time.
- `joining`: runs of several sweeps in one table, as far as they are comparable.
- `tables`: scores, pairs, searches and training as text, Markdown, CSV, parquet and LaTeX.
- `figures`: one file a figure; that of critical differences is a folder, with its geometry in `layout`.
- `page`: the page of HTML.
- `bundle`: a report as a folder of files, and its copy in the store.
- `report_json`: a report as one text of JSON, and back.
- `published`: ranks, pairs and power as data frames with the columns of the published package.
- `searches`: facts of searches by their trials, and the cells that belong to a search.
- `tuned_models`: default against tuned by the paired verdict, and the summary of all searches.
- `study_effects`: effects of the factors of a study, each level against its reference, or components of the spread.
- `sweep_comparison`: two sweeps against one another, and the changes of their environments.
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "benchmark_report": ("BenchmarkReport",),
    "bundle": (
        "Bundle",
        "PAGE",
        "publish_bundle",
        "write_bundle",
    ),
    "figures.audits": (
        "draw_diversity_plane",
        "draw_performance",
        "draw_strips",
    ),
    "figures.bars": ("draw_bars",),
    "figures.critical_difference.content": (
        "CdFacts",
        "cd_facts_of",
    ),
    "figures.critical_difference.draw": (
        "draw_cd_diagram",
        "save_cd_tikz",
        "write_cd_tikz",
    ),
    "figures.critical_difference.layout": (
        "CdLook",
        "lay_out_cd",
    ),
    "figures.factors": ("draw_components", "draw_factor"),
    "figures.forest": ("draw_forest",),
    "figures.learning_curves": (
        "choose_series",
        "draw_learning_curves",
    ),
    "figures.pairs": ("draw_pairs",),
    "figures.profiles": ("draw_profiles",),
    "figures.searches": (
        "draw_budget_ranks",
        "draw_expected_best",
        "draw_importances",
        "draw_search_history",
    ),
    "figures.seeds_needed": ("draw_detectable_effects",),
    "figures.style": ("HouseFigure",),
    "figures.trade_offs": ("draw_trade_off",),
    "other_metric": ("by_metric",),
    "joining": (
        "NotMerged",
        "join_tables",
    ),
    "page.audits": ("write_audit_page",),
    "page.methods": (
        "write_methods",
        "write_protocol_terms",
        "write_summary",
    ),
    "page.page": (
        "render_page",
        "write_page",
    ),
    "page.studies": ("write_components_page", "write_study_page"),
    "published": (
        "equivalence_frame",
        "friedman_facts",
        "pairwise_frame",
        "power_frame",
        "rank_frame",
        "summary_frame",
    ),
    "report_json": (
        "read_report",
        "write_report",
    ),
    "searches": (
        "SearchFacts",
        "read_facts",
    ),
    "sources": (
        "ReportParts",
        "read_frame",
        "read_parquet",
        "read_store",
    ),
    "study_effects": (
        "FactorEffect",
        "StudyEffects",
        "StudyComponents",
        "find_components",
        "find_effects",
    ),
    "sweep_comparison": (
        "Difference",
        "SweepComparison",
        "compare_environments",
        "compare_sweeps",
        "shared_rows",
    ),
    "tables.factors": (
        "component_table",
        "effect_table",
        "interaction_table",
    ),
    "tables.latex": (
        "LatexLook",
        "escape_tex",
    ),
    "tables.pairs": ("pair_table",),
    "tables.scores": ("score_table",),
    "tables.searches": ("search_table",),
    "tables.summary": (
        "SummaryRow",
        "summarise",
    ),
    "tables.table": ("ReportTable",),
    "tables.training": (
        "TrainingFacts",
        "training_facts",
        "training_table",
    ),
    "tuned_models": (
        "SearchSummary",
        "TunedModel",
        "compare_tuned",
        "summarise_searches",
    ),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
