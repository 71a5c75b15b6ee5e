"""Which networks, and at what size.

One architecture per file; the table is `catalogue.py`, heads and wrappers are `adapters.py`, construction is
`building.py`.

The options of the built-in models are hyperparameters of a cell. `stack.py` says what they mean; their defaults are:

| model            | n_layers | heads | dropout | norm  | jumping |
|------------------|---------:|------:|--------:|-------|---------|
| GCN              |        2 |     - |     0.0 | none  | none    |
| GAT              |        2 |     8 |     0.6 | none  | none    |
| GraphSAGE        |        2 |     - |     0.5 | none  | none    |
| GraphTransformer |        2 |     4 |     0.1 | none  | none    |
| GIN              |        3 |     - |     0.0 | batch | none    |
| MLP              |        2 |     - |     0.5 | none  | none    |

GCN and GraphSAGE take ``act`` (relu) too, and GraphSAGE ``aggr`` (mean); no search varies them unless it is told to.

To add a model: write `models/<name>.py` with a class ``(in_channels, hidden_channels, out_channels)`` and add its row
to `catalogue.py`.

The room offers the class of every model under its name: ``from gnz_track.models import GPS``. Stores name models so.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any


def __getattr__(name: str) -> Any:
    module = None if name.startswith("_") else _modules().get(name)
    if module is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)


def _modules() -> Mapping[str, str]:
    from gnz_track.models.catalogue import MODULES

    return MODULES
