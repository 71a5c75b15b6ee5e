from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.errors import BadSeeds, BadValue
from gnz_track.seeds import LARGEST_SEED, derive, format_seeds, parse_seeds, seed_everything

seeds = st.integers(0, LARGEST_SEED)
names = st.one_of(st.text(max_size=8), st.integers())


@given(st.lists(seeds | st.integers(0, 30), min_size=1, unique=True))
def test_seeds_are_read_as_they_were_written(wanted: list[int]) -> None:
    assert parse_seeds(format_seeds(wanted)) == tuple(wanted)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0-3", (0, 1, 2, 3)),
        ("3", (3,)),
        ("0,1,5", (0, 1, 5)),
        ("0-1,10", (0, 1, 10)),
        (" 2 , 0", (2, 0)),
        ("4-4", (4,)),
        (str(LARGEST_SEED), (LARGEST_SEED,)),
    ],
)
def test_seeds_are_read(text: str, expected: tuple[int, ...]) -> None:
    assert parse_seeds(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "3-1",
        "-1",
        "1,1",
        "0-9999999999",
        "1-",
        "0-2,1",
        "1,,2",
        "1.5",
        "0--2",
        str(LARGEST_SEED + 1),
    ],
)
def test_bad_seeds_are_refused(text: str) -> None:
    with pytest.raises(BadSeeds) as caught:
        parse_seeds(text)
    assert repr(text) in str(caught.value)


def test_range_that_is_too_long_is_told_apart_from_one_that_does_not_read() -> None:
    assert len(parse_seeds("5-100004")) == 100_000
    with pytest.raises(BadValue, match=r"'5-100005' is 100001; allowed: at most 100000\. Try: --seeds 0-4"):
        parse_seeds("0, 5-100005")


def test_seeds_are_written_in_the_shortest_form() -> None:
    assert format_seeds([0, 1, 2, 7, 3, 4]) == "0-2,7,3-4"
    assert format_seeds([]) == ""


def test_derived_seeds_stay_what_they_are() -> None:
    # The first 16 digits that sha256sum prints for "1:0" and "1:05:split4:cora", halved.
    assert derive(0) == 5995469358269906430
    assert derive(0, "split", "cora") == 485648097484090586


@given(seeds, st.lists(names, max_size=4))
def test_derived_seed_fits_every_generator(base: int, parts: list[object]) -> None:
    found = derive(base, *parts)
    assert 0 <= found < 2**63
    torch.Generator().manual_seed(found)
    np.random.default_rng(found)


@given(seeds, st.lists(names, max_size=4), st.integers(0, 1000))
def test_derived_seed_does_not_depend_on_global_state(base: int, parts: list[object], state: int) -> None:
    seed_everything(state)
    before = torch.random.get_rng_state(), random.getstate()
    first = derive(base, *parts)
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    seed_everything(state + 1)
    assert derive(base, *parts) == first


@given(seeds, st.lists(names, min_size=2, max_size=4, unique_by=str))
def test_derived_seed_depends_on_the_order_of_names(base: int, parts: list[object]) -> None:
    assert derive(base, *parts) != derive(base, *reversed(parts))


@given(seeds, st.text(min_size=1, max_size=8), st.integers(0, 8))
def test_derived_seed_depends_on_where_a_name_ends(base: int, text: str, where: int) -> None:
    cut = min(where, len(text) - 1)
    assert derive(base, text) != derive(base, text[:cut], text[cut:])


@given(st.lists(seeds, min_size=2, max_size=2, unique=True))
def test_derived_seed_depends_on_the_base(bases: list[int]) -> None:
    assert derive(bases[0], "split") != derive(bases[1], "split")


def draws() -> tuple[float, ...]:
    return (
        random.random(),
        float(np.random.random()),  # noqa: NPY002 (the global generator is what is reset)
        float(torch.rand(1)),
    )


@pytest.mark.parametrize("seed", [0, 7, 2**31 - 1, 2**40 + 1, 2**63 - 1])
def test_same_seed_gives_the_same_draws(seed: int) -> None:
    seed_everything(seed)
    first = draws()
    assert all(one != other for one, other in zip(first, draws(), strict=True))
    seed_everything(seed)
    assert draws() == first
    seed_everything(seed ^ 1)
    assert all(one != other for one, other in zip(first, draws(), strict=True))
