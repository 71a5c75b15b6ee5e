"""Airports and the routes between them, from statements in openCypher."""

from __future__ import annotations

import re
from pathlib import Path

import torch
from torch_geometric.data import Data

from gnz_track.datasets.readers.edge_arrays import rank
from gnz_track.datasets.readers.edge_counts import count_edges

__all__ = ["read_air_routes"]

_AIRPORT = re.compile(r"\((a\d+):airport \{(.*)\}\)")
_ROUTE = re.compile(r"\((a\d+)\)-\[:route \{[^{}]*\}\]->\((a\d+)\)")
# Texts are taken whole, so that nothing inside of a name is read as a property.
_PROPERTY = re.compile(r"(\w+):\s*(?:'((?:[^'\\]|\\.)*)'|(-?[\d.]+))")
_MEASURES = {"runways": 1.0, "longest": 10_000.0, "elev": 5_000.0}


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
    x = [[float(airports[name][key]) / unit for key, unit in _MEASURES.items()] for name in place]
    return Data(
        x=torch.tensor(x, dtype=torch.float32).reshape(-1, len(_MEASURES)),
        edge_index=edges,
        y=torch.tensor([continents[airports[name]["continent"]] for name in place]),
    )


def _parse_properties(content: str) -> dict[str, str]:
    return {key: text or number for key, text, number in _PROPERTY.findall(content)}
