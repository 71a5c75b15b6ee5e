"""``gnz data card``: all that is known of a dataset, on a page."""

from __future__ import annotations

import enum
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from gnz_track.cli.home import choose_home
from gnz_track.cli.saying import hand_over

__all__ = ["add_card"]


class CardFormat(enum.StrEnum):
    """Format of a card."""

    markdown = "markdown"
    json = "json"


def add_card(group: typer.Typer) -> None:
    """Add this command."""
    group.command("card", epilog="[bold]Example[/bold]  gnz data card cora > cora.md")(_card)


def _card(
    name: Annotated[str, typer.Argument(help="Dataset by name.")],
    *,
    form: Annotated[CardFormat, typer.Option("--format", help="markdown or json.")] = CardFormat.markdown,
    home: Annotated[Path | None, typer.Option(help="Folder of frozen data; default GNZ_DATA or the cache.")] = None,
) -> None:
    """Print source, licence, citation, sizes, digest, known defects and files of a dataset."""
    from gnz_track.datasets.card import CARD, read_card
    from gnz_track.datasets.card_pages import card_page, card_record
    from gnz_track.datasets.catalogue import DATASETS, TASKS
    from gnz_track.datasets.homes import folder_name

    row, home = DATASETS.get(name), choose_home(home)
    folder = home / folder_name(row.name)
    cards = [read_card(path) for path in (sorted(folder.rglob(CARD)) if folder.is_dir() else [])]
    cards.sort(key=lambda one: (one.seed is not None, one.seed or 0))
    record = card_record(row, cards, [task for task in TASKS.rows() if task.dataset == row.name and not task.loader])
    writers = {CardFormat.markdown: card_page, CardFormat.json: _write_json}
    hand_over(writers[form](record))


def _write_json(record: dict[str, Any]) -> str:
    return json.dumps(record, indent=2, sort_keys=True) + "\n"
