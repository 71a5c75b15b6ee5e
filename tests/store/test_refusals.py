"""What a store says when it lets somebody not in, in our words; what nobody can know is left alone."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from gnz_track.errors import StoreUnreachable, StoreUnusable
from gnz_track.store.address import Address, parse_address
from gnz_track.store.artifacts import fetch_artifact
from gnz_track.store.connection import refusal_of, says_in_one_line

SERVER = Address("http://127.0.0.1:5000", "server")
DATABASE = Address("postgresql+psycopg://gnz@127.0.0.1:5432/gnz", "postgresql")
FAILED = 'connection failed: connection to server at "127.0.0.1", port 5432 failed: '

# As PostgreSQL 15 and MLflow 3.17 write it -> what we say, and the remedy.
SAID = {
    FAILED + 'FATAL:  password authentication failed for user "gnz"': ("refuses this user", "PGPASSWORD"),
    FAILED + "fe_sendauth: no password supplied": ("asks for a password", "PGPASSWORD"),
    FAILED + 'FATAL:  role "gnu" does not exist': ("does not know this user", "PGPASSWORD"),
    FAILED + 'FATAL:  database "gnu" does not exist': ("holds no such database", "createdb"),
    FAILED + 'FATAL:  no pg_hba.conf entry for host "10.0.0.7"': ("lets nobody in", "who keeps the database"),
    "API request to endpoint /x failed with error code 403 != 200. Response body: 'Invalid Host header - x'": (
        "does not serve under this name",
        "GNZ_SERVER_HOSTS",
    ),
    "API request to endpoint /x failed with error code 403 != 200. Response": ("not allow", "who keeps the server"),
    "Unable to locate credentials": ("want a key", "AWS_ACCESS_KEY_ID"),
}


@pytest.mark.parametrize("text", SAID)
def test_refusal_is_said_with_its_remedy(text: str) -> None:
    found = refusal_of(DATABASE, RuntimeError(text))
    assert isinstance(found, StoreUnusable)
    assert not isinstance(found, StoreUnreachable), "waiting does not help"
    for words in SAID[text]:
        assert words in str(found)


@pytest.mark.parametrize(("user", "said"), [("alice", "refuses the user 'alice'"), ("", "asks for a user and a pass")])
def test_unknown_account_is_named(user: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", user)
    found = refusal_of(SERVER, RuntimeError("API request to endpoint /x failed with error code 401 != 200. Response"))
    assert found is not None
    assert f"cannot be used: it {said}" in str(found)
    assert "MLFLOW_TRACKING_PASSWORD" in str(found)


def test_artifacts_that_are_away_are_told_apart_from_a_server_that_is_away() -> None:
    page = f"API request to {SERVER.uri}/api/2.0/mlflow-artifacts/artifacts/1/a/plan.json failed with exception ..."
    found = refusal_of(SERVER, RuntimeError(page))
    assert isinstance(found, StoreUnreachable)
    assert "its artifact store is not" in str(found)
    assert refusal_of(SERVER, RuntimeError("Connection refused")) is None
    closed = "server closed the connection unexpectedly\n[SQL: INSERT ...]\n[parameters: {'value': 'error code 401'}]"
    assert refusal_of(DATABASE, RuntimeError(closed)) is None


def test_missing_driver_of_artifacts_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(StoreUnusable, match=r"boto3 is not installed; .*gnz-track\[s3\]"), says_in_one_line(SERVER):
        importlib.import_module("boto3")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), says_in_one_line(SERVER):
        importlib.import_module("no_such_module")


def test_files_behind_a_server_are_out_of_reach_from_its_database(database: Path, tmp_path: Path) -> None:
    address = parse_address(str(database))
    assert fetch_artifact(address, "mlflow-artifacts:/1/a/artifacts", "plan.json", tmp_path) is None
