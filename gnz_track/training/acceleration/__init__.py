"""The same numbers, sooner: what training does to any model before the first step, on a CPU.

``sparsify`` the features, ``attach`` a structure to the edges, ``accelerate`` the layers. Each part falls back to
PyG's own path for what it does not know, so a model that none of them serves is merely not sped up.
"""

from gnz_track.training.acceleration.dropout import drop
from gnz_track.training.acceleration.features import SparseFeatures, sparsify
from gnz_track.training.acceleration.layers import accelerate, release
from gnz_track.training.acceleration.structure import Structure, attach, lend_edges, structure_of

__all__ = [
    "SparseFeatures",
    "Structure",
    "accelerate",
    "attach",
    "drop",
    "lend_edges",
    "release",
    "sparsify",
    "structure_of",
]
