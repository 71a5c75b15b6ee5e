"""The files of the team's stack: whole, pinned, without a secret, and refusing what is weak."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet

DOCKER = Path(__file__).resolve().parents[2] / "docker"
COMPOSE = (DOCKER / "compose.yaml").read_text("utf-8")
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE)["services"]
DOCKERFILES = sorted(DOCKER.glob("Dockerfile*"))
SCRIPTS = sorted(DOCKER.glob("*.sh"))
PINNED = re.compile(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}")
GOOD = "Rk7wQz2vXn9bTf4mHs8cLd3g"
SERVER = {
    "MLFLOW_AUTH_ADMIN_USERNAME": "captain",
    "MLFLOW_AUTH_ADMIN_PASSWORD": GOOD,
    "MLFLOW_FLASK_SERVER_SECRET_KEY": GOOD + GOOD[::-1],
    "GNZ_SERVER_DATABASE": "postgresql+psycopg://gnz@database/gnz",
    "GNZ_SERVER_ARTIFACTS": "s3://gnz/runs",
    "AWS_ACCESS_KEY_ID": "gnz",
    "AWS_SECRET_ACCESS_KEY": GOOD,
}


def variables() -> list[tuple[str, str]]:
    """Return each ``${NAME...}`` of the compose file, as name and what follows it."""
    text = "\n".join(line for line in COMPOSE.splitlines() if not line.lstrip().startswith("#"))
    return re.findall(r"\$\{(\w+)([^}]*)\}", text)


def call(script: str, *words: str, shell: str = "sh", **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "RCLONE": "false", "PYTHON": "false", **settings}
    command = [shell, str(DOCKER / script), *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


# compose.yaml -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_checked_restarted_and_pinned(name: str) -> None:
    service = SERVICES[name]
    assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    assert service["restart"] in {"unless-stopped", "on-failure:3"}
    tag = service["image"].partition("@")[0].rpartition(":")[2]
    assert re.fullmatch(r"\d+(\.\d+)+", tag), "pinned to a version"


@pytest.mark.parametrize("name", SERVICES)
def test_image_is_built_here_or_taken_by_digest(name: str) -> None:
    service = SERVICES[name]
    assert "build" in service or PINNED.fullmatch(service["image"]), service["image"]


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["cap_drop"] == ["ALL"]
    assert service["read_only"] is True
    assert service.get("privileged") is None
    # Only PostgreSQL's start, which makes the volume its own and leaves root.
    least = {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"}
    assert set(service.get("cap_add", ())) == (least if name == "database" else set())
    assert service["tmpfs"][0] == "/tmp"  # noqa: S108  (a folder of the container)
    for limit in ("mem_limit", "cpus", "pids_limit"):
        assert service[limit]
    assert not any("docker.sock" in volume for volume in service.get("volumes", ()))


def test_script_refuses_an_image_without_a_digest(tmp_path: Path) -> None:
    assert call("pin_images.sh", "check").returncode == 0
    for file in ("compose.yaml", "Dockerfile", "Dockerfile.server", "pin_images.sh"):
        (tmp_path / file).write_text((DOCKER / file).read_text("utf-8"))
    for file, digest in (("compose.yaml", r"(rclone:[\d.]+)@sha256:\w+"), ("Dockerfile", r"(slim)@sha256:\w+")):
        whole = (tmp_path / file).read_text()
        for kept in (r"\1", r"\1@sha256:abc", r"\1@sha256:" + "X" * 64):
            (tmp_path / file).write_text(re.sub(digest, kept, whole))
            command = ["sh", str(tmp_path / "pin_images.sh"), "check"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1)
            assert "bears no digest" in done.stderr
        (tmp_path / file).write_text(whole)


def test_script_writes_what_the_registry_answers(tmp_path: Path) -> None:
    for file in ("compose.yaml", "Dockerfile", "Dockerfile.server", "pin_images.sh"):
        text = (DOCKER / file).read_text("utf-8")
        (tmp_path / file).write_text(re.sub(r"@sha256:\w+", "", text) if file != "pin_images.sh" else text)
    engine = tmp_path / "docker"
    engine.write_text('#!/bin/sh\necho "sha256:$(printf %s "$4" | sha256sum | cut -c1-64)"\n')
    engine.chmod(0o755)
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    script = ["sh", str(tmp_path / "pin_images.sh")]
    assert subprocess.run([*script, "check"], env=environment, capture_output=True, check=False).returncode == 2
    assert subprocess.run(script, env=environment, capture_output=True, check=False).returncode == 0
    assert subprocess.run([*script, "check"], env=environment, capture_output=True, check=False).returncode == 0
    images = re.findall(r"(?m)^(?: +image: |FROM )(\S+@\S+)$", (tmp_path / "compose.yaml").read_text())
    assert len(images) == 2
    assert all(PINNED.fullmatch(image) for image in images)
    engine.write_text("#!/bin/sh\nexit 1\n")
    assert subprocess.run(script, env=environment, capture_output=True, check=False).returncode != 0


def test_services_are_all_there_and_wait_for_each_other() -> None:
    assert set(SERVICES) == {"database", "artifacts", "server", "worker"}
    waits = {name: service.get("depends_on", {}) for name, service in SERVICES.items()}
    assert set(waits["server"]) == {"database", "artifacts"}
    assert set(waits["worker"]) == {"server"}
    assert {one["condition"] for of in waits.values() for one in of.values()} == {"service_healthy"}


def test_ports_are_this_machine_s_unless_somebody_says_otherwise() -> None:
    ports = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert ports == {"server": ["${GNZ_BIND:-127.0.0.1}:${GNZ_PORT:-5000}:5000"]}


def test_volumes_are_named() -> None:
    declared = set(yaml.safe_load(COMPOSE)["volumes"])
    used = [volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])]
    assert {one for one in used if not one.startswith(".")} == declared
    assert all((DOCKER / one).is_file() for one in used if one.startswith("."))


def test_no_secret_has_a_default() -> None:
    secrets = [(name, rest) for name, rest in variables() if name.endswith("_SECRET")]
    assert {name for name, _ in secrets} >= {f"GNZ_{one}_SECRET" for one in ("DATABASE", "ADMIN", "SIGNING", "S3")}
    for name, rest in secrets:
        assert rest.startswith(":?"), f"{name} must be given"
        assert "make_env.sh" in rest, "it says what to do"
    for service in SERVICES.values():
        for name, value in service["environment"].items():
            if re.search("PASSWORD|SECRET", name):
                assert re.fullmatch(r"\$\{GNZ_\w+_SECRET:\?[^}]+\}", value), name


def test_example_names_every_variable_and_no_secret() -> None:
    lines = (DOCKER / ".env.example").read_text("utf-8").splitlines()
    given = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    assert {name for name, _ in variables()} == set(given) - {"COMPOSE_PROFILES"}
    assert {name: value for name, value in given.items() if name.endswith("_SECRET") and value} == {}
    # What stands in both places is the same, so that removing a line changes nothing.
    for name, rest in variables():
        if rest.startswith(":-"):
            assert given[name] == rest[2:], name


def test_settings_of_the_server_are_those_that_its_script_reads() -> None:
    script = (DOCKER / "serve.sh").read_text("utf-8")
    ours = {name for name in SERVICES["server"]["environment"] if name.startswith("GNZ_")}
    assert ours <= set(re.findall(r"GNZ_SERVER_\w+", script))
    assert set(re.findall(r"GNZ_SERVER_\w+", script)) - ours == {"GNZ_SERVER_PORT"}, "the image serves at port 5000"


# Images -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.name)
def test_dockerfile_takes_files_that_are_there_and_no_root(file: Path, root: Path) -> None:
    lines = file.read_text("utf-8").splitlines()
    copied = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    assert copied
    sent = {line[1:] for line in (root / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    for name in copied:
        assert (root / name).exists(), name
        assert name in sent or name.split("/")[0] in sent, f"{name} is not sent to the builder"
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users == ["gnz"]
    (base,) = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert base.startswith("python:3.11.")
    assert PINNED.fullmatch(base)
    wanted = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    assert "3.11" in SpecifierSet(wanted)


def test_every_package_of_an_image_is_pinned(root: Path) -> None:
    pins = dict(
        line.lower().split("==")
        for name in ("constraints.txt", "docker/server.txt")
        for line in (root / name).read_text("utf-8").splitlines()
        if "==" in line
    )
    asked = [line for line in (DOCKER / "server.txt").read_text("utf-8").splitlines() if line and line[0] != "#"]
    assert {re.split(r"[=\[]", line)[0] for line in asked} <= set(pins)
    assert "torch" in pins
    for line in asked:
        name, _, pin = line.partition("==")
        try:
            here = version(name.partition("[")[0])
        except PackageNotFoundError:
            continue
        assert not pin or pin == here, "what is tested is what is shipped"


# Scripts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_script_is_read_by_every_shell(script: Path, shell: str) -> None:
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_good_settings_are_taken() -> None:
    done = call("serve.sh", "check", **SERVER)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


WEAK = {
    "empty": ({"MLFLOW_AUTH_ADMIN_PASSWORD": ""}, "MLFLOW_AUTH_ADMIN_PASSWORD is empty"),
    "short": ({"MLFLOW_AUTH_ADMIN_PASSWORD": "Rk7wQz2vXn9"}, "has 11 characters; choose 12 or more"),
    "mlflow's old one": ({"MLFLOW_AUTH_ADMIN_PASSWORD": "password1234"}, "holds a word that everybody tries first"),
    "everybody's": ({"MLFLOW_AUTH_ADMIN_PASSWORD": "ChangeMe-ChangeMe"}, "holds a word that everybody tries first"),
    "admin's": ({"MLFLOW_AUTH_ADMIN_PASSWORD": "admin-admin-admin"}, "holds a word that everybody tries first"),
    "one letter": ({"MLFLOW_AUTH_ADMIN_PASSWORD": "aaaaaaaaaaaaaaaaaa"}, "repeats a few characters"),
    "no user": ({"MLFLOW_AUTH_ADMIN_USERNAME": ""}, "MLFLOW_AUTH_ADMIN_USERNAME is empty"),
    "short key": ({"MLFLOW_FLASK_SERVER_SECRET_KEY": GOOD}, "has 24 characters; choose 32 or more"),
    "no S3 secret": ({"AWS_SECRET_ACCESS_KEY": ""}, "AWS_SECRET_ACCESS_KEY is empty"),
    "no database": ({"GNZ_SERVER_DATABASE": ""}, "GNZ_SERVER_DATABASE is empty"),
    "sqlite": ({"GNZ_SERVER_DATABASE": "sqlite:///gnz.db"}, "is no postgresql+psycopg://"),
    "password in sight": ({"GNZ_SERVER_DATABASE": f"postgresql+psycopg://gnz:{GOOD}@db/gnz"}, "holds a password"),
}


@pytest.mark.parametrize("name", WEAK)
@pytest.mark.parametrize("words", [(), ("check",)], ids=["start", "check"])
def test_server_refuses_in_one_line_without_showing_the_secret(name: str, words: tuple[str, ...]) -> None:
    changed, said = WEAK[name]
    done = call("serve.sh", *words, **{**SERVER, **changed})
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("refused: ")
    assert said in line
    for value in (GOOD, changed.get("MLFLOW_AUTH_ADMIN_PASSWORD")):
        assert not value or value not in line


@pytest.mark.parametrize(
    ("secret", "said"), [("", "is empty"), ("short", "has 5 characters"), (GOOD + ',"', "letters, digits")]
)
def test_artifact_store_refuses_weak_keys(secret: str, said: str) -> None:
    done = call("artifacts.sh", AWS_ACCESS_KEY_ID="gnz", AWS_SECRET_ACCESS_KEY=secret)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert said in line


def test_secrets_are_made_once_and_taken_by_the_server(tmp_path: Path) -> None:
    target = tmp_path / "made"
    assert call("make_env.sh", str(target)).returncode == 0
    assert target.stat().st_mode & 0o077 == 0
    text = target.read_text("utf-8")
    given = dict(line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))
    secrets = [value for name, value in given.items() if name.endswith("_SECRET")]
    assert len(set(secrets)) == 5
    assert {len(value) for value in secrets} == {48}
    settings = {
        **SERVER,
        "MLFLOW_AUTH_ADMIN_USERNAME": given["GNZ_ADMIN_USER"],
        "MLFLOW_AUTH_ADMIN_PASSWORD": given["GNZ_ADMIN_SECRET"],
        "MLFLOW_FLASK_SERVER_SECRET_KEY": given["GNZ_SIGNING_SECRET"],
        "AWS_SECRET_ACCESS_KEY": given["GNZ_S3_SECRET"],
    }
    assert call("serve.sh", "check", **settings).stderr == ""
    again = call("make_env.sh", str(target))
    assert again.returncode == 2
    assert target.read_text("utf-8") == text


def test_server_takes_every_flag_of_the_script() -> None:
    script = (DOCKER / "serve.sh").read_text("utf-8")
    flags = set(re.findall(r"(?<=\s)(--[a-z-]+)", script.partition("set -- server")[2]))
    assert {"--app-name", "--backend-store-uri", "--artifacts-destination", "--allowed-hosts"} <= flags
    shown = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "mlflow", "server", "--help"],
        env={**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert flags <= set(re.findall(r"--[a-z-]+", shown.stdout))


def test_accounts_need_a_word_and_a_name() -> None:
    script = str(DOCKER / "accounts.py")
    done = subprocess.run([sys.executable, script, "add"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "accounts.py add NAME" in done.stderr
    short = subprocess.run(
        [sys.executable, script, "add", "me"], input="short\n", capture_output=True, text=True, check=False
    )
    assert (short.returncode, short.stderr) == (2, "refused: the password has 5 characters; give 12 or more\n")
