"""How often MLflow is called."""

from __future__ import annotations

from collections import Counter
from typing import Any


class Counted:
    """MLflow's store, with its calls counted; nothing is replaced."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        if callable(found):
            self.calls[name] += 1
        return found
