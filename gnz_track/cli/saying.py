"""Output for people on a terminal, and for programs: texts of others drive no terminal."""

from __future__ import annotations

import sys

import typer

from gnz_track.wording import visible

__all__ = ["hand_over", "say"]


def say(text: object = "", *, err: bool = False) -> None:
    """Print lines for people; what a terminal would obey is written so that it can be read."""
    typer.echo(visible(str(text), keeps_lines=True), err=err)


def hand_over(text: str) -> None:
    """Print what is for programs (JSON, CSV, Markdown): as it is, but to a terminal as :func:`say` does."""
    # Typer would take what looks like a colour out of a name.
    sys.stdout.write(visible(text, keeps_lines=True) if sys.stdout.isatty() else text)
    sys.stdout.write("" if text.endswith("\n") else "\n")
    sys.stdout.flush()
