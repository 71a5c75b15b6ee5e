"""Catalogue: physics."""

from __future__ import annotations

from gnz_track.types import Category, DatasetRow, Task, TaskType

__all__ = ["ROWS", "TASKS"]

ROWS = (
    DatasetRow(
        name="ising_lattice",
        category=Category.physics,
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.geometric_graphs:ising_lattice",
        options={"side": 20, "temperature": 2.27},
        is_seed_aware=True,
        source="generated: 20 x 20 lattice, eight neighbours, free borders, independent spins",
        licence="Apache-2.0",
        citation="Ising: Beitrag zur Theorie des Ferromagnetismus. Zeitschrift fuer Physik 31, 253-258, 1925",
        expected={"n_graphs": 1, "n_nodes": 400, "n_edges": 2_964, "n_features": 1},
        notes=(
            "Spins as in GraphNetz 0.2.0. Its lattice also has a loop at every site and scores loops as links, "
            "which a dot product gets right for free; ours has none."
        ),
    ),
)

TASKS = (Task("ising_lattice", TaskType.link_pred, epochs=60, category=Category.physics),)
