"""Templates of pages, which show every text as it is, and pages as files."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from gnz_track.report.figures.labels import show_controls

__all__ = ["part_of_page", "render_template", "write_whole"]


def render_template(name: str, content: dict[str, Any]) -> str:
    """Return a template of ours, filled."""
    return _environment().get_template(name).render(content)


def part_of_page(name: str) -> Markup:
    """Return a file of ours as it is."""
    loader = _environment().loader
    return Markup(loader.get_source(_environment(), name)[0] if loader is not None else "")  # noqa: S704


def write_whole(path: str | Path, text: str) -> Path:
    """Write a page into a file, whole or not at all."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(target.name + ".part")
    # Halves of characters, which some names hold, have no UTF-8.
    unfinished.write_text(text, encoding="utf-8", errors="replace")
    unfinished.replace(target)
    return target


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gnz_track.report"),
        autoescape=True,
        finalize=show_controls,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Matplotlib escapes the texts of its figures itself.
    environment.filters["inline_svg"] = Markup
    return environment
