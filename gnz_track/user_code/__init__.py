"""Code that users bring: telling two versions of it apart, however far from a model's class it lies.

What can be imported is read, and never run; what cannot (a notebook's class) is looked at as it lives. No torch here.

- `digests`: what others ask: the digest of a class or function and of all of the user's that it reaches
- `modules`: where a module comes from, whose it is, and what its text says
- `statements`: what a statement binds, mentions and hides
- `reach`: names followed from module to module, and what else matters of what a module runs
- `values`: code that lives in this process only
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "digests": ("Code", "ITSELF", "describe_own"),
    "modules": ("is_ours", "lasting_name"),
    "values": ("target_of",),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
