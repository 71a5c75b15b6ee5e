"""Kind of the file system that a path lies on."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["NETWORK_FILE_SYSTEMS", "file_system_of"]

NETWORK_FILE_SYSTEMS = frozenset(
    {
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "davfs",
        "fuse.ceph",
        "fuse.davfs",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "panfs",
        "pvfs2",
        "smb3",
        "smbfs",
        "wekafs",
    }
)
MOUNTS = Path("/proc/mounts")


def file_system_of(path: Path, mounts: str | None = None) -> str:
    r"""Return the type of the innermost mount that holds a path, nothing where the system does not say.

    ``mounts`` is a text like ``/proc/mounts``, which is read where it is not given.

    >>> file_system_of(Path("/home/me/gnz.db"), "/dev/sda / ext4 rw 0 0\nsrv:/home /home nfs4 rw 0 0")
    'nfs4'
    """
    if mounts is None:
        mounts = MOUNTS.read_text(errors="replace") if MOUNTS.exists() else ""
        path = path.resolve()
    found, depth = "", -1
    for fields in (line.split() for line in mounts.splitlines()):
        if len(fields) < 3:
            continue
        place = Path(re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), fields[1]))
        # Of several mounts on one place the last one hides the others.
        if path.is_relative_to(place) and len(place.parts) >= depth:
            found, depth = fields[2], len(place.parts)
    return found
