"""Show it: a results table and what it says, as objects, tables, figures and pages.

- `benchmark_report`: the report of a benchmark: a thin facade over a results table and its comparison
- `bundle`: A report as a folder of files: the page, figures, tables and the results table
- `joining`: runs of several sweeps, users and machines in one table, as far as they are comparable; the rest
  with the reason
- `published`: ranks of a comparison in the shapes of the published package, and mean ranks with weighted tasks
- `report_json`: A report as one text of JSON, and back: the table before any statistic, so that others can ask
  other questions
- `report_statistics`: what a report says in numbers, and as LaTeX, under the published names
- `searches`: facts of a search by its trials: its curve, hyperparameters that mattered, the place of its winner
- `sources`: results tables for a report: from a store, from parquet, or from a plain table of someone else's
  numbers
- `sweep_comparison`: two sweeps against one another: before and after an upgrade, mine and theirs
- `tuned_models`: default against tuned: what a search gained on the reporting cells, by the paired verdict, and
  what it cost
- `figures/`: TODO of this folder
- `page/`: TODO of this folder
- `tables/`: TODO of this folder
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "benchmark_report": ("BenchmarkReport", "ReportFigures", "ReportSearches", "searches_of"),
    "bundle": ("Bundle", "PAGE", "publish_bundle", "write_bundle"),
    "figures.audits": ("draw_diversity_plane", "draw_performance", "draw_strips"),
    "figures.axes": (
        "Key",
        "Margins",
        "ModelMark",
        "Panel",
        "Sheet",
        "TICK_SIZE",
        "WIDTH",
        "columns_for",
        "decimals_for",
        "draw_words",
        "fence",
        "line_key",
        "log_ticks",
        "model_marks",
        "open_sheet",
        "order_models",
        "put_text",
        "set_ticks",
        "share_limits",
        "signed",
        "spread_ticks",
        "widen",
        "write_number",
    ),
    "figures.bars": ("draw_bars",),
    "figures.captions": (
        "count",
        "say_counts",
        "say_interval",
        "say_range",
        "say_seeds",
        "say_test",
        "say_unattainable",
        "say_verdicts",
    ),
    "figures.critical_difference.content": ("CdFacts", "cd_facts_of", "write_caption"),
    "figures.critical_difference.draw": (
        "draw_cd_diagram",
        "draw_layout",
        "save_cd_tikz",
        "write_cd_tikz",
        "write_layout",
    ),
    "figures.critical_difference.layout": (
        "CdLook",
        "GAP",
        "INSIDE",
        "LANE",
        "Name",
        "PAD",
        "RankScale",
        "Shape",
        "Span",
        "draw_axis",
        "lay_out_cd",
        "lay_out_elbows",
        "lay_out_list",
        "make_bar",
        "make_scale",
        "pack_groups",
        "place_name",
        "spread",
        "write_names",
    ),
    "figures.critical_difference.shapes": ("Bar", "Box", "CdLayout", "Dot", "Label", "Point", "Stroke", "box_of"),
    "figures.forest": ("draw_forest",),
    "figures.labels": ("Extent", "Measure", "clean_name", "show_controls", "wrap_name", "wrap_prose"),
    "figures.learning_curves": ("choose_series", "draw_learning_curves"),
    "figures.pairs": (
        "LOOKS",
        "PairRows",
        "choose_rows",
        "draw_pair_list",
        "draw_pairs",
        "find_tasks",
        "name_pairs",
        "verdict_key",
        "why_no_pairs",
    ),
    "figures.profiles": ("draw_profiles",),
    "figures.searches": ("draw_budget_ranks", "draw_expected_best", "draw_importances", "draw_search_history"),
    "figures.seeds_needed": ("draw_detectable_effects",),
    "figures.style": (
        "FORMATS",
        "HouseFigure",
        "Mark",
        "cut_text",
        "fonts_for",
        "house_style",
        "marks_of",
        "measure_text",
        "save_figure",
        "short_names",
        "undrawable",
    ),
    "figures.trade_offs": ("COSTS", "draw_trade_off"),
    "joining": ("NotMerged", "join_tables", "order_for_joining"),
    "page.audits": ("AuditView", "view_audits", "warn_of_versions", "write_audit_page"),
    "page.data": ("embed_json", "make_page_data"),
    "page.figures": ("FigureSet", "ShownFigure", "draw_figures", "write_inline_svg"),
    "page.methods": (
        "Methods",
        "Outlook",
        "REFERENCES",
        "look_ahead",
        "write_methods",
        "write_protocol_terms",
        "write_summary",
    ),
    "page.page": (
        "Reported",
        "ScoreCell",
        "TaskSection",
        "make_sections",
        "missing_of",
        "rank_rows",
        "render_page",
        "write_page",
    ),
    "page.provenance": ("Fact", "collect_facts", "datasets_of", "write_commands"),
    "page.searches": (
        "SearchSection",
        "describe_search",
        "draw_search_figures",
        "make_search_section",
        "write_search_methods",
    ),
    "published": (
        "ChoiceName",
        "describe_stability",
        "equivalence_frame",
        "friedman_facts",
        "level_of",
        "pairwise_frame",
        "power_frame",
        "rank_frame",
        "summary_frame",
        "translate",
        "weigh_ranks",
    ),
    "report_json": ("ReportParts", "SCHEMA", "read_report", "write_report"),
    "report_statistics": ("ReportStatistics", "write_text"),
    "searches": (
        "RANDOM_SAMPLERS",
        "SearchCells",
        "SearchFacts",
        "SearchGroup",
        "TaskBudgets",
        "borders_of",
        "curve_of",
        "find_cells",
        "group_searches",
        "ranks_by_budget",
        "read_facts",
    ),
    "sources": ("Source", "count_rows", "find_audits", "read_frame", "read_parquet", "read_store", "with_score"),
    "sweep_comparison": (
        "ComparedCell",
        "Difference",
        "SweepComparison",
        "compare_environments",
        "compare_sweeps",
        "shared_rows",
    ),
    "tables.latex": (
        "DEFINITIONS",
        "LatexLook",
        "LatexOptions",
        "Tabular",
        "escape_tex",
        "tex_lines",
        "tex_name",
        "tex_sign",
        "tex_text",
        "tex_width",
        "write_document",
        "write_scores_latex",
        "write_verdicts_latex",
    ),
    "tables.scores": ("GridCell", "GridTask", "ScoreGrid", "SummaryRow", "lay_out_scores", "summarise"),
    "tables.searches": (
        "SEARCH_COLUMNS",
        "save_searches",
        "search_frame",
        "search_rows",
        "write_best",
        "write_searches_latex",
        "write_searches_markdown",
        "write_searches_text",
    ),
    "tables.table": (
        "SUFFIXES",
        "align_rows",
        "escape_markdown",
        "pipe_rows",
        "save_scores",
        "save_table",
        "save_verdicts",
        "score_frame",
        "verdict_frame",
        "write_scores_markdown",
        "write_scores_text",
        "write_verdicts_markdown",
        "write_verdicts_text",
    ),
    "tables.training": (
        "PLACES",
        "TrainingFacts",
        "TrainingSection",
        "make_training_section",
        "save_training",
        "training_facts",
        "training_frame",
        "write_training_latex",
        "write_training_markdown",
        "write_training_text",
    ),
    "tuned_models": ("DEFAULT_WON", "SearchSummary", "TunedModel", "compare_tuned", "summarise_searches"),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
