"""The lists of ``gnz ls --searches`` and ``gnz ls --trials``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gnz_track.cli.runs import Listing
from gnz_track.errors import UnknownName

if TYPE_CHECKING:
    from gnz_track.store.address import Address
    from gnz_track.store.search_record import SearchRecord

__all__ = ["list_searches", "list_trials"]

NAMES = ("suite", "sweep", "task", "model")
FACTS = ("name", "kind", "sampler", "protocol", "metric", "direction", "seed", "study_seed", "space_digest", "storage")


def list_searches(address: Address, **names: str) -> Listing:
    """Return the searches that bear the names, with what they found and what they cost."""
    records, rows = [], []
    for search in _find_searches(address, names):
        cost = search.cost
        found = {name: getattr(search, name) for name in (*NAMES, *FACTS, "best_number", "best_score")}
        records.append({**found, "best": dict(search.best), "borders": list(search.borders), **cost})
        rows.append(
            (
                search.sweep or "-",
                search.task,
                search.model if search.seed is None else f"{search.model} s{search.seed}",
                search.sampler,
                len(search.trials),
                search.n_failed or "",
                "-" if search.best_score is None else f"{search.best_score:.4f}",
                search.metric,
                f"{cost['seconds']:.1f}",
                _write_values(search.best),
            )
        )
    return Listing(
        title=f"searches in {address}",
        columns=(
            "sweep",
            "task",
            "model",
            "sampler",
            ">trials",
            ">failed",
            ">validation",
            "metric",
            ">wall s",
            "chose",
        ),
        rows=rows,
        records=records,
        fields=[*NAMES, *FACTS, "best_number", "best_score", "best", "borders", *_COST],
    )


def list_trials(address: Address, **names: str) -> Listing:
    """Return all trials of the searches that bear the names; for programs with a field for each hyperparameter."""
    records: list[dict[str, Any]] = []
    rows = []
    for search in _find_searches(address, names):
        for trial in search.trials:
            plain = {name: getattr(trial, name) for name in _TRIAL}
            records.append(
                {**{name: getattr(search, name) for name in NAMES}, "search": search.name, **plain}
                | {f"value/{name}": value for name, value in trial.hyperparameters.items()}
            )
            mark = " *" if trial.number == search.best_number else ""
            score = "-" if trial.score is None else f"{trial.score:.4f}"
            rows.append(
                (
                    search.title,
                    trial.number,
                    trial.state,
                    f"{score}{mark}",
                    f"{trial.seconds:.1f}",
                    trial.source,
                    trial.reason or _write_values(trial.hyperparameters),
                )
            )
    fields = list(dict.fromkeys(name for record in records for name in record))
    return Listing(
        title="trials (* is the winner of its search)",
        columns=("search", ">trial", "state", ">validation", ">wall s", "from", "values"),
        rows=rows,
        # A program finds the same fields in each.
        records=[{name: record.get(name) for name in fields} for record in records],
        fields=fields,
    )


_COST = ("trials", "failed_trials", "epochs", "seconds", "cpu_seconds")
_TRIAL = ("number", "state", "score", "epochs", "seconds", "cpu_seconds", "reason", "source")


def _find_searches(address: Address, names: dict[str, str]) -> tuple[SearchRecord, ...]:
    from gnz_track.store.search_reader import read_searches

    found = read_searches(address, **names)
    if not found:
        known = read_searches(address)
        for kind, name in names.items():
            listed = {str(getattr(search, kind)) for search in known} - {""}
            if name and known and name not in listed:
                raise UnknownName(f"{kind} with a search", name, listed, command="gnz ls --searches")
    return found


def _write_values(values: Any) -> str:
    return ", ".join(
        f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in sorted(values.items())
    )
