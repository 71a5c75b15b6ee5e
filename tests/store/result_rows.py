"""Rows of the results table, made of plain values."""

from __future__ import annotations

import pandas as pd

from gnz_track.store.results_table import COLUMNS, make_table


def row(task: str, model: str, seed: int, score: float | None, **more: object) -> dict[str, object]:
    names = f"{task}-{model}-{seed}-{more.get('hyperparameters', '')}"
    status = "failed" if score is None else "finished"
    given = {"task": task, "model": model, "seed": seed, "score": score, "status": status, "fingerprint": names}
    return {**given, "run_id": f"run-{names}", "start_time": 1_760_000_000_000 + seed, "hyperparameters": "{}", **more}


def table_of(*rows: dict[str, object]) -> pd.DataFrame:
    return make_table({name: [one.get(name) for one in rows] for name in COLUMNS})


SIX = [row(task, model, seed, seed + len(model) / 10) for task in "ab" for model in ("GCN", "GATv2") for seed in (0, 1)]
