"""Points of the unit square, each with links to its nearest; the question is which of them a round trip uses.

Round trips are proven shortest, by linear programs with cuts, then whole numbers where they are not enough (Dantzig,
Fulkerson, Johnson: Solution of a large-scale traveling-salesman problem, Operations Research 2, 1954; the bound of the
linear program and its reduced costs say which steps no shorter trip can have, and whole numbers are asked for among the
others only); or short, by the local search of an optional library; or 2-optimal.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from torch_geometric.data import Data

from gnz_track.datasets.collation import PartedGraphs
from gnz_track.datasets.generators.draws import GraphDraw, draw_parts
from gnz_track.errors import BadValue, ExtraMissing

__all__ = ["find_quick_tour", "find_shortest_tour", "find_tour", "knn_tour", "known_tour", "tour_edges"]

Array = np.ndarray[Any, Any]
# Seconds to wait where another process writes.
_PATIENCE = 60.0
_TOURS_TABLE = "create table if not exists tours (points text, solver text, tour blob, primary key (points, solver))"
# The search reads whole numbers of 16 bits.
_LARGEST_NUMBER = 60_000
_LIBRARY = "fast_tsp"
# The longest of all steps is this long to the solver, whose tolerances are a millionth: below all differences between
# trips.
_SCALE = 1_000.0
_LEVELS = (1e-6, 0.3, 0.5, 0.7, 0.9)
_VIOLATED = 1e-6
# The bound of the linear program is about 0.7 % below the shortest trip through uniform points.
_FIRST_GAP = 0.01
# What a reduced cost may be wrong by, many times over.
_SLACK = 1e-3
_LEAST_NODES = 3
# Gains below this are noise of the last bits, which may differ from machine to machine.
_LEAST_GAIN = 1e-9
# Up to so many points a shortest trip takes seconds.
LARGEST_EXACT = 200


def tour_edges(
    *,
    nodes: tuple[int, int],
    k: int,
    solver: str,
    sizes: tuple[int, int, int],
    seed: int,
    cache: Path | None = None,
) -> PartedGraphs:
    """Draw points, each with links to its nearest; ``edge_label`` 1 is a step of the round trip.

    x ``[n, 2]`` are the points, edge_attr ``[m, 1]`` the lengths; all links are labelled, ``edge_label_index`` is
    ``edge_index``. Links of a node stand together, the shortest first. A step between two points that are near to each
    other both ways is positive in both directions; a step along no link is lost.

    Parameters
    ----------
    nodes
        Fewest and most points.
    k
        Links of a point.
    solver
        "exact" or "fast_tsp".
    sizes
        Graphs of each part.
    seed
    cache
        Folder where trips are kept.
    """
    if solver not in _SOLVERS:
        raise BadValue("solver", solver, " or ".join(_SOLVERS))
    if solver == "exact" and nodes[1] > LARGEST_EXACT:
        allowed = f"at most {LARGEST_EXACT} for shortest trips; solver='fast_tsp' finds short ones through more"
        raise BadValue("the number of points", nodes[1], allowed)
    find = partial(known_tour, find=_SOLVERS[solver], solver=solver, folder=cache)
    return draw_parts("tour_edges", partial(_step_graph, nodes, k, find), sizes=sizes, seed=seed)


def knn_tour(*, n_graphs: int, n_nodes: int, k: int, seed: int) -> list[Data]:
    """Draw uniform points of the unit square; ``edge_label`` 1 is an edge of a tour.

    x ``[n, 2]`` are the points, ``edge_attr`` and ``edge_label_attr`` ``[., 1]`` lengths, in units of the mean spacing.
    Every pair of neighbours is labelled once. The design is that of Joshi, Laurent, Bresson, An efficient graph
    convolutional network technique for the travelling salesman problem, 2019; tours are 2-optimal, not optimal.

    Parameters
    ----------
    n_graphs, n_nodes
    k
        Each point is joined to this many nearest.
    seed
    """
    rng = np.random.default_rng(seed)
    return [_tour_graph(rng.random((n_nodes, 2)), k) for _ in range(n_graphs)]


def known_tour(points: Array, find: Callable[[Array], Array], *, solver: str, folder: Path | None) -> Array:
    """Return the round trip ``[n]`` through points from ``tours.sqlite`` in a folder, or find and keep it.

    Trips are told apart by the bytes of the points and by the name of the solver. A kept row that is no round trip
    through as many points is found again.

    Parameters
    ----------
    points
        ``[n, 2]``.
    find, solver
    folder
        Without one nothing is kept.
    """
    if folder is None:
        return find(points)
    folder.mkdir(parents=True, exist_ok=True)
    key = (hashlib.sha256(np.ascontiguousarray(points).tobytes()).hexdigest(), solver)
    path = folder / "tours.sqlite"
    with closing(sqlite3.connect(path, timeout=_PATIENCE)) as connection, connection:
        connection.execute(_TOURS_TABLE)
        row = connection.execute("select tour from tours where points = ? and solver = ?", key).fetchone()
    kept = np.frombuffer(row[0] if row and len(row[0]) == 4 * len(points) else b"", dtype="<i4").astype(np.int64)
    if np.array_equal(np.sort(kept), np.arange(len(points))):
        return kept
    # Nothing is locked while a trip is searched for, which may take minutes.
    tour = find(points)
    with closing(sqlite3.connect(path, timeout=_PATIENCE)) as connection, connection:
        connection.execute("insert or replace into tours values (?, ?, ?)", (*key, tour.astype("<i4").tobytes()))
    return tour


def find_quick_tour(points: Array) -> Array:
    """Return a round trip ``[n]`` through points ``[n, 2]`` that a local search no longer shortens, starting at 0.

    It is short, and not proven shortest. The library is fast-tsp, under the MIT licence; without it
    :class:`~gnz_track.errors.ExtraMissing` says how to install it.
    """
    if importlib.util.find_spec(_LIBRARY) is None:
        raise ExtraMissing("tsp", "tours", _LIBRARY)
    length = _distances(points)
    scaled = (length * (_LARGEST_NUMBER / max(float(length.max()), 1e-12))).round().astype(np.int64)
    library: Any = importlib.import_module(_LIBRARY)
    # Until nothing has improved for long, not until a time has passed: a slow machine finds as short a trip.
    found = library.find_tour(scaled.tolist(), math.inf, max_threads=1, stop_when_converged=True)
    tour = np.array(found, dtype=np.int64)
    return np.roll(tour, -int((tour == 0).argmax()))


def find_shortest_tour(points: Array) -> Array:
    """Return the shortest round trip ``[n]`` through points ``[n, 2]``: from 0 on, towards the lower neighbour first.

    The trip is proven shortest among all, not only among trips of short steps. It is one of several where points lie
    on a grid.
    """
    n = len(points)
    if n < _LEAST_NODES:
        raise BadValue("the number of points of a round trip", n, f"at least {_LEAST_NODES}")
    program = _Program.of(points)
    bound, reduced = program.relax()
    gap = _FIRST_GAP * bound
    while True:
        steps = program.solve_whole(reduced <= gap + _SLACK)
        if steps is None:
            gap *= 3
            continue
        excess = float(program.cost[steps].sum()) - bound
        if excess <= gap:
            return _in_order(program.ends[:, steps])
        # Steps that were left out are in no trip shorter than this one's length; the next round is the last.
        gap = excess


def find_tour(length: Array) -> Array:
    """Return a tour ``[n]`` of nodes ``0..n-1`` with lengths ``[n, n]``: always to the nearest, then 2-opt.

    2-opt (Croes, Operations Research 6, 1958) reverses the stretch that saves most until none saves anything.
    """
    n = len(length)
    order, is_left = [0], np.arange(n) > 0
    while is_left.any():
        order.append(int(np.where(is_left, length[order[-1]], np.inf).argmin()))
        is_left[order[-1]] = False
    tour = np.array(order)
    while True:
        following = np.roll(tour, -1)
        now = length[tour, following]
        then = length[np.ix_(tour, tour)] + length[np.ix_(following, following)]
        gain = np.triu(now[:, None] + now[None, :] - then, k=1).round(12)
        first, last = np.unravel_index(gain.argmax(), gain.shape)
        if gain[first, last] < _LEAST_GAIN:
            return tour
        tour[first + 1 : last + 1] = tour[first + 1 : last + 1][::-1].copy()


_SOLVERS = {"exact": find_shortest_tour, "fast_tsp": find_quick_tour}


def _step_graph(nodes: tuple[int, int], k: int, find: Callable[[Array], Array], draw: GraphDraw) -> list[Data]:
    n = int(draw.rng.integers(nodes[0], nodes[1] + 1))
    # As they are stored, so that the trip is that of the stored points.
    points = draw.rng.random((n, 2), dtype=np.float32).astype(np.float64)
    tour = find(points)
    length = _distances(points)
    edges = _nearest_links(length, k)
    following = np.empty(n, dtype=np.int64)
    following[tour] = np.roll(tour, -1)
    is_step = (following[edges[0]] == edges[1]) | (following[edges[1]] == edges[0])
    links = torch.from_numpy(edges)
    graph = Data(
        x=torch.from_numpy(points.astype(np.float32)),
        edge_index=links,
        edge_attr=_as_column(length[edges[0], edges[1]]),
        edge_label_index=links,
        edge_label=torch.from_numpy(is_step.astype(np.int64)),
    )
    return [graph]


def _tour_graph(points: Array, k: int) -> Data:
    n = len(points)
    length = _distances(points) * np.sqrt(n)
    pairs = np.unique(np.sort(_nearest_links(length, k), axis=0), axis=1)
    tour = find_tour(length)
    steps = np.sort(np.stack([tour, np.roll(tour, -1)]), axis=0)
    is_step = np.isin(pairs[0] * n + pairs[1], steps[0] * n + steps[1])
    both = np.concatenate([pairs, pairs[::-1]], axis=1)
    return Data(
        x=torch.from_numpy(points.astype(np.float32)),
        edge_index=torch.from_numpy(both),
        edge_attr=_as_column(length[both[0], both[1]]),
        edge_label_index=torch.from_numpy(pairs),
        edge_label=torch.from_numpy(is_step.astype(np.int64)),
        edge_label_attr=_as_column(length[pairs[0], pairs[1]]),
    )


def _distances(points: Array) -> Array:
    """Return the distances ``[n, n]`` between points ``[n, 2]``."""
    found: Array = np.sqrt(np.square(points[:, None] - points[None]).sum(axis=2))
    return found


def _nearest_links(length: Array, k: int) -> Array:
    """Return the links ``[2, m]`` of each point to its ``k`` nearest, those of a point together, the shortest first."""
    n = len(length)
    # Rounded, so that links stand in the same order on every machine.
    nearest = (length + np.diag(np.full(n, np.inf))).round(12).argsort(axis=1, kind="stable")[:, : min(k, n - 1)]
    return np.stack([np.arange(n).repeat(nearest.shape[1]), nearest.ravel()])


def _as_column(values: Array) -> torch.Tensor:
    return torch.from_numpy(values.astype(np.float32)).unsqueeze(1)


@dataclass(eq=False)
class _Program:
    """Choice among all pairs ``ends [2, m]`` of cost ``[m]``; a trip leaves each of ``sides`` ``[n]``."""

    ends: Array
    cost: Array
    n: int
    sides: list[Array] = field(default_factory=list)

    @classmethod
    def of(cls, points: Array) -> _Program:
        """Return the program of points, without any cut."""
        n = len(points)
        ends = np.stack(np.triu_indices(n, k=1))
        length = np.sqrt(np.square(points[ends[0]] - points[ends[1]]).sum(axis=1))
        # Points may all be one.
        return cls(ends, length * (_SCALE / (length.max() or 1.0)), n)

    def relax(self) -> tuple[float, Array]:
        """Return the bound of the linear program and what each pair would add to it ``[m]``."""
        while True:
            found = linprog(
                self.cost,
                A_eq=self._degrees(slice(None)),
                b_eq=np.full(self.n, 2.0),
                A_ub=-self._cuts(slice(None)) if self.sides else None,
                b_ub=np.full(len(self.sides), -2.0) if self.sides else None,
                bounds=(0, 1),
                method="highs",
            )
            if not self._cut(found.x, slice(None)):
                break
        reduced = self.cost - self._degrees(slice(None)).T @ found.eqlin.marginals
        if self.sides:
            reduced += self._cuts(slice(None)).T @ found.ineqlin.marginals
        return float(found.fun), reduced

    def solve_whole(self, kept: Array) -> Array | None:
        """Return the pairs ``[n]`` of the shortest trip along those that are kept; None where there is none."""
        pairs = kept.nonzero()[0]
        while True:
            rows = [LinearConstraint(self._degrees(pairs), 2, 2)]
            rows += [LinearConstraint(self._cuts(pairs), 2, np.inf)] if self.sides else []
            found = milp(
                self.cost[pairs],
                integrality=np.ones(len(pairs)),
                bounds=Bounds(0, 1),
                constraints=rows,
                options={"mip_rel_gap": 0},
            )
            if found.x is None:
                return None
            if not self._cut(found.x, pairs):
                return pairs[found.x > 0.5]

    def _degrees(self, pairs: Array | slice) -> csr_array:
        ends = self.ends[:, pairs]
        m = ends.shape[1]
        return csr_array(coo_array((np.ones(2 * m), (ends.ravel(), np.tile(np.arange(m), 2))), shape=(self.n, m)))

    def _cuts(self, pairs: Array | slice) -> csr_array:
        sides, (first, second) = np.stack(self.sides), self.ends[:, pairs]
        return csr_array((sides[:, first] != sides[:, second]).astype(np.float64))

    def _cut(self, x: Array, pairs: Array | slice) -> bool:
        """Add the parts into which a solution falls and that it leaves too rarely; tell whether there are any."""
        ends = self.ends[:, pairs]
        known = {side.tobytes() for side in self.sides}
        before = len(self.sides)
        for level in _LEVELS:
            first, second = ends[:, x > level]
            links = coo_array((np.ones(len(first)), (first, second)), shape=(self.n, self.n))
            n_parts, part = connected_components(links, directed=False)
            for number in range(n_parts if n_parts > 1 else 0):
                side = part == number
                side = side if not side[0] else ~side
                left = x[side[ends[0]] != side[ends[1]]].sum()
                if left < 2 - _VIOLATED and side.tobytes() not in known:
                    known.add(side.tobytes())
                    self.sides.append(side)
        return len(self.sides) > before


def _in_order(steps: Array) -> Array:
    """Return the nodes of a round trip ``[n]`` from its steps ``[2, n]``."""
    beside: list[list[int]] = [[] for _ in range(steps.shape[1])]
    for first, second in steps.T.tolist():
        beside[first].append(second)
        beside[second].append(first)
    tour = [0, min(beside[0])]
    while len(tour) < len(beside):
        before, here = tour[-2:]
        one, other = beside[here]
        tour.append(other if one == before else one)
    return np.array(tour)
