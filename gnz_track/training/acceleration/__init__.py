"""The same numbers, sooner: what training does to any model before the first step, on a CPU.

``sparsify`` the features, ``attach`` a structure to the edges, ``accelerate`` the layers. Each part falls back to
PyG's own path for what it does not know, so a model that none of them serves is merely not sped up.

- `compiled`: functions of tensors by the compiled kernels, with gradients of any order
- `compiled_deep`: functions of tensors that deep layers are made of, by the compiled kernels
- `deep`: layers of deep networks, those of this package and PyG's GPS, by what the compiled kernels have for them
- `dense`: dense products with the bits of Torch's own, in less than half of its time on processors of AMD with 512-bit
  vectors
- `dropout`: dropout with the masks of Torch's own, at a fraction of the price
- `features`: sparse node features that pass for an ordinary tensor, and become one where that matters
- `gathered`: rows gathered along edges, by graph or by pair, and put together by the compiled kernels
- `guards`: conditions under which a fast forward computes what PyG's own would, read anew at every call
- `layers`: PyG's layers, computed as sparse products where the layer and its input allow it
- `library`: library of compiled kernels: how the sources in ``kernels/`` are compiled, found, loaded and called
- `patterns`: positions of a sparse matrix, and how those of its parts and repetitions follow without sorting
  again
- `receptive_field`: receptive field of some nodes: what each layer has to compute for a loss that sees those alone
- `products`: products of a sparse pattern with dense matrices, with gradients
- `sampling`: neighbours drawn for mini-batches, and edges by rows without sorting
- `structure`: structure of a graph: computed once from its edges, and needed at every step
"""

from gnz_track.training.acceleration.dropout import drop
from gnz_track.training.acceleration.features import SparseFeatures, sparsify
from gnz_track.training.acceleration.layers import accelerate, release
from gnz_track.training.acceleration.library import kernels
from gnz_track.training.acceleration.sampling import NeighbourSampler, attach_rows, key_of_batch
from gnz_track.training.acceleration.structure import Structure, attach, lend_edges, structure_of

__all__ = [
    "NeighbourSampler",
    "SparseFeatures",
    "Structure",
    "accelerate",
    "attach",
    "attach_rows",
    "drop",
    "kernels",
    "key_of_batch",
    "lend_edges",
    "release",
    "sparsify",
    "structure_of",
]
