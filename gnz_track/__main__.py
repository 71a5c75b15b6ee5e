"""The command line as ``python -m gnz_track``."""

from gnz_track.cli import main

main()
