"""The head of a cluster: its address as somebody typed it, and whether it answers, now and as long as a sweep lasts.

What leads a Ray cluster speaks HTTP/2, so that a greeting tells in an instant what Ray itself tries for a minute, and
ends the process over where it fails. Ctrl-C, and the signal by which schedulers end a job, are put off over what must
not be left halfway, and what native code writes to standard error is kept until somebody may want it.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from gnz_track.errors import BadValue, GnzError
from gnz_track.store.address import mask
from gnz_track.waking_time import WakingTime

__all__ = [
    "LOCAL",
    "Post",
    "alone",
    "check_address",
    "few_words",
    "greet",
    "head_at",
    "hide_password",
    "leave_soon",
    "posts_of",
    "put_off_interrupts",
    "refusal_of",
]


STANDARD_ERROR = 2


@contextlib.contextmanager
def _hold_back(is_explained: Callable[[BaseException], bool]) -> Iterator[None]:
    """Hold back what is written meanwhile; it is shown at the end, but for an error that needs no more words."""
    sys.stderr.flush()
    wanted = True
    with tempfile.TemporaryFile() as held, os.fdopen(os.dup(STANDARD_ERROR), "wb", buffering=0) as shown:
        os.dup2(held.fileno(), STANDARD_ERROR)
        try:
            yield
        except BaseException as error:
            wanted = not is_explained(error)
            raise
        finally:
            sys.stderr.flush()
            os.dup2(shown.fileno(), STANDARD_ERROR)
            held.seek(0)
            # Where nobody reads any more, what happened is told by the error itself.
            with contextlib.suppress(OSError):
                shown.write(held.read() if wanted else b"")


# Of a cluster that is started here, and of the one that this machine belongs to.
LOCAL, ANY = "local", "auto"
SECONDS_TO_ANSWER, SECONDS_BETWEEN_LOOKS, SECONDS_TO_LEAVE = 5.0, 3.0, 10.0
# Ray ends the process itself when the head was away for so long; before that is the time to end in good order.
PATIENCE_OF_RAY, ITS_DEFAULT = "RAY_gcs_rpc_server_reconnect_timeout_s", 60.0
PART_OF_IT = 1 / 3
# The error of Ray that a token is missing or wrong.
REFUSED = "AuthenticationError"
# How often Ray tries to connect, a second each; it reads that when it does. Somebody answers at the address by then.
ATTEMPTS, MOST_ATTEMPTS = "RAY_gcs_server_port_wait_time_s", "3"
# Ray's own word for a cluster of more than one machine. Without it, its ports are those of loopback, on any system.
OF_MACHINES = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
# How a client of HTTP/2 begins, with an empty frame of settings; the server's own settings are its first answer.
_SETTINGS, _TO_KIND = 4, 3
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0))


class Post:
    """A part that a sweep cannot do without, such as the head of its cluster, looked at every few seconds.

    ``name`` is for the user, ``address`` is its ``HOST:PORT``, and it may be silent for ``patience`` seconds.
    """

    def __init__(self, name: str, address: str, *, patience: float) -> None:
        self.name, self.address, self.patience = name, address, patience
        self._looked, self._silent_since, self._fault = -math.inf, 0.0, ""
        # Who was stopped for a while has not waited for it.
        self._time = WakingTime()

    def is_silent(self, *, at_once: bool = False) -> bool:
        """Tell whether it did not answer when it was asked last, a few seconds ago, or ``at_once`` where that matters.

        One that was silent is asked again only after these seconds, for it may take long not to answer.
        """
        if (at_once and not self._fault) or time.monotonic() - self._looked >= SECONDS_BETWEEN_LOOKS:
            # That one does not answer takes seconds to find out, in which it is silent already.
            asked = self._time.seconds()
            was_silent, self._fault = bool(self._fault), greet(self.address)
            self._looked = time.monotonic()
            if not was_silent:
                self._silent_since = asked
        return bool(self._fault)

    def check_patience(self, *, n_ended: int, n_cells: int) -> None:
        """Refuse to go on where it was silent for too long; ``n_ended`` of the cells are done."""
        if not self._fault or self._time.seconds() - self._silent_since < self.patience:
            return
        raise self.loss(self._fault, n_ended=n_ended, n_cells=n_cells)

    def loss(self, fault: str, *, n_ended: int, n_cells: int) -> GnzError:
        """Return the error that it is gone.

        Parameters
        ----------
        fault
            How that was noticed.
        n_ended, n_cells
            Cells that had ended, of those of this call.
        """
        return GnzError(
            f"{self.name} does not answer any more ({fault}); {n_ended} of the {n_cells} cells of this call had "
            f"ended and are kept. Once it is back, the same command goes on from there"
        )


def posts_of(head: str, node: str, *, typed: str = "") -> tuple[Post, ...]:
    """Return the posts of a sweep: the head of its cluster, and Ray's own process on this machine.

    A head may come back. The other does not, and Ray ends our process soon after it.

    Parameters
    ----------
    head, node
        ``HOST:PORT`` of the head, and of Ray's process on this machine.
    typed
        Address of the cluster as somebody typed it.
    """
    return (
        head_at(head, typed=typed),
        Post("the process of Ray on this machine", node, patience=SECONDS_BETWEEN_LOOKS),
    )


def head_at(address: str, *, typed: str = "") -> Post:
    """Return the head of a cluster, which is named as somebody typed it."""
    shown = address if typed in {"", LOCAL, ANY} else typed
    return Post(f"the head of the cluster at {hide_password(shown)}", address, patience=_read_patience())


def leave_soon(leave: Callable[[], None]) -> None:
    """Leave a cluster whose head may be silent: Ray waits for its answer for ever, and again when the process ends."""
    leaving = threading.Thread(target=leave, daemon=True)
    leaving.start()
    leaving.join(SECONDS_TO_LEAVE)
    if leaving.is_alive():
        atexit.unregister(leave)


def greet(address: str) -> str:
    """Return what is wrong with the head at ``HOST:PORT``; nothing where it answers."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=SECONDS_TO_ANSWER) as connection:
            if os.environ.get("RAY_USE_TLS", "").lower() in {"1", "true"}:
                # What it says is for those who have its certificate; that somebody listens has to do.
                return ""
            connection.sendall(GREETING)
            with connection.makefile("rb") as answer:
                begun = answer.read(_TO_KIND + 1)
    except (OSError, OverflowError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return f"nobody answers there: {reason}"
    return "" if begun[_TO_KIND:] == bytes((_SETTINGS,)) else "what answers there is no Ray cluster"


def check_address(address: str) -> None:
    """Refuse an address where no cluster answers; Ray itself would try for minutes."""
    if address in {"", ANY}:
        # As Ray looks for the cluster of this machine.
        address = os.environ.get("RAY_ADDRESS", "")
    if address in {"", LOCAL, ANY}:
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or set(host) & set("/@"):
        raise _no_cluster(address, "it is not HOST:PORT")
    fault = greet(address)
    if fault:
        raise _no_cluster(address, fault)


@contextlib.contextmanager
def alone(constants: Any) -> Iterator[None]:
    """Have a cluster that is started now listen to this machine alone, unless somebody said otherwise.

    ``constants`` is where Ray keeps what it read of its settings when it was imported; its processes read them anew.
    Clusters that are started or joined later are not meant, and a process may go on to one of many machines.
    """
    if OF_MACHINES in os.environ:
        yield
        return
    before, constants.ENABLE_RAY_CLUSTER = constants.ENABLE_RAY_CLUSTER, False
    os.environ[OF_MACHINES] = "0"
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before
        del os.environ[OF_MACHINES]


@contextlib.contextmanager
def few_words() -> Iterator[None]:
    """Have Ray connect in a few seconds, unless somebody said otherwise, and not tell of a token twenty times."""
    is_ours = ATTEMPTS not in os.environ
    os.environ.setdefault(ATTEMPTS, MOST_ATTEMPTS)
    try:
        with _hold_back(_is_of_token):
            yield
    finally:
        if is_ours:
            del os.environ[ATTEMPTS]


def _is_of_token(error: BaseException | None) -> bool:
    """Tell whether a cluster did not take our token: Ray says so in the text of a reason of its error."""
    while error is not None:
        if REFUSED in f"{type(error).__name__} {error}":
            return True
        error = error.__cause__
    return False


def hide_password(address: str) -> str:
    """Return an address as it was typed, without what may be a password.

    >>> hide_password("me:secret@10.0.0.1:6379"), hide_password("10.0.0.1:6379")
    ('me:***@10.0.0.1:6379', '10.0.0.1:6379')
    """
    return mask(address) if "://" in address else mask(f"://{address}").removeprefix("://")


def _no_cluster(address: str, reason: str) -> BadValue:
    """Return the error that there is no cluster at an address."""
    allowed = f"HOST:PORT of a Ray cluster's head, auto on one of its nodes, or local to start one here ({reason})"
    return BadValue("address", hide_password(address), allowed, command="gnz run --executor ray --address local")


def refusal_of(address: str, error: BaseException) -> BadValue:
    """Return our error for one of Ray that says why there is no connection; it tells of tokens in its reasons."""
    if not _is_of_token(error):
        return _no_cluster(address, str(error).strip().partition("\n")[0])
    if os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        reason = "this one asks for a token, which is shown only where RAY_AUTH_MODE=token is set"
    elif type(error).__name__ == REFUSED:
        # Not by the cluster: it was not asked.
        reason = "RAY_AUTH_MODE=token is set, and no token is on this machine"
    else:
        reason = "this one has another token than this machine"
    following = "RAY_AUTH_MODE=token gnz run ..., with the same ~/.ray/auth_token as on the nodes of the cluster"
    allowed = f"a cluster that takes our token; {reason}"
    return BadValue("address", hide_password(address), allowed, command=following)


def _read_patience() -> float:
    try:
        given = float(os.environ.get(PATIENCE_OF_RAY, ""))
    except ValueError:
        given = ITS_DEFAULT
    return PART_OF_IT * (given if given > 0 else ITS_DEFAULT)


SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def put_off_interrupts() -> Iterator[None]:
    """Answer the first signal to end at the end of the block, and any other at once, both as they were answered before.

    What the block itself makes of these signals ends with it.
    """
    if threading.current_thread() is not threading.main_thread():
        # No other is interrupted, or may say what a signal does.
        yield
        return
    noted: list[int] = []
    before: dict[int, Any] = {number: signal.getsignal(number) for number in SIGNALS}

    def note(number: int, frame: FrameType | None) -> None:
        if noted and callable(before[number]):
            before[number](number, frame)
        noted.append(number)

    for number, answer in before.items():
        if callable(answer):
            # One that is ignored, or ends the process, goes on to do so.
            signal.signal(number, note)
    try:
        yield
    finally:
        for number, answer in before.items():
            if answer is not None:
                signal.signal(number, answer)
    if noted:
        signal.raise_signal(noted[0])
