"""How long a cell takes: a hint for who plans an evening, measured once. No torch here."""

from __future__ import annotations

__all__ = ["SECONDS"]

# Task -> seconds of a cell with the task's own number of epochs, on one core without a GPU, the mean of our models.
# Past runs of a store know better: gnz run --dry-run asks them.
SECONDS: dict[str, float] = {
    "air_routes": 5.7,
    "citeseer": 7.4,
    "crime_roles": 2.0,
    "iscas85_gates": 7.3,
    "kinships": 1.6,
    "mitre_attack": 3.6,
    "mnist_5k_regions": 8.9,
    "mutag": 1.7,
    "pcb442_tour": 1.4,
    "pegase_2869": 2.9,
    "primary_school": 1.6,
    "product_space_hs92": 0.8,
    "ptc_mr": 1.8,
    "qm7": 6.1,
    "umls": 1.3,
}
