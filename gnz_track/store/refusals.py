"""Refusals of a store that is there and does not let somebody in: in our words, and what to do about it."""

from __future__ import annotations

import os
import re

from gnz_track.errors import StoreUnreachable, StoreUnusable
from gnz_track.store.address import Address

__all__ = ["refusal_of"]

USER_VARIABLE = "MLFLOW_TRACKING_USERNAME"
ACCOUNT = f"set {USER_VARIABLE} and MLFLOW_TRACKING_PASSWORD; who keeps the server makes accounts"
PASSWORD = "check the user in the address, and give the password as PGPASSWORD or in ~/.pgpass"  # noqa: S105
KEEPER = "ask who keeps the server"

# What it says -> what that means, and the remedy. PostgreSQL says the same of wrong users and of wrong passwords.
_SAID: tuple[tuple[str, str, str], ...] = (
    ("password authentication failed", "it refuses this user with this password", PASSWORD),
    ("no password supplied", "it asks for a password, and none was given", PASSWORD),
    (r'role "[^"]*" does not exist', "it does not know this user", PASSWORD),
    (r'database "[^"]*" does not exist', "it holds no such database", "check its name, or create it: createdb"),
    ("no pg_hba.conf entry", "it lets nobody in from this machine as this user", "ask who keeps the database"),
    (r"error code 401\b|\b401 Client Error", "", ACCOUNT),
    (r"Invalid Host header", "it does not serve under this name", f"try another name, or {KEEPER}: GNZ_SERVER_HOSTS"),
    (r"error code 403\b|\b403 Client Error|PERMISSION_DENIED", "it does not allow this account to do that", KEEPER),
    (r"error code 30\d\b", "it sends one on to another address, which nobody here has named", "name that one"),
    ("Unable to locate credentials", "its artifacts want a key", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    (
        "No module named 'boto3'|import of boto3",
        "its artifacts lie in S3, and boto3 is not installed",
        "install it with: pip install 'gnz-track[s3]'",
    ),
)
ARTIFACTS = "mlflow-artifacts/artifacts"


def refusal_of(address: Address, error: Exception) -> StoreUnusable | None:
    """Return the error of this house where a store refuses somebody, or has no artifacts now; None otherwise."""
    # What follows is the statement with its values, which may hold any words.
    text = str(error).partition("[SQL:")[0]
    for said, reason, remedy in _SAID:
        if re.search(said, text):
            return StoreUnusable(address, reason or _about_account(), remedy=remedy)
    if ARTIFACTS in text:
        reason = "the server is there, and its artifact store is not"
        return StoreUnreachable(address, reason, remedy=f"wait, or {KEEPER}")
    return None


def _about_account() -> str:
    name = os.environ.get(USER_VARIABLE, "")
    return f"it refuses the user {name!r} with this password" if name else "it asks for a user and a password"
