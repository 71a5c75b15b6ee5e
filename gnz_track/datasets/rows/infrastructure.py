"""Catalogue: roads, rails, flights and power lines."""

from __future__ import annotations

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.network_rows import network_row
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

__all__ = ["ROWS", "TASKS"]

_MULTIPLEX = "The layers are merged; the option keep_parallel keeps them apart."
_STRUC2VEC = "https://github.com/leoribeiro/struc2vec"

ROWS = (
    network_row(
        "power_grid",
        Category.infrastructure,
        entry="power",
        raw="networks/us_power_grid_netzschleuder",
        references=("watts1998",),
        source="Netzschleuder power: high-voltage lines between stations of the western United States",
        expected={"n_nodes": 4_941, "n_edges": 13_188},
        checksum="5efdc8654e587acee3c1884804a22ab8",
    ),
    network_row(
        "euroroad",
        Category.infrastructure,
        entry="euroroad",
        references=("subelj2011",),
        source="Netzschleuder euroroad: E-roads between European cities",
        expected={"n_nodes": 1_174, "n_edges": 2_834},
        checksum="3e9ccc2305a2a25b4084fe5f699c9605",
    ),
    network_row(
        "us_roads",
        Category.infrastructure,
        entry="us_roads",
        net="DC",
        source="Netzschleuder us_roads, network DC: roads of the District of Columbia",
        notes="Sizes were not verified against the archive.",
    ),
    network_row(
        "eu_airlines",
        Category.infrastructure,
        entry="eu_airlines",
        references=("cardillo2013",),
        source="Netzschleuder eu_airlines: flights between European airports, one layer an airline",
        notes=f"450 airports and 3,588 flights in 37 layers as published. {_MULTIPLEX}",
    ),
    network_row(
        "london_transport",
        Category.infrastructure,
        entry="london_transport",
        references=("dedomenico2014",),
        source="Netzschleuder london_transport: underground, overground and light railway between stations",
        expected={"n_nodes": 369, "n_edges": 860},
        notes=f"503 links in three layers as published, 430 pairs of stations. {_MULTIPLEX}",
    ),
    network_row(
        "urban_streets",
        Category.infrastructure,
        entry="urban_streets",
        net="brasilia",
        references=("cardillo2006",),
        source="Netzschleuder urban_streets, network brasilia: crossings of a square mile and the streets between them",
        notes="179 crossings and 230 streets as published; sizes were not verified against the archive.",
    ),
    DatasetRow(
        name="brazil_airports",
        category=Category.infrastructure,
        task_types=(TaskType.node_cls, TaskType.link_pred),
        loader="gnz_track.datasets.readers.networks:read_airports",
        options={"prefix": "brazil"},
        raw="Airports/brazil/raw",
        source="struc2vec: flights between Brazilian airports in 2016, labelled by quartile of activity",
        licence="MIT (repository)",
        **cited("ribeiro2017"),
        url=_STRUC2VEC,
        origins=tuple(
            Download(url=f"{_STRUC2VEC}/raw/master/graph/{file}", path=file)
            for file in ("brazil-airports.edgelist", "labels-brazil-airports.txt")
        ),
        expected={"n_graphs": 1, "n_nodes": 131, "n_edges": 1_074, "n_features": 131, "n_classes": 4},
        checksum="135fd96fa35372af6812495a6b66114c",
        defects=("The features number the nodes, so that they say nothing of unseen ones.",),
    ),
)

TASKS = (
    Task("power_grid", TaskType.link_pred, epochs=80, category=Category.infrastructure),
    Task("euroroad", TaskType.link_pred, epochs=80, category=Category.infrastructure),
)
