"""Files of cells as bytes: what is written is read again, equal things give equal bytes, and nothing else is read."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gnz_track.errors import BadValue
from gnz_track.store.cell_files import parquet_bytes
from gnz_track.store.cell_files.configuration import decode_configuration, encode_configuration
from gnz_track.store.cell_files.predictions import PartPredictions, decode_predictions, encode_predictions
from gnz_track.store.cell_files.series import decode_series, encode_series
from gnz_track.store.cell_files.splits import decode_split, encode_split
from gnz_track.types import Optimiser, Selection

DRAW = np.random.default_rng(0)


def part(name: str = "test", n: int = 6, **changed: object) -> PartPredictions:
    made = PartPredictions(
        part=name,
        kind="node",
        numbers={"id": np.arange(n)[::-1].copy()},
        targets=np.arange(n) % 3,
        outputs=DRAW.standard_normal((n, 3)).astype(np.float32),
    )
    return replace(made, **changed)  # type: ignore[arg-type]


def assert_equal(one: PartPredictions, other: PartPredictions) -> None:
    assert (one.part, one.kind, one.numbers.keys()) == (other.part, other.kind, other.numbers.keys())
    pairs = [(one.targets, other.targets), (one.outputs, other.outputs)]
    pairs += [(one.numbers[name], other.numbers[name]) for name in one.numbers]
    for first, second in pairs:
        assert first.dtype == second.dtype
        np.testing.assert_array_equal(first, second)


def test_predictions_come_back_to_the_bit() -> None:
    odd = np.array([[np.nan, np.inf, -0.0]] * 6, dtype=np.float32)
    parts = [part("val", outputs=odd), part("test", n=9)]
    found = decode_predictions(encode_predictions(parts))
    for one, other in zip(parts, found, strict=True):
        assert_equal(one, other)


def test_kinds_of_one_part_may_have_other_widths() -> None:
    numbers = DRAW.standard_normal((4, 1)).astype(np.float32)
    nodes = part(targets=DRAW.standard_normal((6, 3)).astype(np.float32))
    graphs = part(kind="graph", n=4, targets=numbers, outputs=2 * numbers)
    found = decode_predictions(encode_predictions([nodes, graphs]))
    assert_equal(nodes, found[0])
    assert_equal(graphs, found[1])


def test_ranks_are_missing_where_one_part_has_none() -> None:
    ranks = {"rank_of_tail": np.array([1.5, np.nan])}
    ends = {name: np.arange(2) for name in ("id", "head", "relation", "tail")}
    about = {"kind": "triple", "n": 2, "targets": np.array([1, 0]), "numbers": ends}
    validation, test = decode_predictions(encode_predictions([part("val", **about), part(**about, ranks=ranks)]))
    assert np.isnan(validation.ranks["rank_of_tail"]).all()
    np.testing.assert_array_equal(test.ranks["rank_of_tail"], ranks["rank_of_tail"])


def test_one_part_and_its_outputs_can_be_read_alone() -> None:
    content = encode_predictions([part("val"), one := part("test", n=9)])
    [found] = decode_predictions(content, parts=("test",), columns=("id",))
    np.testing.assert_array_equal(found.outputs, one.outputs)
    assert (list(found.numbers), len(found.targets)) == (["id"], 0)


def test_equal_things_give_equal_bytes() -> None:
    one = part()
    assert encode_predictions([one]) == encode_predictions([replace(one, outputs=one.outputs.copy())])
    series = {"b": (1.0, 2.0), "a": (3.0,)}
    assert encode_series(series) == encode_series(dict(sorted(series.items())))
    assert encode_configuration({"b": 1, "a": 2}) == encode_configuration({"a": 2, "b": 1})


def test_cut_and_changed_files_are_errors_of_ours() -> None:
    content = encode_predictions([part(n=200)])
    # Each byte that can make a difference to the reader: the ends, and some between.
    for cut in (content[:-1], content[: len(content) // 2], content[100:], b"", b"PAR1"):
        with pytest.raises(BadValue, match=r"predictions\.parquet"):
            decode_predictions(cut)


@pytest.mark.parametrize("place", range(0, 400, 7))
def test_a_changed_byte_raises_nothing_but_errors_of_ours(place: int) -> None:
    content = bytearray(encode_predictions([part("val"), part("test", n=50)]))
    content[-1 - place % len(content)] ^= 0x55
    try:
        decode_predictions(bytes(content))
    except BadValue:
        return


def test_words_that_are_no_text_are_refused() -> None:
    content = encode_predictions([part()])
    for place in (b"outputs", b"node"):
        with pytest.raises(BadValue, match=r"predictions\.parquet"):
            decode_predictions(content.replace(place, b"\xfc" + place[1:]))
    series = encode_series({"loss of a name": (1.0,)})
    with pytest.raises(BadValue, match=r"curves\.parquet"):
        decode_series(series.replace(b"series", b"\xfceries"))


def test_strange_columns_are_refused() -> None:
    def file(**columns: object) -> bytes:
        output = pa.BufferOutputStream()
        pq.write_table(pa.table(columns), output)
        return bytes(output.getvalue().to_pybytes())

    with pytest.raises(BadValue, match="'code'"):
        decode_predictions(file(code=pa.array(["import os"])))
    with pytest.raises(BadValue, match="'outputs'"):
        decode_predictions(file(outputs=pa.array([[1.0]], pa.list_(pa.float32()))))
    with pytest.raises(BadValue, match="value"):
        decode_series(file(series=pa.array(["a"]), epoch=pa.array([0]), value=pa.array(["1"])))
    with pytest.raises(BadValue, match=r"curves\.parquet"):
        decode_series(file(series=pa.array(["a"])))


def test_missing_values_and_columns_that_are_there_twice_are_refused() -> None:
    table = _table(part())
    fields = [field.with_nullable(field.name in {"id", "target"}) for field in table.schema]
    for name in ("id", "target"):
        holes = pa.array([None, *range(5)], pa.int64())
        place = table.schema.get_field_index(name)
        strange = table.cast(pa.schema(fields)).set_column(place, pa.field(name, pa.int64()), holes)
        with pytest.raises(BadValue, match=f"'.*{name}.*'"):
            decode_predictions(parquet_bytes.write_groups([strange], words=("part", "kind")))
    twice = table.append_column(table.schema.field("id"), table["id"])
    with pytest.raises(BadValue, match="'id, id'"):
        decode_predictions(parquet_bytes.write_groups([twice], words=("part", "kind")))


def test_few_rows_of_many_values_are_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_bytes, "MOST_VALUES", 2**20)
    content = encode_predictions([part(n=1, outputs=np.zeros((1, 2**20), dtype=np.float32))])
    assert len(content) < 2**13, "a small file"
    with pytest.raises(BadValue, match=r"at most .* values"):
        decode_predictions(content)


def test_huge_tables_are_refused_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_bytes, "MOST_ROWS", 5)
    with pytest.raises(BadValue, match="at most 5 rows"):
        decode_predictions(encode_predictions([part(n=6)]))


def test_rows_of_several_widths_are_refused() -> None:
    one = part(n=2, outputs=np.zeros((2, 1), dtype=np.float32))
    groups = [pa.concat_tables([a, b]) for a, b in [(_table(one), _table(part(n=2)))]]
    with pytest.raises(BadValue, match="several widths"):
        decode_predictions(parquet_bytes.write_groups(groups, words=("part", "kind")))


def _table(one: PartPredictions) -> pa.Table:
    return pq.read_table(pa.BufferReader(encode_predictions([one])))


def test_series_come_back_with_what_is_no_number() -> None:
    series = {"train/loss": (0.1, math.inf, 1 / 3), "val/accuracy": (0.5,)}
    assert decode_series(encode_series(series)) == series
    found = decode_series(encode_series({"train/loss": (math.nan,)}))
    assert math.isnan(found["train/loss"][0])
    assert decode_series(encode_series({})) == {}


def test_split_comes_back_by_part() -> None:
    split = {
        part: {"id": np.arange(n), "label": np.arange(n) % 2} for part, n in (("train", 5), ("val", 2), ("test", 3))
    }
    found = decode_split(encode_split(split))
    assert list(found) == list(split)
    for part, numbers in split.items():
        for name, values in numbers.items():
            np.testing.assert_array_equal(found[part][name], values)
    with pytest.raises(BadValue, match=r"split\.parquet"):
        decode_split(encode_split(split)[:-1])
    with pytest.raises(BadValue, match="series"):
        decode_split(encode_series({"a": (1.0,)}))


def test_settings_are_written_with_their_defaults_and_without_places_in_memory() -> None:
    content = encode_configuration(
        {"optimiser": Optimiser(lr=0.1), "selection": Selection.last_epoch, "norm": object(), "loss": math.sqrt}
    )
    found = decode_configuration(content)
    assert found["optimiser"]["schedule"] == "constant"
    assert (found["selection"], found["norm"], found["loss"]) == ("last_epoch", "builtins:object", "math:sqrt")
    for strange in (b"[]", b"{", b"\xff", b"[" * 100_000):
        with pytest.raises(BadValue, match=r"config\.json"):
            decode_configuration(strange)


def test_settings_of_any_kind_are_written() -> None:
    class Shy:
        def __getattr__(self, name: str) -> object:
            raise RuntimeError(name)

    loop: list[object] = [1]
    loop.append(loop)
    content = encode_configuration(
        {"sizes": {1: 2, "a": 3, None: 4, (0, 1): 5}, "loop": loop, "shy": Shy(), "set": {"b", 1}, "same": [(), ()]}
    )
    found = decode_configuration(content)
    assert found["sizes"] == {"1": 2, "a": 3, "null": 4, "[0, 1]": 5}
    assert (found["loop"], found["set"], found["same"]) == ([1, "..."], [1, "b"], [[], []])
    assert found["shy"].endswith("Shy")
