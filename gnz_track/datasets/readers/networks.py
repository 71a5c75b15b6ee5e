"""Single networks: routes, contacts, crimes, payments, ratings, proteins and goods as published, and any in GML."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.readers.raw_files import both_ways, count_edges, distinct, rank, read_lines, renumber

__all__ = [
    "read_air_routes",
    "read_airports",
    "read_contacts",
    "read_crime_roles",
    "read_edge_list",
    "read_elliptic",
    "read_gml",
    "read_movielens",
    "read_netzschleuder",
    "read_ppi",
    "read_product_space",
]

_AIRPORT = re.compile(r"\((a\d+):airport \{(.*)\}\)")
_ROUTE = re.compile(r"\((a\d+)\)-\[:route \{[^{}]*\}\]->\((a\d+)\)")
# Texts are taken whole, so that nothing inside of a name is read as a property.
_PROPERTY = re.compile(r"(\w+):\s*(?:'((?:[^'\\]|\\.)*)'|(-?[\d.]+))")
_TOKEN = re.compile(r'"(?P<text>[^"]*)"|(?P<mark>[\[\]])|(?P<word>[^\s\[\]"]+)')
_AIRPORT_MEASURES = {"runways": 1.0, "longest": 10_000.0, "elev": 5_000.0}
_ELLIPTIC_CLASSES = {"1": 1, "2": 0}
_UNLABELLED = -1
_LATIN = "ISO-8859-1"
_FIRST_GENRE, _LAST_GENRE = 6, 23
_LINES_AT_ONCE = 1_000_000


def read_air_routes(folder: Path, *, file: str) -> Data:
    """Read which airports are connected, in either direction: x ``[n, 3]``, y ``[n]`` the continent by name.

    x are the number of runways, the longest in 10,000 feet, the elevation in 5,000 feet. Latitude and longitude are
    left out: they would tell the continent. Airports are numbered by their number in the file.
    """
    text = (folder / file).read_text(encoding="utf-8")
    airports = {name: _parse_properties(content) for name, content in _AIRPORT.findall(text)}
    place = {name: at for at, name in enumerate(sorted(airports, key=lambda name: int(name[1:])))}
    continents = rank(airport["continent"] for airport in airports.values())
    edges, _ = count_edges((place[one], place[other]) for one, other in _ROUTE.findall(text))
    x = [[float(airports[name][key]) / unit for key, unit in _AIRPORT_MEASURES.items()] for name in place]
    return Data(
        x=torch.tensor(x, dtype=torch.float32).reshape(-1, len(_AIRPORT_MEASURES)),
        edge_index=edges,
        y=torch.tensor([continents[airports[name]["continent"]] for name in place]),
    )


def read_airports(folder: Path, *, prefix: str) -> Data:
    """Read y ``[n]``, the quartile of activity, edges ``[2, m]`` and x, the identity ``[n, n]``.

    Ribeiro, Saverese, Figueiredo: struc2vec: Learning Node Representations from Structural Identity, KDD 2017.
    """
    labels = np.loadtxt(folder / f"labels-{prefix}-airports.txt", dtype=np.int64, skiprows=1, ndmin=2)
    number = {int(airport): place for place, airport in enumerate(labels[:, 0])}
    flights = np.loadtxt(folder / f"{prefix}-airports.edgelist", dtype=np.int64, ndmin=2)
    edges = torch.tensor([[number[int(end)] for end in flight[:2]] for flight in flights]).t()
    y = torch.from_numpy(labels[:, 1].copy())
    return Data(x=torch.eye(y.numel()), y=y, edge_index=distinct(edges, y.numel()))


def read_contacts(folder: Path, *, file: str) -> Data:
    """Read who met whom: x ``[n, n]`` the identity, y ``[n]`` the group, edge_attr ``[m, 1]`` the number of contacts.

    A line is one contact of one interval. People are numbered by their number in the file, groups by name.
    """
    group_of: dict[int, str] = {}
    met: list[tuple[int, int]] = []
    for line in read_lines(folder / file):
        _, one, other, *groups = line.split()
        met.append((int(one), int(other)))
        for person, group in zip(met[-1], groups, strict=True):
            if group_of.setdefault(person, group) != group:
                message = f"person {person} is in the groups {group_of[person]} and {group}"
                raise ValueError(message)
    place, kinds = rank(group_of), rank(group_of.values())
    edges, counts = count_edges((place[one], place[other]) for one, other in met)
    return Data(
        x=torch.eye(len(place)),
        edge_index=edges,
        edge_attr=counts.float().unsqueeze(1),
        y=torch.tensor([kinds[group_of[person]] for person in place]),
    )


def read_crime_roles(folder: Path, *, edges: str, roles: str, sexes: str, labelled: Sequence[str]) -> Data:
    """Read the roles of people in crimes: nodes are people, then crimes; ``edge_label`` is the number of a role.

    x ``[n, 3]``: is a person, is a crime, the person's sex as the file has it (0 or 1). Names are not read.

    Parameters
    ----------
    folder
    edges, roles, sexes
        Names of files.
    labelled
        Roles in the order of their numbers; edges with any other pass messages and have no label.
    """
    pairs = [
        [int(word) for word in line.split()[:2]] for line in read_lines(folder / edges) if not line.startswith("%")
    ]
    role_of = [line.strip() for line in read_lines(folder / roles)]
    sex = torch.tensor([float(line) for line in read_lines(folder / sexes)])
    if len(pairs) != len(role_of) or max(person for person, _ in pairs) > len(sex):
        message = f"{len(pairs)} edges, {len(role_of)} roles and {len(sex)} people do not belong together"
        raise ValueError(message)
    ends = torch.tensor(pairs).t() - 1
    ends[1] += len(sex)
    n_crimes = int(ends[1].max()) + 1 - len(sex)
    is_person = torch.cat([torch.ones(len(sex)), torch.zeros(n_crimes)])
    x = torch.stack([is_person, 1 - is_person, torch.cat([sex, torch.zeros(n_crimes)])], dim=1)
    kept = [at for at, role in enumerate(role_of) if role in labelled]
    return Data(
        x=x,
        edge_index=both_ways(ends, is_person.numel()),
        edge_label_index=ends[:, kept],
        edge_label=torch.tensor([labelled.index(role_of[at]) for at in kept]),
    )


def read_edge_list(folder: Path, *, file: str) -> Data:
    """Read edge_index ``[2, m]`` and num_nodes; ids may have gaps or start at 1, further columns are left out.

    Leskovec, Krevl: SNAP Datasets, 2014. A node without an edge cannot be told in this format.
    """
    with (folder / file).open(encoding="utf-8") as lines:
        ids = np.loadtxt(lines, dtype=np.int64, comments=["#", "%"], usecols=(0, 1), ndmin=2)
    if not ids.size:
        message = f"{file} has no edge"
        raise ValueError(message)
    numbers, n_nodes = renumber(ids)
    edges = torch.from_numpy(numbers.T.copy())
    return Data(edge_index=both_ways(edges, n_nodes), num_nodes=n_nodes)


def read_elliptic(folder: Path, *, validation_from: int, test_from: int) -> Data:
    """Read x ``[n, 165]``, y ``[n]`` of 1 (illicit), 0 (licit) and -1 (unlabelled), directed payments, masks by time.

    Weber et al.: Anti-Money Laundering in Bitcoin, 2019.

    Parameters
    ----------
    folder
    validation_from, test_from
        First time steps of these parts.
    """
    features = pd.read_csv(folder / "elliptic_txs_features.csv", header=None)
    classes = pd.read_csv(folder / "elliptic_txs_classes.csv", dtype=str).set_index("txId")["class"]
    payments = pd.read_csv(folder / "elliptic_txs_edgelist.csv")
    number = pd.Series(range(len(features)), index=features[0])
    ends = [number.loc[payments[column]].to_numpy().copy() for column in ("txId1", "txId2")]
    labels = classes.loc[features[0].astype(str)].map(_ELLIPTIC_CLASSES).fillna(_UNLABELLED).to_numpy()
    y = torch.from_numpy(labels.copy()).long()
    time = torch.from_numpy(features[1].to_numpy().copy())
    is_labelled = y != _UNLABELLED
    return Data(
        x=torch.from_numpy(features.iloc[:, 2:].to_numpy(dtype="float32").copy()),
        y=y,
        edge_index=torch.stack([torch.from_numpy(end) for end in ends]),
        train_mask=is_labelled & (time < validation_from),
        val_mask=is_labelled & (time >= validation_from) & (time < test_from),
        test_mask=is_labelled & (time >= test_from),
    )


def read_movielens(folder: Path) -> Data:
    """Read users, then films, as nodes of one bipartite graph; ratings both ways, ``rating [m]`` and ``time [m]``.

    x ``[n, 42]``: age, sex and occupation of users in the first 24 columns, genres of films in the other 18, zero
    elsewhere. Harper, Konstan: The MovieLens Datasets: History and Context, 2015.
    """
    users = pd.read_csv(folder / "u.user", sep="|", header=None, encoding=_LATIN)
    films = pd.read_csv(folder / "u.item", sep="|", header=None, encoding=_LATIN)
    parts = [pd.read_csv(folder / name, sep="\t", header=None) for name in ("u1.base", "u1.test")]
    ratings = pd.concat(parts, ignore_index=True)
    user = pd.Series(range(len(users)), index=users[0]).loc[ratings[0]].to_numpy()
    film = pd.Series(range(len(users), len(users) + len(films)), index=films[0]).loc[ratings[1]].to_numpy()
    one_way = torch.stack([torch.from_numpy(user.copy()), torch.from_numpy(film.copy())])
    rating, time = (torch.from_numpy(ratings[column].to_numpy().copy()).repeat(2) for column in (2, 3))
    genres = torch.from_numpy(films.loc[:, _FIRST_GENRE:_LAST_GENRE].to_numpy(dtype="float32").copy())
    x = torch.block_diag(_features_of_users(users), genres)
    return Data(x=x, edge_index=torch.cat([one_way, one_way.flip(0)], dim=1), rating=rating, time=time)


def read_netzschleuder(folder: Path, *, is_directed: bool = False, keep_parallel: bool = False) -> Data:
    """Read ``edges.csv`` and, for isolated nodes, ``nodes.csv``: edge_index ``[2, m]`` and num_nodes, no features.

    Undirected edges count both ways. Peixoto: The Netzschleuder network catalogue and repository, 2020.

    Parameters
    ----------
    folder, is_directed
    keep_parallel
        Keep parallel edges, which are merged else, and number the layers of a multiplex network as ``layer [m]``.
    """
    edges, layers = _read_edges(folder / "edges.csv")
    n_nodes = max(_count_nodes(folder / "nodes.csv"), int(edges.max()) + 1 if edges.numel() else 0)
    if not keep_parallel:
        merged = distinct(edges, n_nodes) if is_directed else both_ways(edges, n_nodes)
        return Data(edge_index=merged, num_nodes=n_nodes)
    if not is_directed:
        is_link = edges[0] != edges[1]
        edges = torch.cat([edges, edges[:, is_link].flip(0)], dim=1)
        layers = None if layers is None else torch.cat([layers, layers[is_link]])
    found = {"edge_index": edges} if layers is None else {"edge_index": edges, "layer": layers}
    return Data(**found, num_nodes=n_nodes)


def read_product_space(folder: Path, *, edges: str, products: str) -> Data:
    """Read the product space: x ``[n, n]`` the identity, y ``[n]`` the section of a product.

    Sections are numbered in the order of their number in the table, products likewise. The table's clusters and places
    are made from the edges, and are not read.

    Parameters
    ----------
    folder
    edges, products
        Names of files.
    """
    linked = [(int(row["source"]), int(row["target"])) for row in _read_table(folder / edges)]
    place = rank(product for pair in linked for product in pair)
    section_of = {int(row["product_id"]): int(row["top_parent_id"]) for row in _read_table(folder / products)}
    sections = rank(section_of[product] for product in place)
    edges, _ = count_edges((place[one], place[other]) for one, other in linked)
    return Data(
        x=torch.eye(len(place)),
        edge_index=edges,
        y=torch.tensor([sections[section_of[product]] for product in place]),
    )


def read_ppi(folder: Path, *, part: str, graph: int) -> Data:
    """Read one tissue: x ``[n, 50]``, y ``[n, 121]`` float32, links without self-loops.

    Zitnik, Leskovec: Predicting multicellular function through multi-layer tissue networks, 2017.

    Parameters
    ----------
    folder
    part, graph
        The tissue is number ``graph`` of its part.
    """
    tissue = np.load(folder / f"{part}_graph_id.npy", allow_pickle=False)
    is_chosen = torch.from_numpy(tissue == tissue.min() + graph)
    content = json.loads((folder / f"{part}_graph.json").read_text(encoding="utf-8"))
    edges = torch.tensor([[link["source"], link["target"]] for link in content["links"]]).t()
    edges = edges[:, is_chosen[edges].all(dim=0) & (edges[0] != edges[1])]
    edges = (is_chosen.cumsum(0) - 1)[edges]
    n_nodes = int(is_chosen.sum())
    x, y = (
        torch.from_numpy(np.load(folder / f"{part}_{name}.npy", allow_pickle=False)) for name in ("feats", "labels")
    )
    merged = distinct(edges, n_nodes) if content.get("directed") else both_ways(edges, n_nodes)
    return Data(x=x[is_chosen].float(), y=y[is_chosen].float(), edge_index=merged)


def _parse_properties(content: str) -> dict[str, str]:
    return {key: text or number for key, text, number in _PROPERTY.findall(content)}


def _features_of_users(users: pd.DataFrame) -> Tensor:
    age = users[[1]] / users[1].max()
    table = pd.concat([age, pd.get_dummies(users[2]), pd.get_dummies(users[3])], axis=1)
    return torch.from_numpy(table.to_numpy(dtype="float32").copy())


def _read_edges(path: Path) -> tuple[Tensor, Tensor | None]:
    """Return edges ``[2, m]`` and, where there is such a column, the number of each edge's layer ``[m]``."""
    names = _read_header(path)
    places = [names.index(name) for name in ("source", "target", *(["layer"] if "layer" in names else []))]
    pieces = pd.read_csv(
        path,
        names=range(len(names)),
        skiprows=_header_line(path),
        usecols=places,
        skipinitialspace=True,
        chunksize=_LINES_AT_ONCE,
    )
    ends: list[Any] = []
    layers: list[Any] = []
    for piece in pieces:
        ends.append(piece[places[:2]].to_numpy(dtype=np.int64))
        layers.extend([] if len(places) < 3 else [piece[places[2]].astype(str)])
    edges = torch.from_numpy(np.concatenate([np.empty((0, 2), np.int64), *ends]).T.copy())
    return edges, torch.from_numpy(pd.factorize(pd.concat(layers), sort=True)[0]) if layers else None


def _header_line(path: Path) -> int:
    """Count the lines up to and with the header, which may follow blank lines."""
    with path.open(encoding="utf-8") as file:
        return next((place for place, line in enumerate(file, start=1) if line.strip()), 0)


def _read_header(path: Path) -> list[str]:
    """Return the names of the columns; the header may start with ``#``."""
    with path.open(encoding="utf-8") as file:
        line = next((line for line in file if line.strip()), "")
    names = [name.strip() for name in line.strip().lstrip("#").split(",")]
    if not {"source", "target"} <= set(names):
        message = f"{path.name} starts with {line.strip()!r}, which names no source and target"
        raise ValueError(message)
    return names


def _count_nodes(path: Path) -> int:
    """Return one past the largest index of the nodes; 0 without the file."""
    if not path.exists():
        return 0
    with path.open(encoding="utf-8", newline="") as file:
        rows = (row for row in csv.reader(file, skipinitialspace=True) if row and not row[0].lstrip().startswith("#"))
        return max((int(row[0]) for row in rows if row[0].strip().isdecimal()), default=-1) + 1


def _read_table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def read_gml(folder: Path, *, file: str) -> Data:
    """Read edge_index ``[2, m]`` and num_nodes; nodes are numbered in the order of the file.

    The file says whether it is directed. Himsolt: GML, a portable graph file format, 1997.
    """
    text = re.sub(r"^\s*#.*$", "", (folder / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
    graph = _parse_section(_TOKEN.finditer(text)).get("graph", [{}])[0]
    if isinstance(graph, str):
        message = f"expected graph [ ... ], found graph {graph}"
        raise ValueError(message)  # noqa: TRY004
    nodes, links = graph.get("node", []), graph.get("edge", [])
    names = [_value_of(node, "id", f"node {place}") for place, node in enumerate(nodes, start=1)]
    numbers = {name: place for place, name in enumerate(dict.fromkeys(names))}
    if len(numbers) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        message = f"{Counter(names)[twice]} nodes have the id {twice}"
        raise ValueError(message)
    ends = [
        [
            _number_of_node(numbers, _value_of(link, end, f"edge {place}"), f"edge {place}")
            for end in ("source", "target")
        ]
        for place, link in enumerate(links, start=1)
    ]
    edges = torch.from_numpy(np.array(ends, dtype=np.int64).reshape(-1, 2).T.copy())
    is_directed = graph.get("directed", ["0"])[0] == "1"
    n_nodes = len(numbers)
    return Data(edge_index=distinct(edges, n_nodes) if is_directed else both_ways(edges, n_nodes), num_nodes=n_nodes)


def _value_of(section: Any, key: str, what: str) -> str:
    """Return what a node or an edge has under a key, which it must have."""
    if isinstance(section, dict) and section.get(key) and isinstance(section[key][0], str):
        return str(section[key][0])
    message = f"{what} has no {key}"
    raise ValueError(message)


def _number_of_node(numbers: Mapping[str, int], name: str, what: str) -> int:
    if name in numbers:
        return numbers[name]
    message = f"{what} ends at the node {name}, which is not among the {len(numbers)} of the file"
    raise ValueError(message)


def _parse_section(tokens: Iterator[re.Match[str]], *, within: str = "") -> dict[str, list[Any]]:
    """Return keys and all their values, texts or sections, up to the bracket that closes ``within``, or to the end."""
    found: dict[str, list[Any]] = {}
    for token in tokens:
        if token["mark"] == "]":
            if not within:
                message = f"at character {token.start()}: ] closes nothing"
                raise ValueError(message)
            return found
        key, value = token["word"], next(tokens, None)
        if key is None or value is None or value["mark"] == "]":
            message = f"at character {token.start()}: expected a key and a value, found {token[0]!r}"
            raise ValueError(message)
        text = value["word"] if value["text"] is None else value["text"]
        found.setdefault(key, []).append(_parse_section(tokens, within=key) if value["mark"] == "[" else text)
    if within:
        # Cut off, it would be a smaller graph.
        message = f"the file ends before the ] of {within} [: it is not whole"
        raise ValueError(message)
    return found
