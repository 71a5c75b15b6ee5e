"""Shortest round trips, each with its proof: linear programs with cuts, then whole numbers where they are not enough.

Dantzig, Fulkerson, Johnson: Solution of a large-scale traveling-salesman problem, Operations Research 2, 1954. The
bound of the linear program and its reduced costs say which steps no shorter trip can have; whole numbers are asked for
among the others only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from gnz_track.errors import BadValue

__all__ = ["find_shortest_tour"]

Array = np.ndarray[Any, Any]

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
