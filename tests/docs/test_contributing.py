"""What CONTRIBUTING.md says of adding things is true: they are added to a copy of the package, there and only there."""

from __future__ import annotations

import ast
import csv
import os
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from gnz_track.types import Category

# A file of the package, and behind a colon the table in it.
PLACE = re.compile(r"`(gnz_track/[\w/<>.]+?\.py)(?::(\w+))?`")
ROW = re.compile(r"^\| ([^|]+?) \| (.+) \|$", re.MULTILINE)
NAMES = {"<category>": "social"}


@dataclass(frozen=True, kw_only=True)
class Addition:
    """What is written at one place: a row of its table, or else at the end of its file, which may be new.

    ``needs`` comes with it, behind the imports of the file: another import, or a function that the row names.
    """

    text: str
    needs: str = ""


# Kind -> name of the new file, and what is added at each place of its line in the table, in the order of the places.
ADDITIONS: dict[str, tuple[str, tuple[Addition, ...]]] = {
    "dataset": (
        "cliques",
        (
            Addition(
                text='''
                """Cliques in a ring."""

                import torch
                from torch_geometric.data import Data


                def cliques(*, n: int, size: int) -> Data:
                    """Return cliques that are joined to a ring; which half of the ring a node is in is its class."""
                    pairs = [(a, b) for a in range(size) for b in range(a)]
                    own = torch.tensor([(c * size + a, c * size + b) for c in range(n) for a, b in pairs])
                    ring = torch.tensor([(c * size, (c + 1) % n * size + 1) for c in range(n)])
                    edges = torch.cat([own, ring]).t()
                    y = (torch.arange(n * size) >= n * size // 2).long()
                    x = torch.stack([y + torch.sin(torch.arange(n * size) * 7.0), torch.ones(n * size)], dim=1)
                    part = torch.arange(n * size) % 4
                    return Data(
                        x=x,
                        y=y,
                        edge_index=torch.cat([edges, edges.flip(0)], dim=1),
                        train_mask=part < 2,
                        val_mask=part == 2,
                        test_mask=part == 3,
                    )
                '''
            ),
            Addition(
                text="""
                DatasetRow(
                    name="cliques",
                    category=Category.social,
                    task_types=(TaskType.node_cls,),
                    loader="{module}:cliques",
                    options={"n": 12, "size": 5},
                    source="generated: twelve cliques of five nodes in a ring",
                    licence="Apache-2.0",
                    citation="Watts: Small worlds, 1999",
                    expected={"n_graphs": 1, "n_nodes": 60, "n_features": 2, "n_classes": 2},
                ),
                """
            ),
            Addition(text='Task("cliques", TaskType.node_cls, epochs=5, metric="kappa", category=Category.social),'),
        ),
    ),
    "model": (
        "tagcn",
        (
            Addition(
                text='''
                """Powers of the adjacency, each with weights of its own."""

                from torch import Tensor, nn
                from torch_geometric.data import Data
                from torch_geometric.nn import TAGConv


                class TAGCN(nn.Module):
                    """Topology-adaptive convolution (Du et al., 2018)."""

                    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
                        super().__init__()
                        self.layer = TAGConv(in_channels, out_channels, K=2)

                    def forward(self, data: Data) -> Tensor:
                        """Return a code for each node."""
                        return self.layer(data.x, data.edge_index)
                '''
            ),
            Addition(
                text='BuiltIn("TAGCN", "tagcn", _ALL, "powers of the adjacency (Du et al., 2018)", is_encoder=True),'
            ),
        ),
    ),
    "metric": (
        "",
        (
            Addition(
                text="""
                MetricRow(
                    name="kappa",
                    direction=Direction.up,
                    low=-1.0,
                    high=1.0,
                    description="agreement beyond that of chance",
                    function=kappa,
                    takes="decisions",
                    asked=("classes", "two classes"),
                ),
                """,
                needs='''

                def kappa(truth: Array, prediction: Array) -> float:
                    """Return Cohen's kappa: agreement beyond that of chance."""
                    by_chance = sum(np.mean(truth == c) * np.mean(prediction == c) for c in np.unique(truth))
                    return float((np.mean(truth == prediction) - by_chance) / (1 - by_chance))
                ''',
            ),
        ),
    ),
    "protocol": (
        "",
        (
            Addition(
                text="""
                PROTOCOLS.add(
                    "hasty",
                    Protocol(
                        name="hasty",
                        version=1,
                        optimisers={TaskType.node_cls: Optimiser(lr=0.05)},
                        selection=Selection.last_epoch,
                        description="large steps, scored at the last epoch",
                    ),
                )
                """
            ),
        ),
    ),
    "statistic, such as a test of pairs": (
        "sign_count",
        (
            Addition(
                text='''
                """The sign test: how often is one model ahead (Arbuthnott, 1710)."""

                from scipy.stats import binomtest

                from gnz_track.stats.significance.paired import Outcome, PairedTest


                def sign_test(pair) -> PairedTest:
                    """Test whether either model is ahead on half of the seeds."""
                    ahead, n = sum(d > 0 for d in pair.quantised), sum(d != 0 for d in pair.quantised)
                    return PairedTest(
                        test="sign test",
                        outcome=Outcome.run,
                        p=float(binomtest(ahead, n).pvalue) if n else 1.0,
                        statistic=float(ahead),
                        n_pairs=pair.n_pairs,
                        n_effective=n,
                    )
                '''
            ),
            Addition(text='"sign": "sign test",'),
            Addition(
                text='"sign": lambda planned, choices: tuple(sign_test(pair.joined) for pair in planned),',
                needs="from {module} import sign_test",
            ),
            Addition(text='"sign",'),
            Addition(text='"sign": ("sign tests", ""),'),
        ),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """A file of the package, from the root of the project on, and the table in it, if one is named."""

    path: str
    table: str

    def in_file_named(self, name: str) -> Place:
        """Return the place with the words that stand for something filled in."""
        words = NAMES | {"<name>": name}
        return Place(path=re.sub(r"<\w+>", lambda found: words[found[0]], self.path), table=self.table)


@pytest.fixture(scope="module")
def places(root: Path) -> dict[str, list[Place]]:
    """Return kind -> the places that CONTRIBUTING.md names in its line."""
    text = (root / "CONTRIBUTING.md").read_text("utf-8")
    return {
        kind: [Place(path=path, table=table) for path, table in PLACE.findall(line)] for kind, line in ROW.findall(text)
    }


@pytest.fixture(scope="module")
def extended(root: Path, places: dict[str, list[Place]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package to which one of each kind was added, as the table says."""
    folder = tmp_path_factory.mktemp("extended")
    shutil.copytree(root / "gnz_track", folder / "gnz_track", ignore=shutil.ignore_patterns("__pycache__"))
    for kind, (name, additions) in ADDITIONS.items():
        found = [place.in_file_named(name) for place in places[kind]]
        for place, addition in zip(found, additions, strict=True):
            add(folder / place.path, place.table, addition, module=found[0].path.removesuffix(".py").replace("/", "."))
    return folder


def add(file: Path, table: str, addition: Addition, *, module: str) -> None:
    """Write an addition as the last row of a table, or at the end of a file; ``module`` is the new file."""
    text, needs = (
        textwrap.dedent(part).replace("{module}", module).strip("\n") for part in (addition.text, addition.needs)
    )
    old = file.read_text("utf-8") if file.exists() else ""
    new = insert_row(old, table, text) if table else f"{old}\n\n{text}\n"
    file.write_text(insert_import(new, needs), "utf-8")


def insert_row(source: str, table: str, row: str) -> str:
    """Return a module with a row more at the end of one of its tables: a tuple, a list, a set or a dictionary."""
    value = find_table(source, table)
    lines = source.splitlines(keepends=True)
    # Columns count bytes.
    last = lines[value.end_lineno - 1].encode()
    before, bracket = last[: value.end_col_offset - 1].decode(), last[value.end_col_offset - 1 :].decode()
    head = "".join(lines[: value.end_lineno - 1]) + before
    comma = "" if head.rstrip().endswith((",", "(", "[", "{")) else ","
    return f"{head.rstrip()}{comma}\n{textwrap.indent(row, '    ')}\n{bracket}" + "".join(lines[value.end_lineno :])


def find_table(source: str, table: str) -> ast.expr:
    """Return what a name at the top of a module is set to."""
    for node in ast.parse(source).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(one, ast.Name) and one.id == table for one in targets):
            # A set may be wrapped: frozenset({...}).
            return node.value.args[0] if isinstance(node.value, ast.Call) else node.value
    message = f"there is no table {table}"
    raise LookupError(message)


def insert_import(source: str, needs: str) -> str:
    """Return a module with an import more, or a function, behind the last import of its own."""
    if not needs:
        return source
    ends = [node.end_lineno for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = source.splitlines(keepends=True)
    return "".join([*lines[: ends[-1]], f"{needs}\n", *lines[ends[-1] :]])


def run(folder: Path, *command: str) -> str:
    """Return what a process of its own prints, with the package of a folder."""
    environment = os.environ | {"PYTHONPATH": str(folder), "XDG_DATA_HOME": str(folder / "data")}
    called = [sys.executable, *command]
    done = subprocess.run(called, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_place_of_the_table_exists(places: dict[str, list[Place]], root: Path) -> None:
    named = [place for found in places.values() for place in found if "<" not in place.path]
    assert len(named) > 5
    for place in named:
        assert (root / place.path).is_file(), place
        assert not place.table or find_table((root / place.path).read_text("utf-8"), place.table), place


def test_every_category_has_the_tables_that_its_rows_go_to(places: dict[str, list[Place]], root: Path) -> None:
    general = [place for place in places["dataset"] if "<category>" in place.path]
    assert len(general) == 2
    for category in set(Category) - {Category.custom}:
        for place in general:
            file = root / place.path.replace("<category>", category)
            assert find_table(file.read_text("utf-8"), place.table), category


def test_every_kind_that_is_added_stands_in_the_table(places: dict[str, list[Place]]) -> None:
    for kind, (_, additions) in ADDITIONS.items():
        assert len(places[kind]) == len(additions), f"{kind}: {places[kind]}"


def test_what_was_added_is_known_by_name(extended: Path) -> None:
    code = "import gnz_track as g; print(g.TASKS.get('cliques').dataset, g.MODELS.get('TAGCN').name)"
    assert run(extended, "-c", f"{code}; print(g.PROTOCOLS.get('hasty').name)") == "cliques TAGCN\nhasty\n"


@pytest.mark.slow
def test_what_was_added_is_trained_scored_and_compared(extended: Path) -> None:
    store = ("--store", str(extended / "gnz.db"))
    what = ("--task", "cliques", "--models", "TAGCN,MLP", "--seeds", "0-2", "--protocol", "hasty")
    told = run(extended, "-m", "gnz_track", "run", *what, "--home", str(extended / "home"), *store)
    assert "kappa" in told
    told = run(extended, "-m", "gnz_track", "report", *store, "--test", "sign", "--out", str(extended / "page"))
    assert "sign test with holm" in told
    assert "so its verdicts are undetermined" in told, "an exact test of three pairs can reject nothing"
    page = (extended / "page" / "report.html").read_text("utf-8")
    assert "sign tests" in page
    assert "hasty@1" in page
    scores = {row["model"]: row for row in read_rows(extended / "page" / "tables" / "scores.csv")}
    assert {row["metric"] for row in scores.values()} == {"kappa"}
    first, second = ([float(score) for score in scores[model]["scores"].split()] for model in ("MLP", "TAGCN"))
    n_ahead = sum(a > b for a, b in zip(first, second, strict=True))
    # Of eight patterns of three signs, two have all of them alike.
    (pair,) = read_rows(extended / "page" / "tables" / "pairs.csv")
    assert float(pair["p"]) == pytest.approx(0.25 if n_ahead in {0, 3} else 1.0)


def read_rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


@pytest.mark.parametrize(
    ("source", "row", "expected"),
    [
        ("A = ()\n", "1,", (1,)),
        ("A = (\n    1,\n)\nB = 2\n", "3,", (1, 3)),
        ("A: tuple = (1, 2)\n", "3,", (1, 2, 3)),
        ("A = frozenset({1, 2})\n", "3,", {1, 2, 3}),
        ("B = 'é'; A = {'é': 1}\n", "'b': 2,", {"é": 1, "b": 2}),
    ],
)
def test_row_is_the_last_of_its_table(source: str, row: str, expected: object) -> None:
    assert ast.literal_eval(find_table(insert_row(source, "A", row), "A")) == expected
