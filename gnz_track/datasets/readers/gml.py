"""Networks in GML, as loose as files in the wild: nodes need no label, edges may repeat."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from gnz_track.datasets.readers.raw_files import both_ways, distinct

__all__ = ["read_gml"]

_TOKEN = re.compile(r'"(?P<text>[^"]*)"|(?P<mark>[\[\]])|(?P<word>[^\s\[\]"]+)')


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
