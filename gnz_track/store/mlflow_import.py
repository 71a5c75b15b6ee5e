"""MLflow, imported late, and so that it says nothing to users that they can do nothing about."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import warnings
from collections.abc import Iterator

__all__ = ["importing_mlflow", "set_up"]

# Read by MLflow when it is imported or used. The user's own settings win. MLflow waits up to four minutes for a server
# that does not answer; records wait on disk, so there is nothing to wait for.
SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    # A server is asked under the address that the user gave; it hands nobody on to another one.
    "MLFLOW_ALLOW_HTTP_REDIRECTS": "false",
    "MLFLOW_ENABLE_PROXY_MULTIPART_DOWNLOAD": "false",
    "MLFLOW_ENABLE_PROXY_MULTIPART_UPLOAD": "false",
}
# They print whole tracebacks, or each step of creating tables; what matters of it is said by an error here.
QUIET = {"alembic": logging.WARNING, "mlflow.store.db.utils": logging.CRITICAL}


def set_up() -> None:
    """Set what MLflow reads when it is imported."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    for name, level in QUIET.items():
        logging.getLogger(name).setLevel(level)


@contextlib.contextmanager
def importing_mlflow() -> Iterator[None]:
    """Import what a block imports of MLflow, without its warnings of what comes."""
    with warnings.catch_warnings(), _without_collection():
        # MLflow 3 uses what SQLAlchemy 2.1 is about to drop; its users can do nothing about that.
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        set_up()
        yield


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Let nobody look for rings: a quarter of the time that MLflow takes goes into that, and what it makes stays."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()
