# ruff: noqa: INP001
"""Known advisories against the pinned packages, asked of an index in the format of OSV (osv.dev).

Run: ``python .ci/audit.py``; the index is ``GNZ_ADVISORIES`` or the public one. Where none can be reached, that is
said, and nothing fails: a build without a way to the network is a build. Exit code 1 where something is known.
"""

from __future__ import annotations

import json
import os
import re
import sys
import urllib.request
from pathlib import Path

INDEX = os.environ.get("GNZ_ADVISORIES", "https://api.osv.dev/v1/querybatch")
CONSTRAINTS = Path(__file__).resolve().parents[1] / "constraints.txt"
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;+]+)", re.MULTILINE)
# Advisory -> why it does not concern us. Few is the aim.
ACCEPTED: dict[str, str] = {}
SECONDS = 30


def main() -> int:
    """Ask, and say what is known."""
    pins = PIN.findall(CONSTRAINTS.read_text(encoding="utf-8"))
    asked = {
        "queries": [{"package": {"name": name, "ecosystem": "PyPI"}, "version": version} for name, version in pins]
    }
    request = urllib.request.Request(INDEX, json.dumps(asked).encode(), {"Content-Type": "application/json"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310  (an address of ours)
            found = json.load(answer)["results"]
    except (OSError, ValueError, KeyError) as error:
        sys.stdout.write(f"audit skipped: no index of advisories at {INDEX} ({error})\n")
        return 0
    known = [
        (name, version, entry["id"])
        for (name, version), result in zip(pins, found, strict=True)
        for entry in result.get("vulns", ())
        if entry["id"] not in ACCEPTED
    ]
    for name, version, advisory in known:
        sys.stdout.write(f"{name} {version}: {advisory}, see https://osv.dev/vulnerability/{advisory}\n")
    sys.stdout.write(f"audit: {len(pins)} packages, {len(known)} advisories\n")
    return bool(known)


if __name__ == "__main__":
    sys.exit(main())
