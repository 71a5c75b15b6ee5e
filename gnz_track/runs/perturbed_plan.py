"""A plan on perturbed graphs: each of its cells once for each perturbation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gnz_track.datasets.perturbations import ORIGINAL, PERTURBATIONS
from gnz_track.runs.cell_code import code_of
from gnz_track.runs.plan import Plan

__all__ = ["perturb_plan"]


def perturb_plan(plan: Plan, names: Iterable[str]) -> Plan:
    """Return a plan with every cell under each perturbation; ``original`` stands for the cells as they are.

    Cells of one seed share their split and the first parameters of their model, whatever is done to the graphs.
    """
    known = [PERTURBATIONS.get(name).name for name in names]
    perturbations = ["" if name == ORIGINAL else name for name in known]
    code = {name: code_of(name) for name in perturbations}
    cells = tuple(replace(cell, perturbation=name, code=code[name]) for name in perturbations for cell in plan.cells)
    return replace(plan, cells=cells)
