"""YAML files that users write, read with the line of each key, so that a slip is told where it stands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gnz_track.errors import BadValue, GnzError, UnknownName

__all__ = ["YamlFile", "read_yaml"]

_MOST_BYTES = 2**22


@dataclass(frozen=True, kw_only=True)
class YamlFile:
    """A file that was read: its name, what it holds, and the line of each key by the keys that lead to it.

    ``example`` is a mapping as it may hold, and ``command`` what to type to see others.
    """

    name: str
    keys: Mapping[Any, Any]
    lines: Mapping[tuple[Any, ...], int] = field(repr=False)
    example: str = ""
    command: str = ""

    def where(self, *path: Any) -> str:
        """Return the file and the line of a key, or of the nearest one that leads to it."""
        known = [path[:n] for n in range(len(path), 0, -1) if path[:n] in self.lines]
        return f"{self.name}, line {abs(self.lines[known[0]])}" if known else self.name

    def place(self, *path: Any) -> str:
        """Return the file, the line of a key, and the key with those that lead to it, as errors name it."""
        return f"{self.where(*path)}: {'.'.join(map(str, path))}"

    def at(self, *path: Any) -> Any:
        """Return what stands at some keys, None where there is nothing."""
        value: Any = self.keys
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def mapping_at(self, *path: Any) -> Mapping[Any, Any]:
        """Return the mapping at some keys, empty where there is none; anything else is refused."""
        value = self.at(*path)
        if not isinstance(value or {}, Mapping):
            raise BadValue(self.place(*path), value, f"a mapping, as in {self.example}")
        return value or {}

    def check_keys(self, *path: Any, kind: str, known: Collection[str], command: str) -> None:
        """Refuse a key that is not known.

        Parameters
        ----------
        *path
            Keys that lead to the mapping.
        kind
            What is unknown, as "key of a protocol".
        known
            Its keys.
        command
            What to type to see them.
        """
        for name in self.mapping_at(*path):
            if name not in known:
                raise UnknownName(f"{kind} ({self.where(*path, name)})", name, known, command=command)

    def read_at(self, *path: Any, read: Callable[[Any], Any], allowed: str) -> Any:
        """Return what a function makes of what stands at some keys, which is refused where it cannot.

        Parameters
        ----------
        *path
            The keys.
        read
            The function.
        allowed
            What it takes, in words.
        """
        value = self.at(*path)
        try:
            return read(value)
        except (TypeError, ValueError, GnzError):
            raise BadValue(self.place(*path), value, allowed, command=self.command) from None

    def below(self, *path: Any) -> dict[tuple[Any, ...], int]:
        """Return the lines of the keys below some key, by what leads to them from there."""
        return {key[len(path) :]: line for key, line in self.lines.items() if key[: len(path)] == path}


def read_yaml(file: str | Path, *, what: str, example: str, command: str = "") -> YamlFile:
    """Read a YAML file that is a mapping; what is none, and a key that stands in it twice, is told with its line.

    Parameters
    ----------
    file
        Its path.
    what
        What it is, as "the file of parameters".
    example
        A mapping as it may hold.
    command
        What to type where there is no such file.
    """
    path = Path(file)
    try:
        if not path.is_file() or path.stat().st_size > _MOST_BYTES:
            raise BadValue(what, str(path), "a YAML file that exists, of at most 4 MiB", command=command)
        loader = yaml.SafeLoader(path.read_text("utf-8"))
        node = loader.get_single_node()
        found = None if node is None else loader.construct_document(node)
        lines = dict(_lines_of(node, loader))
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise BadValue(what, str(path), f"YAML ({reason})") from error
    except RecursionError:
        raise BadValue(what, str(path), "YAML that is not nested so deeply") from None
    except OSError as error:
        raise BadValue(what, str(path), f"a file that can be read ({error.strerror})", command=command) from error
    keys = found if isinstance(found, dict) else {}
    read = YamlFile(name=path.name, keys=keys, lines=lines, example=example, command=command)
    if not isinstance(found, dict):
        raise BadValue(str(path), type(found).__name__, f"a mapping, as {example}")
    repeated = next((key for key, line in lines.items() if line < 0), None)
    if repeated is not None:
        raise BadValue(read.place(*repeated), "there twice", "each key once")
    return read


def _lines_of(node: Any, loader: yaml.SafeLoader) -> Iterator[tuple[tuple[Any, ...], int]]:
    """Yield the line of each key, negative where the key is there a second time; aliases are followed once."""
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), node)]
    seen = set[int]()
    while waiting:
        path, inner = waiting.pop()
        if not isinstance(inner, yaml.MappingNode) or id(inner) in seen:
            continue
        seen.add(id(inner))
        keys = set[Hashable]()
        for key_node, value in inner.value:
            key = loader.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if isinstance(key, Hashable):
                yield (*path, key), -line if key in keys else line
                keys.add(key)
                waiting.append(((*path, key), value))
