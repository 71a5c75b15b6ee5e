"""The shape of the house as functions: sizes, neighbours, names, room manuals; a list of places that break a law out.

A law may be broken where `house_exceptions.txt` says why: one line each, ``place: reason``. A place is a file or a
folder (with a slash at its end), from the package on, or the name of a class.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from house import PACKAGE, Function, Source, functions_of, is_command, public_of

MOST_LINES, MOST_FILES, MOST_BODY_LINES, MOST_LINES_TOGETHER = 650, 25, 40, 400
MOST_EXCEPTIONS = 20
# From so many parameters on a public function says what each of them is.
FEW_PARAMETERS = 3
QUESTION_WORDS = frozenset({"what", "who", "whom", "whose"})

_MANUAL_LINE = re.compile(r"^- `{1,2}(\w+)(?:\.py|/)?`{1,2}: (?!TODO)\S", re.MULTILINE)
_SECTION = re.compile(r"^Parameters\n-{10}\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Place:
    """Somewhere a law is broken: the name under which it can be excused, and the sentence that says what is wrong."""

    name: str
    sentence: str


Law = Callable[[Iterable[Source]], list[Place]]


def check_files(sources: Iterable[Source]) -> list[Place]:
    """A file can be read at one sitting."""
    return [
        Place(source.path, source.at(1, f"{n_lines} lines; at most {MOST_LINES}"))
        for source in sources
        if (n_lines := len(source.text.splitlines())) > MOST_LINES
    ]


def check_folders(sources: Iterable[Source]) -> list[Place]:
    """A folder can be taken in at a glance."""
    return [
        Place(folder or f"{PACKAGE}/", f"{PACKAGE}/{folder}: {len(files)} files; at most {MOST_FILES}")
        for folder, files in _by_folder(sources).items()
        if len(files) > MOST_FILES
    ]


def check_functions(sources: Iterable[Source]) -> list[Place]:
    """A function fits on a page; its docstring does not count."""
    return [
        Place(source.path, source.at(function.lineno, f"{name} has {n_lines} lines; at most {MOST_BODY_LINES}"))
        for source in sources
        for name, function in functions_of(source.tree)
        if (n_lines := _count_body(function)) > MOST_BODY_LINES
    ]


def check_neighbours(sources: Iterable[Source]) -> list[Place]:
    """A file that only its neighbour uses, and that fits into it, is part of it."""
    by_path = {source.path: source for source in sources}
    users = _users(by_path)
    found = []
    for path, source in by_path.items():
        user = next(iter(users[path])) if len(users[path]) == 1 else ""
        if not user or _folder_of(user) != _folder_of(path) or any(one.endswith("__init__.py") for one in (user, path)):
            continue
        n_together = sum(len(one.text.splitlines()) for one in (source, by_path[user]))
        if n_together <= MOST_LINES_TOGETHER:
            words = f"only {user} uses it, and together they have {n_together} lines; merge them"
            found.append(Place(path, source.at(1, words)))
    return found


def check_classes(sources: Iterable[Source]) -> list[Place]:
    """A name means one class, wherever in the package it stands."""
    places = defaultdict(list)
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append((source, node.lineno))
    return [
        Place(name, others[-1][0].at(others[-1][1], f"{name} is a class of {first.path} too"))
        for name, ((first, _), *others) in places.items()
        if others
    ]


def check_openings(sources: Iterable[Source]) -> list[Place]:
    """A docstring opens with a verb or a noun, not with a question."""
    return [
        Place(source.path, source.at(line, f"the docstring of {name} begins with {word!r}"))
        for source in sources
        for name, line, text in _docstrings(source.tree)
        if (word := text.split()[0]).lower() in QUESTION_WORDS
    ]


def check_sections(sources: Iterable[Source]) -> list[Place]:
    """A public function of three or more parameters says what each of them is, in a section Parameters (numpydoc)."""
    found = []
    for source in sources:
        for name, function in _documented(source):
            given = [item.arg for item in _named_parameters(function)]
            if len(given) < FEW_PARAMETERS:
                continue
            section = _SECTION.search(ast.get_docstring(function) or "")
            missing = [item for item in given if item not in _described(section[1])] if section else []
            if not section or missing:
                words = f"no section Parameters in {name}" if not section else f"{name} says nothing on {missing}"
                found.append(Place(source.path, source.at(function.lineno, words)))
    return found


def check_manuals(sources: Iterable[Source]) -> list[Place]:
    """The docstring of a folder names each of its files and folders in a line of its own: ``- `plan`: which cells``."""
    folders = _by_folder(sources)
    found = []
    for folder, files in folders.items():
        manual = files.get("__init__.py")
        if not folder or manual is None:
            continue
        inner = {other.removeprefix(folder).split("/")[0] for other in folders if other.startswith(folder)} - {""}
        there = inner | {name.removesuffix(".py") for name in files} - {"__init__", "__main__"}
        named = _MANUAL_LINE.findall(ast.get_docstring(manual.tree) or "")
        words = [f"{name} has no line in the manual" for name in sorted(there - set(named))]
        words += [f"there is no {name}" for name in sorted(set(named) - there)]
        words += [f"{name} has {named.count(name)} lines" for name in sorted(set(named)) if named.count(name) > 1]
        if words:
            found.append(Place(manual.path, manual.at(1, "; ".join(words))))
    return found


LAWS: tuple[Law, ...] = (
    check_files,
    check_folders,
    check_functions,
    check_neighbours,
    check_classes,
    check_openings,
    check_sections,
    check_manuals,
)


def check_offers(sources: Iterable[Source], offered: Mapping[str, Iterable[str]]) -> list[Place]:
    """A room offers what other rooms use of it, and nothing but public names of its files.

    ``offered`` has the names that can be taken from each room: ``from gnz_track.stats import holm``. A name that is a
    file of the room as well cannot be offered: Python puts the file in its place as soon as the file is imported.
    """
    sources = list(sources)
    public: defaultdict[str, set[str]] = defaultdict(set)
    files: defaultdict[str, set[str]] = defaultdict(set)
    for source in sources:
        if source.room in offered:
            public[source.room] |= _public_names(source)
            files[source.room].add(source.path.split("/")[1].removesuffix(".py"))
    used = _used_elsewhere(sources)
    found = []
    for room, names in offered.items():
        given, missing = set(names), (used[room] & public[room]) - set(names) - files[room]
        words = [f"{name} is used elsewhere and not offered" for name in sorted(missing)]
        words += [f"{name} is offered, but public in none of its files" for name in sorted(given - public[room])]
        words += [f"{name} is offered, but is a file as well" for name in sorted(given & files[room])]
        if words:
            found.append(Place(f"{room}/__init__.py", f"{PACKAGE}/{room}/__init__.py:1: {'; '.join(words)}"))
    return found


def read_exceptions(text: str) -> dict[str, str]:
    """Return place -> reason of every line that is not a remark."""
    lines = [line.partition(":") for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return {place.strip(): reason.strip() for place, _, reason in lines}


def module_of(path: str) -> str:
    """Return the dotted name of a file, given from the package on."""
    return ".".join([PACKAGE, *path.removesuffix(".py").removesuffix("__init__").strip("/").split("/")]).rstrip(".")


def _by_folder(sources: Iterable[Source]) -> dict[str, dict[str, Source]]:
    """Return folder (with a slash at its end; nothing for the package itself) -> name of file -> file."""
    found: defaultdict[str, dict[str, Source]] = defaultdict(dict)
    for source in sources:
        found[_folder_of(source.path)][source.path.rpartition("/")[2]] = source
    return found


def _folder_of(path: str) -> str:
    folder, slash, _ = path.rpartition("/")
    return folder + slash


def _users(by_path: Mapping[str, Source]) -> dict[str, set[str]]:
    """Return file -> files that import it or a name of it, anywhere in them."""
    by_module = {module_of(path): path for path in by_path}
    users: dict[str, set[str]] = {path: set() for path in by_path}
    for path, source in by_path.items():
        for found in source.imports:
            for module in (found.module, found.module.rpartition(".")[0]):
                if by_module.get(module, path) != path:
                    users[by_module[module]].add(path)
    return users


def _used_elsewhere(sources: Iterable[Source]) -> defaultdict[str, set[str]]:
    """Return room -> names that files of other rooms import from it."""
    used: defaultdict[str, set[str]] = defaultdict(set)
    for source in sources:
        for found in source.imports:
            package, *rest = found.module.split(".")
            if package == PACKAGE and len(rest) > 1 and rest[0] != source.room:
                used[rest[0]].add(rest[-1])
    return used


def _public_names(source: Source) -> set[str]:
    """Return the names in ``__all__`` of a file; of an ``__init__``, which offers names of others, what it defines."""
    for node in source.tree.body:
        is_list = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        if is_list and not source.path.endswith("__init__.py"):
            return {str(item.value) for item in ast.walk(node) if isinstance(item, ast.Constant)}
    targets = [target for node in source.tree.body if isinstance(node, ast.Assign) for target in node.targets]
    assigned = {target.id for target in targets if isinstance(target, ast.Name) and not target.id.startswith("_")}
    return assigned | {name for name, _ in public_of(source.tree) if "." not in name}


def _count_body(function: Function) -> int:
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def _docstrings(tree: ast.Module) -> Iterable[tuple[str, int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, Function | ast.ClassDef | ast.Module) and (text := ast.get_docstring(node)):
            yield getattr(node, "name", "the module"), getattr(node, "lineno", 1), text


def _documented(source: Source) -> Iterable[tuple[str, Function]]:
    """Yield public functions with a docstring; that of a command is its help, where every flag has a line already."""
    for name, node in public_of(source.tree):
        if isinstance(node, Function) and ast.get_docstring(node) and not is_command(source, node):
            yield name, node


def _named_parameters(function: Function) -> list[ast.arg]:
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [item for item in given if item.arg not in {"self", "cls"}]


def _described(section: str) -> set[str]:
    """Return the names in a section: those at the beginning of its unindented lines, several by commas."""
    lines = [line.partition(" : ")[0] for line in section.splitlines() if line and not line.startswith(" ")]
    return {name.strip(" *`") for line in lines for name in line.split(",")}
