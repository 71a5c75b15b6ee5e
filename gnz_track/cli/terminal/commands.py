"""Commands: an option that is given has a value, a call can be written down again, a mistake is one line and code 2."""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any, TextIO

import typer
from typer.core import TyperCommand

from gnz_track.cli.terminal.other_words import say_here
from gnz_track.cli.terminal.working_folder import FolderGone, find_working_folder
from gnz_track.errors import BadValue, GnzError
from gnz_track.registry import PluginWarning
from gnz_track.text import cut_values, visible

__all__ = ["DEBUG_VARIABLE", "USER_ERROR", "Command", "Commands", "end_with", "repeat", "show_warnings"]


# Between the names of a list, and so nothing by itself.
BLANKS = ", \t\n"


class Commands(typer.Typer):
    """A group of commands none of which takes a flag without a value: ``--task "$TASK"`` may be an unset variable."""

    def command(self, *given: Any, **options: Any) -> Callable[[Any], Any]:
        """Add a command, as Typer does."""
        return super().command(*given, **{"cls": Command, **options})


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


class Command(TyperCommand):
    """A command whose options have values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a call; an option with a value of nothing is refused."""
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


USER_ERROR = 2
DEBUG_VARIABLE = "GNZ_DEBUG"
# What a system says where a place cannot be used -> the remedy. All else that it says is a mistake of ours.
_ROOM = "make room, then type the same command again"
_RIGHTS = "make it writable for you, or choose another place"
_PATH = "choose another path"
_REMEDIES = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: _ROOM,
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EROFS: _RIGHTS,
    errno.ENOTDIR: _PATH,
    errno.EEXIST: _PATH,
    errno.EISDIR: _PATH,
    errno.ENAMETOOLONG: "choose a shorter path",
    errno.ELOOP: "it is a symbolic link that leads back to itself; choose another path, or remove the link",
    errno.EMFILE: "this shell allows too few open files: ulimit -n 1024, then type the same command again",
    errno.ENFILE: "too many files are open on this machine; end what you can, then type the same command again",
    errno.EIO: "look after the disk, then type the same command again, or choose another place",
    errno.ESTALE: "the network folder has gone; mount it anew, then type the same command again",
}


def end_with(error: Exception) -> None:
    """Say what a call ended with and leave with code 2, where it is a mistake of the user; else do nothing."""
    sentence = _sentence_of(error)
    if sentence is None:
        return
    if os.environ.get(DEBUG_VARIABLE):
        _print_traceback(error)
    _give_up_output()
    # A group of commands that is called without one has printed its help.
    if sentence:
        typer.echo(f"error: {visible(cut_values(sentence))}", err=True)
    sys.exit(USER_ERROR)


def _print_traceback(error: Exception) -> None:
    from gnz_track.store.address import mask

    # What a driver said first may hold the whole address.
    text = mask("".join(traceback.format_exception(error)))
    typer.echo(visible(text, keeps_lines=True), err=True, nl=False)


def _sentence_of(error: Exception) -> str | None:
    if isinstance(error, GnzError):
        return str(error)
    if isinstance(error, typer.TyperException):
        return _usage(error)
    if isinstance(error, FileNotFoundError) and find_working_folder() is None:
        named = isinstance(error.filename, str | os.PathLike)
        return str(FolderGone(f"the path {os.fspath(error.filename)!r}" if named else "a path of the call"))
    if isinstance(error, OSError) and error.errno in _REMEDIES:
        return _of_system(error, _REMEDIES[error.errno])
    return None


def show_warnings() -> None:
    """Show warnings that are meant for users in one line, and all others as Python does."""
    show = warnings.showwarning

    def _show_one(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, PluginWarning):
            typer.echo(f"note: {visible(str(message))}", err=True)
        else:
            show(message, category, filename, lineno, file, line)

    warnings.showwarning = _show_one


def _usage(error: typer.TyperException) -> str:
    """Return what is wrong with the words of a call; nothing where there were none."""
    said = " ".join(error.format_message().split()).removesuffix(".").removesuffix("?")
    context = getattr(error, "ctx", None)
    if context is not None:
        options = [name for param in context.command.params for name in param.opts]
        if here := say_here(said, context.command_path, options, sys.argv[1:]):
            # What looks alike elsewhere is no help beside what means the same.
            return f"{said.partition(' (Possible')[0].partition('. Did you mean')[0]}; here it is: {here}"
    end = "?" if "Did you mean" in said else "."
    return f"{said}{end} Try: {context.command_path} --help" if said and context is not None else said


def _of_system(error: OSError, remedy: str) -> str:
    # Some libraries say more than the system did, and some give a number in place of a name.
    place = f"use {os.fspath(error.filename)!r}" if isinstance(error.filename, str | os.PathLike) else "write"
    return f"cannot {place}: {os.strerror(error.errno or 0)}; {remedy} (traceback: {DEBUG_VARIABLE}=1)"


def _give_up_output() -> None:
    """Let what can no longer be written go nowhere: Python would complain of it once more at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
