"""Whether somebody answers at the address of a cluster, what is said where nobody does, and how long one waits."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers import free_port

from gnz_track.errors import BadValue, GnzError
from gnz_track.runs.executors.ray import head as cluster_head
from gnz_track.runs.executors.ray.head import Post, check_address, few_words, hide_password, posts_of, refusal_of

# A frame of no settings, as RFC 9113 has it in 4.1 and 6.5: length, kind 4, flags, stream 0.
SETTINGS = b"\0\0\0\4\0\0\0\0\0"
# What it has a client say first, in 3.4.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


@contextmanager
def listener(answer: bytes, heard: list[bytes], *, port: int = 0) -> Iterator[str]:
    """Listen as something does that says ``answer`` to everybody, and then no more."""
    with socket.create_server(("127.0.0.1", port)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    heard.append(connection.recv(1024))
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_head_that_speaks_its_language_is_taken() -> None:
    heard: list[bytes] = []
    with listener(SETTINGS, heard) as address:
        check_address(address)
    assert heard == [PREFACE + SETTINGS], "a server takes no other greeting"


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"\0"])
def test_other_servers_are_no_cluster(answer: bytes) -> None:
    with listener(answer, []) as address, pytest.raises(BadValue, match=r"\(what answers there is no Ray cluster\)"):
        check_address(address)


def test_nobody_is_named_within_a_second_and_as_typed() -> None:
    address, begun = f"localhost:{free_port()}", time.monotonic()
    with pytest.raises(
        BadValue, match=rf"address is '{address}'.* \(nobody answers there: .*refused\).*--address local"
    ):
        check_address(address)
    assert time.monotonic() - begun < 1


def test_head_that_hangs_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_head, "SECONDS_TO_ANSWER", 0.1)
    # Connections wait in the queue of the system.
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(BadValue, match="nobody answers there: timed out"),
    ):
        check_address(f"127.0.0.1:{server.getsockname()[1]}")


@pytest.mark.parametrize(
    "address", ["head", "head:", ":6379", "ray://head:10001", "head:6379/", "head:²", "me:secret@head:6379", "me@h:1"]
)
def test_what_is_no_address_is_never_asked(address: str) -> None:
    with pytest.raises(BadValue, match=r"\(it is not HOST:PORT\)") as caught:
        check_address(address)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("address", ["head:99999", "a..b:1", "a\0b:1"])
def test_what_the_system_refuses_is_an_error_of_ours(address: str) -> None:
    with pytest.raises(BadValue, match="nobody answers there"):
        check_address(address)


def test_address_of_the_environment_is_asked_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for address in ("", "auto", "local"):
        check_address(address)
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{free_port()}")
    check_address("local")
    for address in ("", "auto"):
        with pytest.raises(BadValue, match="nobody answers there"):
            check_address(address)


@given(secret=st.text(min_size=4).filter(lambda text: not any(sign.isspace() for sign in text)))
def test_no_password_is_shown(secret: str) -> None:
    for typed in (f"me:{secret}@10.0.0.1:6379", f"ray://me:{secret}@10.0.0.1:6379"):
        assert hide_password(typed) == typed.replace(f":{secret}@", ":***@")
    assert hide_password("10.0.0.1:6379") == "10.0.0.1:6379"


class AuthenticationError(Exception):
    """Named as the one of Ray, which is known by its name."""


def refused_by_the_cluster() -> Exception:
    """Return an error as ``ray.init`` raises it: the reason is in the text of the reason."""
    error = ConnectionError("Failed to connect to Ray cluster at 192.0.2.2:54801")
    error.__cause__ = RuntimeError(
        "Last connection error: Traceback ...\nray.exceptions.AuthenticationError: RPC error"
    )
    return error


@pytest.mark.parametrize(
    ("mode", "error", "said"),
    [
        (
            "",
            refused_by_the_cluster(),
            "this one asks for a token, which is shown only where RAY_AUTH_MODE=token is set",
        ),
        ("disabled", refused_by_the_cluster(), "this one asks for a token"),
        ("token", refused_by_the_cluster(), "this one has another token than this machine"),
        ("Token", AuthenticationError("none was found"), "RAY_AUTH_MODE=token is set, and no token is on this machine"),
        ("token", ConnectionError("the head left\nTraceback"), r"\(the head left\)"),
    ],
)
def test_wrong_tokens_are_named(monkeypatch: pytest.MonkeyPatch, mode: str, error: Exception, said: str) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", mode)
    refusal = str(refusal_of("me:secret@head:6379", error))
    assert re.search(said, refusal)
    assert "address is 'me:***@head:6379'" in refusal
    assert "192.0.2.2" not in refusal


FLOOD = """
import os, sys
from gnz_track.runs.executors.ray.head import few_words
class AuthenticationError(Exception): pass
errors = {"known": AuthenticationError, "unknown": ConnectionError, "interrupt": KeyboardInterrupt}
try:
    with few_words():
        os.write(2, b"native line " + os.environ["RAY_gcs_server_port_wait_time_s"].encode() + b"\\n")
        print("python line", file=sys.stderr)
        if sys.argv[1]:
            raise errors[sys.argv[1]]
except BaseException as error:
    print(type(error).__name__, file=sys.stderr)
os.write(2, b"after")
"""


@pytest.mark.parametrize(
    ("ending", "shown"),
    [
        ("", "native line 3\npython line\nafter"),
        ("known", "AuthenticationError\nafter"),
        ("unknown", "native line 3\npython line\nConnectionError\nafter"),
        ("interrupt", "native line 3\npython line\nKeyboardInterrupt\nafter"),
    ],
)
def test_native_lines_are_shown_unless_the_reason_is_known(ending: str, shown: str) -> None:
    done = subprocess.run([sys.executable, "-c", FLOOD, ending], capture_output=True, text=True, check=True)
    assert done.stderr == shown


def test_attempts_are_ours_only_while_we_connect_and_nobody_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cluster_head.ATTEMPTS, raising=False)
    with few_words():
        assert os.environ[cluster_head.ATTEMPTS] == "3"
    assert cluster_head.ATTEMPTS not in os.environ
    monkeypatch.setenv(cluster_head.ATTEMPTS, "60")
    with few_words():
        assert os.environ[cluster_head.ATTEMPTS] == "60"
    assert os.environ[cluster_head.ATTEMPTS] == "60"


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return what sets the clock of posts."""
    clock = [1000.0]
    monkeypatch.setattr(cluster_head.time, "monotonic", lambda: clock[0])
    # This process runs all the while: nothing of a leap is left out.
    monkeypatch.setattr(cluster_head, "WakingTime", lambda: SimpleNamespace(seconds=lambda: clock[0]))

    def put(seconds: float) -> None:
        clock[0] = 1000.0 + seconds

    return put


def test_head_that_comes_back_in_time_ends_nothing(at: Callable[[float], None]) -> None:
    with listener(SETTINGS, []) as address:
        post = Post("the head", address, patience=20)
        assert not post.is_silent()
    at(2)
    assert not post.is_silent(), "it was asked a moment ago"
    assert post.is_silent(at_once=True)
    for seconds in (5, 10, 21):
        at(seconds)
        assert post.is_silent()
        post.check_patience(n_ended=1, n_cells=3)
    with listener(SETTINGS, [], port=int(address.rpartition(":")[2])):
        at(23)
        assert post.is_silent(at_once=True), "one that was silent is not asked again at once"
        at(25)
        assert not post.is_silent()
        post.check_patience(n_ended=1, n_cells=3)
    at(60)
    assert post.is_silent()
    post.check_patience(n_ended=1, n_cells=3)
    at(81)
    with pytest.raises(GnzError, match=r"the head does not answer any more \(nobody .*refused\); 1 of the 3 cells"):
        post.check_patience(n_ended=1, n_cells=3)


@pytest.mark.parametrize(("of_ray", "ours"), [("", 20), ("600", 200), ("no number", 20), ("0", 20), ("-1", 20)])
def test_patience_ends_long_before_that_of_ray(monkeypatch: pytest.MonkeyPatch, of_ray: str, ours: float) -> None:
    monkeypatch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", of_ray)
    head, node = posts_of("10.0.0.1:6379", "10.0.0.2:4000")
    assert head.patience == pytest.approx(ours)
    assert node.patience < 5, "Ray ends the process about 15 s after that of its node"


@pytest.mark.parametrize(
    ("typed", "shown"), [("", "10.0.0.1:6379"), ("auto", "10.0.0.1:6379"), ("me:secret@head:6379", "me:***@head:6379")]
)
def test_head_is_named_as_it_was_typed(typed: str, shown: str) -> None:
    head, _ = posts_of("10.0.0.1:6379", "10.0.0.2:4000", typed=typed)
    assert head.name == f"the head of the cluster at {shown}"
    assert head.address == "10.0.0.1:6379"
