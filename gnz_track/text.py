"""Words within sentences of ours: control characters seen, long values cut, addresses, durations, counts, lists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

__all__ = [
    "REMAKE_SWEEP",
    "cut_values",
    "failures_command",
    "first_names",
    "format_seconds",
    "format_size",
    "parse_size",
    "plural",
    "remake_command",
    "split_names",
    "sync_command",
    "visible",
]

# What a terminal obeys instead of showing it: control characters, those that turn a line round, and half characters,
# which no terminal can be sent.
_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_OBEYED_IN_LINES = re.compile(_OBEYED.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))
# A value in quotes, as repr writes it; an apostrophe within a word opens and closes none.
_QUOTED = re.compile(r"""(?<!\w)(['"])((?:(?!\1)[^\\]|\\.)*)\1(?!\w)""", re.DOTALL)
LONGEST_VALUE, KEPT_END = 200, 40
# What stands for a password in an address.
STARS = "***"


def visible(text: str, *, keeps_lines: bool = False) -> str:
    r"""Return a text in which what would drive a terminal can be read; ``keeps_lines`` leaves line ends and tabs.

    >>> print(visible("\x1b[31mred\n"))
    \x1b[31mred\n
    """
    pattern = _OBEYED_IN_LINES if keeps_lines else _OBEYED
    return pattern.sub(lambda found: ascii(found.group())[1:-1], text)


def split_names(text: str) -> list[str]:
    """Return the names in a text, by the commas outside of brackets.

    >>> split_names("GCN(n_layers=4,norm=batch), GAT,")
    ['GCN(n_layers=4,norm=batch)', 'GAT']
    """
    names, depth = [""], 0
    for sign in text:
        depth = max(0, depth + (sign in "([{") - (sign in ")]}"))
        if sign == "," and not depth:
            names.append("")
        else:
            names[-1] += sign
    return [name.strip() for name in names if name.strip()]


def cut_values(sentence: str) -> str:
    """Return a sentence whose quoted values have about 200 characters at most: their beginnings and ends.

    >>> cut_values(f"unknown task {'a' * 300!r}; known: b") == f"unknown task '{'a' * 160} ... {'a' * 40}'; known: b"
    True
    """
    return _QUOTED.sub(_cut_word, sentence)


def sync_command(address: object) -> str:
    """Return the command that writes what waits for a store, as a shell takes it; the address is masked.

    >>> sync_command("http://node1:5000")
    'gnz sync --store http://node1:5000'
    """
    return _with_store("gnz sync", address)


def failures_command(address: object) -> str:
    """Return the command that lists failed cells of a store by reason, for a shell; the address is masked.

    >>> failures_command("runs.db")
    'gnz ls --failed --store runs.db'
    """
    return _with_store("gnz ls --failed", address)


def remake_command(run_id: str, address: object = "", *, keep: str = "predictions") -> str:
    """Return the command that makes the files of a run again, for a shell; an address is masked.

    Parameters
    ----------
    run_id
        The run.
    address
        Its store.
    keep
        Which files are to be kept.

    Examples
    --------
    >>> remake_command("0123456789abcdef", "runs.db")
    'gnz reproduce 0123456789ab --keep predictions --store runs.db'
    """
    command = f"gnz reproduce {run_id[:12]} --keep {keep}"
    return _with_store(command, address) if address else command


def _with_store(start: str, address: object) -> str:
    text = str(address)
    command = f"{start} --store {shlex.quote(text)}"
    has_password = STARS in text and not text.startswith("sqlite:")
    return f"{command} (with your password in place of {STARS})" if has_password else command


def _cut_word(found: re.Match[str]) -> str:
    quote, value = found.groups()
    if len(value) <= LONGEST_VALUE:
        return found.group()
    return f"{quote}{value[: LONGEST_VALUE - KEPT_END]} ... {value[-KEPT_END:]}{quote}"


def format_seconds(seconds: float) -> str:
    """Write a duration with two units at most.

    >>> format_seconds(7.4), format_seconds(125), format_seconds(7300)
    ('7 s', '2 min 5 s', '2 h 1 min')
    """
    whole = round(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


# Beside the command of the first, where several runs lack their files.
REMAKE_SWEEP = "for all runs of a sweep: gnz reproduce --sweep NAME --keep predictions"
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?(KiB|MiB|GiB)", re.ASCII | re.IGNORECASE)


def parse_size(text: str) -> int:
    """Return the bytes of a size with its unit; a text that is none is a ValueError.

    >>> parse_size("4MiB"), parse_size("0.5 GiB")
    (4194304, 536870912)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        message = f"{text!r} is no size"
        raise ValueError(message)
    number, unit = found.groups()
    return round(float(number) * next(n for name, n in _UNITS.items() if name.lower() == unit.lower()))


def format_size(n_bytes: int) -> str:
    """Write a size in the largest of its units that it fills, as :func:`parse_size` reads it.

    >>> format_size(4194304), format_size(1536), format_size(100)
    ('4MiB', '1.5KiB', '0.1KiB')
    """
    name, unit = [one for one in _UNITS.items() if one[1] <= max(n_bytes, 2**10)][-1]
    return f"{n_bytes / unit:.1f}".removesuffix(".0") + name


def plural(n: int, noun: str) -> str:
    """Write a count with its noun.

    >>> plural(1, "task"), plural(2, "task")
    ('1 task', '2 tasks')
    """
    return f"{n} {noun}{'' if n == 1 else 's'}"


def first_names(names: Sequence[object], most: int, noun: str = "") -> str:
    """List the first of some names, and how many more there are.

    Parameters
    ----------
    names
        Names, or what is written as one.
    most
        Names that are listed.
    noun
        Word for those that are not, if any.

    Examples
    --------
    >>> first_names(["a", "b", "c"], 2), first_names(["a", "b", "c"], 1, "tasks")
    ('a, b and 1 more', 'a and 2 more tasks')
    """
    more = f" and {len(names) - most} more {noun}".rstrip() if len(names) > most else ""
    return ", ".join(str(name) for name in names[:most]) + more
