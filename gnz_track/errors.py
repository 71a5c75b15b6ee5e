"""Every error that a user can meet.

One base class, one sentence per mistake. A message carries the offending value, what would have been allowed (with the
names that look like a mistyped one), and the next command to type, and it is built here, so that a caller passes facts
and not prose.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

from gnz_track.text import sync_command

__all__ = [
    "ArchiveUnusable",
    "BadExpression",
    "BadSeeds",
    "BadValue",
    "DataCorrupted",
    "DataMissing",
    "DataRetired",
    "DataUnusable",
    "Diverged",
    "DownloadFailed",
    "DuplicateCells",
    "DuplicateName",
    "EveryCellFails",
    "ExtraMissing",
    "FetchFailed",
    "GnzError",
    "MetricsMixed",
    "ModelInvalid",
    "ModelNotLoaded",
    "NotComparable",
    "NotReproducible",
    "NothingToCompare",
    "NothingToRun",
    "OutboxBusy",
    "OutboxCorrupted",
    "ProgramFailed",
    "ScoreUndefined",
    "SeveralMissing",
    "SplitImpossible",
    "StoreUnreachable",
    "StoreUnusable",
    "TargetMissing",
    "UnknownName",
    "UnknownOption",
    "UnknownRun",
    "near_matches",
]

LEAST_LIKENESS, MOST = 0.5, 3


def near_matches(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three known names that look like a name, best first, ignoring case.

    Of names that are as alike, one that begins as ``name`` does comes first: the end is where people slip.

    >>> near_matches("graphsage", ["GCN", "GraphSAGE"]), near_matches("GCM", ["GIN", "SGC", "GCN"])
    (['GraphSAGE'], ['GCN', 'SGC'])
    """
    wanted = name.lower()
    likeness = {one: difflib.SequenceMatcher(None, one.lower(), wanted).ratio() for one in sorted(known)}

    def distance(one: str) -> tuple[float, int]:
        alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one.lower(), wanted, strict=False))
        return -likeness[one], -len(list(alike))

    return [one for one in sorted(likeness, key=distance) if likeness[one] >= LEAST_LIKENESS][:MOST]


# A raw folder may want hundreds of files, and a sentence holds a few.
_MOST_NAMES, _MOST_OWNERS = 8, 4
# An item may end in a full stop, or in three, where the sentence puts its own behind; dots of a path stay.
_DOUBLED = re.compile(r"(?<=[^\s./\\])\.(?=[.;](?:\s|$))|(?<!\.)\.(?=\.{3}(?:\s|$))")


class GnzError(Exception):
    """Base of all errors with a message meant for the user; the command line prints it in one line."""

    def __init__(self, message: str) -> None:
        super().__init__(_DOUBLED.sub("", message))


def _say_known(near: Sequence[str], known: Sequence[str]) -> str:
    if near:
        return "did you mean " + " or ".join(near) + "?"
    return "known: " + (", ".join(known[:12]) or "none") + (", ..." if len(known) > 12 else "")


class UnknownName(GnzError):
    """A name that no registry row bears."""

    def __init__(
        self,
        kind: str,
        name: object,
        known: Iterable[str],
        *,
        command: str = "",
        meant: str = "",
        of: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        known = sorted(known)
        near = [meant] if meant else near_matches(str(name), known)
        owners = {match: f" (of {_name_owners((of or {})[match])})" for match in near if match in (of or {})}
        hint = _say_known([repr(match) + owners.get(match, "") for match in near], known)
        listing = f"{'' if near else '.'} List all with: {command}" if command else ""
        super().__init__(f"unknown {kind} {str(name)!r}; {hint}{listing}")
        self.kind, self.name, self.near = kind, name, near


def _name_owners(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_OWNERS]) + (", ..." if len(names) > _MOST_OWNERS else "")


class UnknownOption(GnzError):
    """An option that a command does not have, and that is a setting of cells."""

    def __init__(self, option: str, setting: str, value: str = "VALUE", *, command: str = "gnz run") -> None:
        super().__init__(
            f"no such option {option!r}; settings are chosen by --set. Try: {command} --set {setting}={value}"
        )
        self.option, self.setting = option, setting


class DuplicateName(GnzError):
    """A name that is taken already."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"{kind} {name!r} is registered already; choose another name or remove the first one")


class TargetMissing(GnzError):
    """A ``package.module:attr`` that does not lead anywhere: to no module, or to a name that its module has not."""

    def __init__(self, target: str, reason: str, *, name: str = "", known: Iterable[str] = ()) -> None:
        hint = "expected 'package.module:attribute' importable from here (is its folder on PYTHONPATH?)"
        if name:
            known = sorted(known)
            hint = _say_known([repr(match) for match in near_matches(name, known)], known)
        super().__init__(f"cannot import {target!r}: {reason}; {hint}")


class BadSeeds(GnzError):
    """Seeds that do not parse."""

    def __init__(self, text: object) -> None:
        super().__init__(
            f"cannot read seeds {str(text)!r}; allowed: '0-9', '3', '0,1,5' or '0-4,10', whole numbers from 0 to "
            f"2147483647, each once. Try: --seeds 0-4"
        )


class BadValue(GnzError):
    """A value outside of what is allowed."""

    def __init__(self, name: str, value: object, allowed: str, *, command: str = "") -> None:
        following = f" Try: {command}" if command else ""
        super().__init__(f"{name} is {value!r}; allowed: {allowed}.{following}")


class BadExpression(GnzError):
    """A condition on rows that cannot be read; ``at`` counts characters from 0."""

    def __init__(self, text: str, at: int, reason: str, *, columns: Iterable[str] = ()) -> None:
        place = f"at character {at + 1}, before {text[at : at + 30]!r}" if text[at:].strip() else "at its end"
        listed = f" Columns: {', '.join(columns)}." if columns else ""
        super().__init__(
            f"cannot read the expression {text!r} {place}: {reason}.{listed} "
            f"""Write it like: "task = 'cora' and model in ('GCN', 'GAT')" """.rstrip()
        )
        self.text, self.at = text, at


class DataMissing(GnzError):
    """A dataset whose frozen form, and whose raw files, are not on this machine."""

    def __init__(self, dataset: str, looked_in: Iterable[object], *, command: str, reason: str = "") -> None:
        places = ", ".join(str(place) for place in looked_in) or "nowhere"
        because = f" ({reason})" if reason else ""
        super().__init__(f"the data of {dataset!r} are not here{because}; looked in: {places}. Fetch with: {command}")
        self.dataset = dataset


class SeveralMissing(GnzError):
    """Several datasets that a sweep wants are not on this machine."""

    def __init__(self, missing: Iterable[DataMissing], others: Iterable[str]) -> None:
        names = list(dict.fromkeys(error.dataset for error in missing))
        rest = ",".join(others)
        without = f"; or train without them: --task {rest}" if rest else ""
        super().__init__(
            f"the data of {len(names)} datasets are not here: {', '.join(names)}. "
            f"Fetch with: gnz data get {' '.join(names)}{without}"
        )


class DataCorrupted(GnzError):
    """A frozen dataset whose bytes are not those that its card names."""

    def __init__(self, dataset: str, where: object, *, expected: str, found: str, command: str) -> None:
        super().__init__(
            f"the frozen dataset {dataset!r} in {where} is corrupted: expected digest {expected}, found {found}. "
            f"Rebuild with: {command}"
        )
        self.expected, self.found = expected, found


class DataUnusable(DataCorrupted):
    """A frozen dataset that cannot be opened at all, or raw files that do not hold what the catalogue says."""

    def __init__(self, dataset: str, where: object, reason: str, *, command: str) -> None:
        GnzError.__init__(self, f"the dataset {dataset!r} in {where} cannot be used: {reason}. Rebuild with: {command}")
        self.expected, self.found = "a whole dataset", reason


class SplitImpossible(GnzError):
    """A dataset that cannot be divided as the protocol asks."""

    def __init__(self, dataset: str, policy: str, reason: str) -> None:
        super().__init__(f"dataset {dataset!r} cannot be split by policy {policy!r}: {reason}")


class ModelInvalid(GnzError):
    """A model that cannot be taken, before any training."""

    def __init__(self, model: object, reason: str, *, remedy: str) -> None:
        super().__init__(f"model {str(model)!r} cannot be used: {reason}; {remedy}")


class Diverged(GnzError):
    """A training run whose loss or score left the numbers."""

    def __init__(self, quantity: str, value: float, epoch: int) -> None:
        super().__init__(
            f"diverged: {quantity} is {value} at epoch {epoch}; the cell was stopped. "
            f"A smaller learning rate is the usual remedy"
        )
        self.epoch = epoch


class ScoreUndefined(GnzError):
    """A metric that has no value on a held-out part."""

    def __init__(self, metric: str, part: str, value: float) -> None:
        super().__init__(
            f"metric {metric!r} is {value} on the {part} part: its labels do not define it "
            f"(one class only, or none observed); choose another metric for the task or larger parts"
        )


class NothingToRun(GnzError):
    """A selection without one cell."""

    def __init__(self, reasons: Iterable[str]) -> None:
        listed = "; ".join(reasons) or "no task or no model was chosen"
        super().__init__(f"nothing to run: {listed}. See what fits: gnz models, gnz tasks")


class EveryCellFails(GnzError):
    """A sweep that was ended, since each cell of it fails in the same way before its first epoch."""

    def __init__(self, reason: str, *, n_tried: int, n_cells: int, command: str) -> None:
        left = n_cells - n_tried
        others = f"; the other {left} were not trained" if left else ""
        count = f"{n_tried} of {n_cells} cells" if left else f"all {n_cells} cells" if n_cells > 1 else "the only cell"
        verb = "fails" if n_cells == 1 else "fail in the same way"
        super().__init__(f"{count} {verb} before the first epoch{others}: {reason}. List them with: {command}")
        self.reason, self.n_tried, self.n_cells = reason, n_tried, n_cells


class StoreUnusable(GnzError):
    """A place for runs that cannot take or give any; ``address`` is shown as given, so it must be masked."""

    def __init__(self, address: object, reason: str, *, remedy: str) -> None:
        super().__init__(f"the store {str(address)!r} cannot be used: {reason}; {remedy}")
        self.address, self.reason = address, reason


class StoreUnreachable(StoreUnusable):
    """A store that does not answer now; what was to be written is to wait on disk, and training goes on."""

    def __init__(self, address: object, reason: str, *, remedy: str = "start it, or check the address") -> None:
        GnzError.__init__(
            self,
            f"the store {str(address)!r} does not answer: {reason}; {remedy}. "
            f"Records that were spooled are replayed with: {sync_command(address)}",
        )
        self.address, self.reason = address, reason


class OutboxBusy(GnzError):
    """A sweep that another process is writing."""

    def __init__(self, sweep: str) -> None:
        super().__init__(f"sweep {sweep!r} is being written by another process; wait for it, or name another sweep")


class OutboxCorrupted(GnzError):
    """Lines of an outbox that hold no record; they are kept aside, and all others are replayed."""

    def __init__(self, places: Iterable[str], aside: object) -> None:
        listed = ", ".join(places)
        super().__init__(
            f"no record can be read at {listed}; the lines are kept in {aside}. Rerun their cells: gnz run"
        )


class NothingToCompare(GnzError):
    """A results table in which no two scores can be set against one another."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"nothing to compare: {reason}. See what has finished, and why cells failed: gnz ls --failed")


class DuplicateCells(GnzError):
    """Cells that a results table holds more than once."""

    def __init__(self, cells: Iterable[str]) -> None:
        cells = list(cells)
        listed = "; ".join(cells[:3]) + (f"; and {len(cells) - 3} more" if len(cells) > 3 else "")
        count = "1 cell is" if len(cells) == 1 else f"{len(cells)} cells are"
        super().__init__(
            f"{count} in the table more than once: {listed}; allowed is one score for each task, model and seed. "
            f"Keep one sweep or version; list them with: gnz ls"
        )
        self.cells = cells


class MetricsMixed(GnzError):
    """Cells of one task with several metrics, or with several directions of one."""

    def __init__(self, task: str, column: str, examples: Mapping[str, str]) -> None:
        listed = ", ".join(f"{value!r} ({cell})" for value, cell in examples.items())
        super().__init__(
            f"the cells of {task!r} have several values of {column}: {listed}; allowed is one for each task. "
            f"List them with: gnz ls --task {task}"
        )
        self.task, self.column = task, column


class NotComparable(GnzError):
    """Cells that may not be compared, because they differ in more than the model."""

    def __init__(self, column: str, where: str, examples: Mapping[str, str], *, task: str) -> None:
        listed = ", ".join(f"{value!r} ({cells})" for value, cells in examples.items())
        super().__init__(
            f"cells of {where} cannot be compared: {column} is {listed}; allowed is one {column} for all models. "
            f"Leave some out, or run them again: gnz ls --task {task}"
        )
        self.column, self.task = column, task


class UnknownRun(GnzError):
    """An id, or the start of one, that belongs to no run of a store, or to several; the address is masked."""

    def __init__(self, run: object, address: object, reason: str) -> None:
        super().__init__(f"no run {str(run)!r} in {address}: {reason}. List runs with: gnz ls --sweep NAME")
        self.run, self.reason = run, reason


class NotReproducible(GnzError):
    """A run that cannot be trained again, or not here."""

    def __init__(self, run: str, reason: str, *, remedy: str) -> None:
        super().__init__(f"run {run[:8]!r} cannot be reproduced: {reason}; {remedy}")
        self.run, self.reason = run, reason


class ModelNotLoaded(GnzError):
    """A model of a run that cannot be made again from what the run has kept."""

    def __init__(self, run: str, reason: str, *, remedy: str) -> None:
        of = f"the model of run {run[:12]!r}" if run else "the model"
        super().__init__(f"{of} cannot be loaded: {reason}; {remedy}")
        self.run, self.reason = run, reason


class DownloadFailed(GnzError):
    """An address that did not give the file that was asked for; it is shown as given, so it must be masked."""

    def __init__(self, address: object, reason: str) -> None:
        super().__init__(
            f"cannot fetch {address}: {reason}. Try again later, or give a mirror: gnz data get NAME --mirror FOLDER"
        )
        self.address, self.reason = address, reason


class ArchiveUnusable(GnzError):
    """An archive that cannot be read, lacks a member, or asks to write where it may not."""

    def __init__(self, archive: object, reason: str) -> None:
        super().__init__(f"the archive {archive} cannot be used: {reason}. Remove it, then type: gnz data get NAME")
        self.archive, self.reason = archive, reason


class FetchFailed(DataMissing):
    """Raw files that no place gave; ``looked_in`` are (place, reason) pairs, ``by_hand`` says where to put what."""

    def __init__(
        self, dataset: str, wanted: Iterable[str], looked_in: Iterable[tuple[object, str]], *, by_hand: Sequence[str]
    ) -> None:
        places = "; ".join(f"{place} ({reason})" for place, reason in looked_in) or "nowhere, as it names no origin"
        remedy = ", or ".join(by_hand)
        GnzError.__init__(
            self,
            f"the raw files of {dataset!r} cannot be fetched. Wanted: {_name_some(wanted)}. Looked in: {places}. "
            f"By hand: {remedy}; then type: gnz data get {dataset}",
        )
        self.dataset = dataset


class DataRetired(DataMissing):
    """A dataset that nobody can fetch any more; a mirror that has its files still serves."""

    def __init__(self, dataset: str, reason: str, folder: object) -> None:
        GnzError.__init__(
            self,
            f"the dataset {dataset!r} is retired: {reason}. Who has its raw files puts them into {folder}, "
            f"or types: gnz data get {dataset} --mirror FOLDER",
        )
        self.dataset = dataset


class ExtraMissing(GnzError):
    """A dataset whose loader needs a library that is not installed."""

    def __init__(self, dataset: str, extra: str, missing: str) -> None:
        super().__init__(
            f"the dataset {dataset!r} needs {missing}, which is not installed. "
            f"Install it with: pip install 'gnz-track[{extra}]'"
        )
        self.dataset, self.extra = dataset, extra


def _name_some(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return (", ".join(names[:_MOST_NAMES]) or "the files of its raw folder") + more


class ProgramFailed(GnzError):
    """Another program that ended with an error of its own."""

    def __init__(self, program: str, code: int, reason: str) -> None:
        super().__init__(f"{program!r} ended with code {code}: {reason}. See more with: {program} --verbose")
        self.program, self.code = program, code
