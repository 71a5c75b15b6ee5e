"""The command line as ``python -m gnz_track``; nothing else is imported before an interrupt is answered."""

from __future__ import annotations

import os
import sys

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
    try:
        run()
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            # All is said and closed; Python would end by the signal where the interrupt met code out of a text.
            sys.stdout.flush()
            os._exit(INTERRUPTED)
        raise


if __name__ == "__main__":
    main()
