"""Seconds that a cell takes: a hint for planning, measured once. No torch here."""

from __future__ import annotations

__all__ = ["SECONDS"]

# Task -> seconds of a cell with the task's own number of epochs, on one core without a GPU, the mean of our models.
# Past runs of a store know better: gnz run --dry-run asks them.
SECONDS: dict[str, float] = {
    "air_routes": 5.7,
    "citeseer": 7.4,
    "crime_roles": 2.0,
    "digits_regions": 1.4,
    "graph_families": 2.3,
    "grid_mines": 0.5,
    "iscas85_gates": 7.3,
    "ising_lattice": 0.2,
    "kinships": 1.6,
    "knn_tour": 1.4,
    "les_miserables": 0.2,
    "mitre_attack": 3.6,
    "mnist_5k_regions": 8.9,
    "mutag": 1.7,
    "pcb442_tour": 1.4,
    "pegase_2869": 2.9,
    "planted_partition": 0.2,
    "primary_school": 1.6,
    "product_space_hs92": 0.8,
    "ptc_mr": 1.8,
    "qm7": 6.1,
    "random_coloring": 0.3,
    "random_tsp": 0.2,
    "umls": 1.3,
}
