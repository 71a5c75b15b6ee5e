"""Changes between a past run and its repetition: data, code, packages, machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gnz_track.records import to_json
from gnz_track.runs.cell_code import changed_parts, tell_unseen
from gnz_track.runs.fingerprint import NUMBERS, fingerprint
from gnz_track.runs.rebuilding import Rebuilt
from gnz_track.store import layout, schema
from gnz_track.store.address import Address
from gnz_track.store.artifacts import read_artifact
from gnz_track.store.environment import NONE, Environment, collect_environment
from gnz_track.store.past_run import PastRun, read_sweep_run
from gnz_track.store.run_record import RunRecord

__all__ = ["Change", "find_changes"]

# Tags that every run bears -> what they say, in words.
_TAGS = {
    schema.DATASET_DIGEST: "digest of the data",
    schema.SPLIT_DIGEST: "digest of the split",
    schema.VERSION: "gnz_track",
    "env.python": "Python",
    "env.torch": "torch",
    "env.pyg": "torch-geometric",
    schema.ENV_DEVICE: "device",
    "env.gpu": "GPU",
    "env.cuda": "CUDA",
    "env.driver": "driver of the GPU",
    schema.INSTRUCTIONS: "instructions of the processor",
    schema.GIT_COMMIT: "git commit of the working folder",
    schema.GIT_DIRTY: "working folder has changes that no commit holds",
}
# Facts of an environment that only its file holds.
_MACHINE = {"os": "operating system", "cpu": "processor", "cores": "cores", "memory_mib": "memory in MiB"}
# Packages that tags name already.
_NAMED = frozenset({"torch", "torch-geometric", "gnz-track"})
# Tags of later versions: a run without one says nothing of it, and nothing is known to have changed.
_LATER = {schema.INSTRUCTIONS: "with which instructions of the processor it was computed is not recorded"}
_DIRTY = "the working folder had changes that no commit holds: what they were is not recorded"


@dataclass(frozen=True, kw_only=True)
class Change:
    """One thing that is not what it was; ``"none"`` where there was none, or is none now."""

    what: str
    then: str
    now: str


def find_changes(
    run: PastRun, record: RunRecord, address: Address, *, rebuilt: Rebuilt
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """Return what has changed since a run, and sentences about what is not known of it.

    Parameters
    ----------
    run
        Run as the store has it.
    record
        Record that would be written of the repetition.
    address
        Store of the run.
    rebuilt
        Cell of the repetition.
    """
    cell = rebuilt.cell
    pairs = list(_by_tag(run.tags, layout.tags_of(record)))
    code, notes = _by_code(rebuilt)
    pairs += code
    pairs.append(("way in which gnz_track makes numbers (NUMBERS)", str(rebuilt.numbers), str(NUMBERS)))
    if rebuilt.numbers == NUMBERS:
        pairs.append(("fingerprint of the cell", run.tags[schema.FINGERPRINT], fingerprint(cell)))
    notes += [_DIRTY] if run.tags.get(schema.GIT_DIRTY) == "true" else []
    notes += [sentence for tag, sentence in _LATER.items() if tag not in run.tags]
    if run.tags.get(schema.ENVIRONMENT, "") != record.environment:
        facts = _read_environment(run, address)
        pairs += _by_file(facts)
        notes += [] if facts else ["the file with all facts of its environment is gone: other packages may differ"]
    changes = (Change(what=what, then=then or NONE, now=now or NONE) for what, then, now in pairs if then != now)
    return tuple(changes), tuple(notes)


def _by_code(rebuilt: Rebuilt) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Return then and now of all code of the user's, and sentences about what is not known of it."""
    model, now = rebuilt.cell.model, rebuilt.code
    then_beside, now_beside = dict(rebuilt.cell.code), dict(rebuilt.cell_now.code)
    beside = [(what, then_beside.get(what, ""), now_beside.get(what, "")) for what in {**then_beside, **now_beside}]
    if model.source_digest and not model.parts:
        return beside, [
            f"an earlier version recorded the model {model.name}: whether its code has changed is not known"
        ]
    parts = [
        (f"code {name}", model.parts.get(name, ""), now.parts.get(name, ""))
        for name in changed_parts(model.parts, now.parts)
    ]
    source = (f"source of the model {model.name}", model.source_digest, now.digest)
    return [source, *parts, *beside], tell_unseen([replace(model, unseen=now.unseen)])


def _by_tag(then: Mapping[str, str], now: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for tag, what in _TAGS.items():
        if tag in then or tag not in _LATER:
            yield what, then.get(tag, ""), now.get(tag, "")


def _by_file(then: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    if not then:
        return
    now: dict[str, Any] = json.loads(to_json(collect_environment()))
    for name, what in _MACHINE.items():
        yield what, str(then.get(name, "")), str(now[name])
    packages = {**dict.fromkeys(now["packages"], ""), **then.get("packages", {})}
    for name in sorted(set(packages) - _NAMED):
        yield f"package {name}", packages[name], now["packages"].get(name, "")


def _read_environment(run: PastRun, address: Address) -> dict[str, Any]:
    """Return the facts of a run's environment; none where its file is gone or is none."""
    digest = run.tags.get(schema.ENVIRONMENT, "")
    sweep = read_sweep_run(address, suite=run.tags.get(schema.SUITE, ""), sweep=run.tags.get(schema.SWEEP, ""))
    text = read_artifact(address, sweep.artifacts, schema.environment_file(digest)) if sweep and digest else None
    try:
        found = json.loads(text or "{}")
        return json.loads(to_json(Environment(**found))) if found else {}
    except (ValueError, TypeError):
        return {}
