"""How long a cell takes: a hint for who plans an evening, measured once. No torch here."""

from __future__ import annotations

__all__ = ["SECONDS"]

# Task -> seconds of a cell with the task's own number of epochs, on one core without a GPU, the mean of our models.
# Past runs of a store know better: gnz run --dry-run asks them.
SECONDS: dict[str, float] = {
    "air_routes": 5.8,
    "citeseer": 6.8,
    "crime_roles": 2.2,
    "iscas85_gates": 8.0,
    "kinships": 1.8,
    "mitre_attack": 4.1,
    "mnist_5k_regions": 9.2,
    "mutag": 1.4,
    "pcb442_tour": 1.2,
    "pegase_2869": 2.2,
    "primary_school": 1.6,
    "product_space_hs92": 0.6,
    "ptc_mr": 1.6,
    "qm7": 7.1,
    "umls": 1.2,
}
