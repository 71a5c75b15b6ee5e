"""Progress of downloads: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gnz_track.cli.data_list import show_bytes

if TYPE_CHECKING:
    from gnz_track.datasets.sources.fetching import Received

__all__ = ["FetchProgress"]

# Without a terminal, at most one line for a file in so many seconds.
PLAIN_INTERVAL = 5.0


class FetchProgress:
    """Shows on standard error how many bytes of each file have arrived."""

    def __init__(self) -> None:
        self._lines: _DownloadBars | _DownloadLines = _DownloadBars() if sys.stderr.isatty() else _DownloadLines()

    def __enter__(self) -> Self:
        self._lines.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._lines.stop()

    def hear(self, received: Received) -> None:
        """Show that more of a file has arrived."""
        self._lines.show(received)


class _DownloadLines:
    """Lines for a log: each file when it is complete, and now and then before."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, str], float] = {}

    def start(self) -> None:
        """Nothing is to be prepared."""

    def stop(self) -> None:
        """Leave the lines as they are."""

    def show(self, received: Received) -> None:
        key, now = (received.dataset, received.file), time.monotonic()
        is_complete = received.n_bytes == received.n_total
        if is_complete or now - self._shown.setdefault(key, now) >= PLAIN_INTERVAL:
            self._shown[key] = now
            of_all = f" of {show_bytes(received.n_total)}" if received.n_total else ""
            sys.stderr.write(f"{received.dataset}: {show_bytes(received.n_bytes)}{of_all} of {received.file}\n")
            sys.stderr.flush()


class _DownloadBars:
    """One bar for each file that is on its way."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        # Names are text as it is, never markup.
        text = TextColumn("{task.description}", markup=False)
        columns = (text, BarColumn(bar_width=20), DownloadColumn(), TransferSpeedColumn())
        self._bars = Progress(*columns, console=Console(stderr=True))
        self._files: dict[tuple[str, str], Any] = {}

    def start(self) -> None:
        self._bars.start()

    def stop(self) -> None:
        self._bars.stop()

    def show(self, received: Received) -> None:
        key = (received.dataset, received.file)
        if key not in self._files:
            self._files[key] = self._bars.add_task(received.dataset, total=received.n_total)
        self._bars.update(self._files[key], completed=received.n_bytes, total=received.n_total)
