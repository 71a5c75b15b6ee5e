"""The first signal to end comes late, a second at once, and neither is lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from gnz_track.runs.executors.ray.head import put_off_interrupts


@pytest.fixture
def heard() -> Iterator[list[int]]:
    """Return what is heard of both signals, each of which raises as Ctrl-C does."""
    heard: list[int] = []

    def answer(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        signal.default_int_handler(number, frame)

    before = {number: signal.signal(number, answer) for number in (signal.SIGINT, signal.SIGTERM)}
    yield heard
    for number, old in before.items():
        signal.signal(number, old)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_comes_at_the_end(heard: list[int], number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt):
        _interrupt([number], heard)
    assert heard == [0, number]


def test_second_comes_at_once(heard: list[int]) -> None:
    with pytest.raises(KeyboardInterrupt):
        _interrupt([signal.SIGINT, signal.SIGTERM], heard)
    assert heard == [signal.SIGTERM]


def _interrupt(numbers: list[signal.Signals], heard: list[int]) -> None:
    with put_off_interrupts():
        for number in numbers:
            signal.raise_signal(number)
        heard.append(0)


def test_answers_are_those_of_before_whatever_the_block_does(heard: list[int]) -> None:
    with put_off_interrupts():
        signal.signal(signal.SIGTERM, lambda *_: heard.append(-1))
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    assert heard == [signal.SIGTERM]
    with pytest.raises(ZeroDivisionError), put_off_interrupts():
        raise ZeroDivisionError
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_signal_that_is_ignored_stays_so(heard: list[int]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with put_off_interrupts():
        signal.raise_signal(signal.SIGINT)
    assert (signal.getsignal(signal.SIGINT), heard) == (signal.SIG_IGN, [])


def test_other_threads_are_left_alone(heard: list[int]) -> None:
    answer = signal.getsignal(signal.SIGINT)

    def work() -> None:
        with put_off_interrupts():
            heard.append(int(signal.getsignal(signal.SIGINT) is answer))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert heard == [1]
