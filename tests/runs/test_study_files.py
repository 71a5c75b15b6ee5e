"""Studies of YAML files: factors with a reference, two sizes, and slips told with file, line and key."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gnz_track.datasets.catalogue import TASKS
from gnz_track.errors import BadValue, GnzError, UnknownName
from gnz_track.models.catalogue import MODELS, describe_all
from gnz_track.runs.study_files import SIZES, FactorStudy, find_study, list_studies, read_levels, read_study

Read = Callable[..., FactorStudy]
WHOLE = """\
tasks: [planted_partition]
models: [GCN, GAT]
seeds: 0-2
factors:
  lr: [0.01, 1e-3]
  dropout: {levels: [0.5, 0.0], reference: 0.0}
"""


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(text: str, size: str = "full") -> FactorStudy:
        file = tmp_path / "mine.yaml"
        file.write_text(text)
        return read_study(file, size=size)

    return read


def test_first_level_is_the_reference_unless_one_is_named(read: Read) -> None:
    study = read(WHOLE)
    levels = read_levels(study, describe_all(list(study.models)))
    assert levels == {"lr": (0.01, 0.001), "dropout": (0.0, 0.5)}
    assert (study.name, study.tasks, study.seeds, study.protocol) == (
        "mine",
        ("planted_partition",),
        (0, 1, 2),
        "graphnetz",
    )
    assert study.n_combinations == 4


def test_a_size_says_what_is_otherwise(read: Read) -> None:
    text = WHOLE + "settings: {hidden_channels: 16}\ntiny:\n  seeds: [4]\n  epochs: 2\n  factors: {lr: [0.1, 0.2]}\n"
    tiny = read(f"{text}  settings: {{hidden_channels: 4}}\n", "tiny")
    assert (tiny.seeds, tiny.epochs, tiny.models) == ((4,), 2, ("GCN", "GAT"))
    assert [(one.name, one.values) for one in tiny.factors] == [("lr", (0.1, 0.2)), ("dropout", (0.0, 0.5))]
    assert [one.values for one in tiny.settings] == [(4,)]
    assert [one.values for one in read(text).settings] == [(16,)]
    with pytest.raises(BadValue, match=r"mine.yaml: tiny is None; allowed: a mapping of what is otherwise"):
        read(WHOLE, "tiny")
    with pytest.raises(UnknownName, match="size of a study 'huge'"):
        read(text, "huge")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("models:", "model:"), r"unknown key of a study \(mine.yaml, line 2\) 'model'; did you mean 'models'"),
        (("0-2", "many"), r"mine.yaml, line 3: seeds is 'many'; allowed: seeds such as 0-4"),
        (("[GCN, GAT]", "[]"), r"mine.yaml, line 2: models is \[\]; allowed: a list of models"),
        (("[0.01, 1e-3]", "[0.01]"), r"mine.yaml, line 5: factors.lr is \[0.01\]; allowed: at least two levels"),
        (("[0.01, 1e-3]", "[0.01, fast]"), r"mine.yaml, line 5: lr is 'fast'; allowed: a number above 0"),
        (("[0.01, 1e-3]", "[0.01, 1e-2]"), r"mine.yaml, line 5: lr is '0.01, 0.01'; allowed: each value once"),
        (("lr:", "epochs:"), r"mine.yaml, line 5: epochs"),
        (("lr:", "GAT.lr:"), r"mine.yaml, line 5: factors.GAT.lr is 'GAT.lr'; allowed: the name of a setting"),
        (
            ("reference: 0.0", "reference: 1"),
            r"line 6: factors.dropout.reference is 1; allowed: one of the levels: 0.5",
        ),
        (("reference:", "against:"), r"key of a study \(mine.yaml, line 6\) 'against'"),
        (("factors:", "tiny: {factors: {wd: [1, 2]}}\nfactors:"), r"factor of the study \(mine.yaml, line 4\) 'wd'"),
        (
            ("factors:", "settings: {lr: 1}\nfactors:"),
            r"line 4: settings.lr is 1; allowed: a setting that is no factor",
        ),
        (("seeds:", "name: ../up\nseeds:"), r"mine.yaml, line 3: name is '../up'; allowed: a word of letters"),
        (("seeds: 0-2", ""), r"mine.yaml: seeds is None"),
        (("lr: [", "lr: {{["), r"the file of a study is .*mine.yaml'; allowed: YAML"),
    ],
)
def test_slips_are_told_with_line_and_key(read: Read, change: tuple[str, str], said: str) -> None:
    with pytest.raises(GnzError, match=said):
        read(WHOLE.replace(*change))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("layers", r"setting of the study \(mine.yaml, line 5\) 'layers'; did you mean 'n_layers'"),
        ("dropuot", r"setting of the study \(mine.yaml, line 5\) 'dropuot'; did you mean 'dropout'"),
    ],
)
def test_names_that_no_model_has_are_told_with_the_line(read: Read, name: str, said: str) -> None:
    study = read(WHOLE.replace("lr: [0.01, 1e-3]", f"{name}: [1, 2]"))
    with pytest.raises(UnknownName, match=said):
        read_levels(study, describe_all(list(study.models)))


@pytest.mark.parametrize("name", list_studies())
@pytest.mark.parametrize("size", SIZES)
def test_shipped_studies_name_what_there_is(name: str, size: str) -> None:
    study = find_study(name, size=size)
    assert (study.name, bool(study.description)) == (name, True)
    assert set(study.tasks) <= set(TASKS.names())
    assert set(study.models) <= set(MODELS.names())
    levels = read_levels(study, describe_all(list(study.models)))
    assert all(len(found) > 1 for found in levels.values())


def test_a_name_of_nothing_is_answered_with_near_ones() -> None:
    with pytest.raises(UnknownName, match="did you mean 'training-size'"):
        find_study("traning-size")
    with pytest.raises(BadValue, match="a YAML file that exists"):
        find_study("none.yaml")
