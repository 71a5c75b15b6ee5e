"""Code that users bring: telling two versions of it apart, however far from a model's class it lies.

`digests.py` is what others ask: the digest of a class or function and of all of the user's that it reaches. What can be
imported is read, and never run: `modules.py` finds a module and says whose it is (`packages.py`: installed ones),
`statements.py` says what a statement binds, mentions and hides, `reach.py` follows that from module to module, and
`effects.py` says what else matters of what a module runs. What cannot be imported (a notebook's class)
is looked at as it lives, in `values.py`. No torch here.

- `digests`: the digest of classes and functions, and of all of the user's code that they reach
- `modules`: modules by name: where they come from, whose they are, and what their text says
- `reach`: all of a user's code that some names reach, followed from module to module by syntax alone
- `statements`: one statement of a module: its normal form, the names that it binds and mentions, and what it
  hides
- `values`: code that cannot be imported, as it lives in this process: its compiled code, and the values that
  this refers to
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "digests": ("Code", "ITSELF", "describe_own"),
    "modules": ("is_ours",),
    "values": ("target_of",),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
