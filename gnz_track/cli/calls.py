"""Commands as they are called: a flag that is given has a value, and a call can be written down again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand

from gnz_track.errors import BadValue

__all__ = ["Commands", "repeat"]

# Between the names of a list, and so nothing by itself.
BLANKS = ", \t\n"


class Commands(typer.Typer):
    """A group of commands none of which takes a flag without a value: ``--task "$TASK"`` may be an unset variable."""

    def command(self, *given: Any, **options: Any) -> Callable[[Any], Any]:
        """Add a command, as Typer does."""
        return super().command(*given, **{"cls": _Command, **options})


def repeat(call: typer.Context, **changes: object) -> tuple[str, ...]:
    """Return the words of a call, to be shown: all that was given to it, with some values changed.

    They are made from the options that the command has, so that none is forgotten; a store is shown without password.
    """
    from gnz_track.store.address import mask

    values = {**call.params, **changes}
    words = ["gnz", *call.command_path.split()[1:]]
    for param in call.command.params:
        value = values.get(param.name or "")
        if value is None or value in ("", [], ()) or value == param.get_default(call):
            continue
        each = [mask(str(item)) for item in (value if isinstance(value, list | tuple) else [value])]
        if param.param_type_name == "argument":
            words += each
        elif isinstance(value, bool):
            words.append(param.opts[0] if value else param.secondary_opts[0])
        else:
            words += [word for item in each for word in (param.opts[0], item)]
    return tuple(words)


class _Command(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # As they were typed: a path of nothing would become the working folder.
        given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        for param in self.params:
            if param.param_type_name == "option":
                _refuse_blank(param.opts[0], given.get(param.name or ""), command=ctx.command_path)
        return super().parse_args(ctx, args)


def _refuse_blank(flag: str, given: object, *, command: str) -> None:
    for text in given if isinstance(given, list) else [given]:
        if isinstance(text, str) and not text.strip(BLANKS):
            raise BadValue(flag, text, f"a value; without {flag} the default is taken", command=f"{command} --help")
