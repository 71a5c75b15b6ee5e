"""Catalogue: roads, rails, flights and power lines."""

from __future__ import annotations

from functools import partial

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.templates import network_row, pinned
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

__all__ = ["ROWS", "TASKS"]

_MULTIPLEX = "The layers are merged; the option keep_parallel keeps them apart."
_STRUC2VEC = "https://github.com/leoribeiro/struc2vec"
_row = partial(DatasetRow, category=Category.infrastructure)
_network = partial(network_row, category=Category.infrastructure)
_task = partial(Task, category=Category.infrastructure)


ROWS = (
    _network(
        "power_grid",
        entry="power",
        raw="networks/us_power_grid_netzschleuder",
        references=("watts1998",),
        source="Netzschleuder power: high-voltage lines between stations of the western United States",
        expected={"n_nodes": 4_941, "n_edges": 13_188},
        checksum="5efdc8654e587acee3c1884804a22ab8",
    ),
    _network(
        "euroroad",
        references=("subelj2011",),
        source="Netzschleuder euroroad: E-roads between European cities",
        expected={"n_nodes": 1_174, "n_edges": 2_834},
        checksum="3e9ccc2305a2a25b4084fe5f699c9605",
    ),
    _network(
        "us_roads",
        net="DC",
        source="Netzschleuder us_roads, network DC: roads of the District of Columbia",
        notes="Sizes were not verified against the archive.",
    ),
    _network(
        "eu_airlines",
        references=("cardillo2013",),
        source="Netzschleuder eu_airlines: flights between European airports, one layer an airline",
        notes=f"450 airports and 3,588 flights in 37 layers as published. {_MULTIPLEX}",
    ),
    _network(
        "london_transport",
        references=("dedomenico2014",),
        source="Netzschleuder london_transport: underground, overground and light railway between stations",
        expected={"n_nodes": 369, "n_edges": 860},
        notes=f"503 links in three layers as published, 430 pairs of stations. {_MULTIPLEX}",
    ),
    _network(
        "urban_streets",
        net="brasilia",
        references=("cardillo2006",),
        source="Netzschleuder urban_streets, network brasilia: crossings of a square mile and the streets between them",
        notes="179 crossings and 230 streets as published; sizes were not verified against the archive.",
    ),
    _row(
        name="brazil_airports",
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
    _row(
        name="air_routes",
        task_types=(TaskType.link_pred, TaskType.node_cls),
        loader="gnz_track.datasets.readers.networks:read_air_routes",
        options={"file": "airports_full.txt"},
        raw="ten/air_routes",
        origins=pinned(
            "graph-notebook",
            {"airports_full.txt": ("graph_notebook/seed/queries/propertygraph/opencypher/airports/airports_full.txt")},
        ),
        source="air routes 0.89 of August 2022: airports with scheduled flights, and the routes between them",
        licence="Apache-2.0 (package graph-notebook); terms of the data not stated there",
        **cited("lawrence2022"),
        url="https://github.com/krlawrence/graph",
        expected={"n_graphs": 1, "n_nodes": 3_504, "n_edges": 50_976, "n_features": 3, "n_classes": 6},
        checksum="9c9583d93fc630523d2ffe5692eac57c",
        notes="Routes count in both directions (99 % are listed so). 28 airports have no route.",
        defects=("Non-edges are drawn among all pairs: two small airports far apart are easy to tell from a route.",),
    ),
    _row(
        name="pegase_2869",
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.readers.circuits_and_grids:read_power_case",
        options={"file": "case2869pegase.json"},
        raw="ten/pegase_2869",
        origins=pinned(
            "pandapower",
            {"case2869pegase.json": "pandapower/networks/power_system_test_case_jsons/case2869pegase.json"},
        ),
        source="PEGASE: part of the European high voltage grid, realistic but fictitious; the role of a bus is sought",
        licence="BSD-3-Clause (package pandapower); terms of the data not stated there",
        **cited("josz2016"),
        url="https://arxiv.org/abs/1603.01533",
        expected={"n_graphs": 1, "n_nodes": 2_869, "n_edges": 7_936, "n_features": 3, "n_classes": 3},
        checksum="5898c6c39ce7e3594e5fb6aafc8a6006",
        notes="Classes: 868 buses without plant or load, 1,311 with load only, 690 with generation.",
        defects=("The grid is fictitious where operators keep theirs secret.",),
    ),
)

TASKS = (
    _task("power_grid", TaskType.link_pred, epochs=80),
    _task("euroroad", TaskType.link_pred, epochs=80),
    _task("air_routes", TaskType.link_pred, epochs=100),
    _task("pegase_2869", TaskType.node_cls, epochs=100),
)
