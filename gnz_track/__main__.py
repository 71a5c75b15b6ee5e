"""The command line as ``python -m gnz_track``; nothing else is imported before an interrupt is answered."""

from __future__ import annotations

import os

from gnz_track.streams import guard_streams

__all__ = ["main"]

INTERRUPTED = 130


def main() -> None:
    """Run the command line; whoever presses Ctrl-C while it is imported is told so in a word."""
    guard_streams()
    try:
        from gnz_track.cli import main as run
    except KeyboardInterrupt:
        # At once: nothing is open yet, and Python may end by the signal where the interrupt met code out of a text.
        try:
            os.write(2, b"interrupted\n")
        finally:
            os._exit(INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
