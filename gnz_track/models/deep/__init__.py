"""Deep networks under one frame, as "Benchmarking Graph Neural Networks" has them (Dwivedi et al., JMLR 2023).

Embed, then ``n_layers`` times (convolve, normalise, bend, add what entered, drop), then read out; `network.py` is the
frame, `inputs.py` and `readouts.py` are its two ends, `messages.py` what flows between. One architecture per file. What
has a shallow namesake in the catalogue is called ``Deep...`` here, everything else keeps its published name.

The width of a layer is ``hidden_channels``, times ``heads`` where a model has them. The options are hyperparameters:

| model               | n_layers | heads | readout | edge_repr | more                |
|---------------------|---------:|------:|---------|-----------|---------------------|
| DeepMLP             |        4 |     - | mean    | -         | no norm, no sum     |
| DeepGCN             |        4 |     - | mean    | -         |                     |
| DeepMeanGCN         |        4 |     - | mean    | -         |                     |
| DeepGraphSAGE       |        4 |     - | mean    | isotropic |                     |
| MoNet               |        4 |     - | mean    | -         | kernels=3           |
| DeepGAT             |        4 |     8 | mean    | edge_feat |                     |
| GatedGCN            |        4 |     - | mean    | edge_repr |                     |
| DeepGIN             |        4 |     - | sum     | -         |                     |
| GPS                 |        4 |     4 | mean    | -         |                     |
| RingGNN             |        2 |     - | -       | -         | mixing=0.02         |
| ThreeWLGNN          |        3 |     - | -       | -         | depth=2             |
| MatrixFactorisation |        - |     - | -       | -         | links only          |

``dropout`` (0 unless told) acts on the codes that leave every layer. ``edge_repr`` chooses what a layer knows of an
edge: ``isotropic``, nothing; ``edge_feat``, a weight from the codes of its two ends; ``edge_repr``, a code of its own
that every layer renews. ``edge_features=True`` begins that code with the features of the edge, and is an option of the
models with ``edge_repr`` and of GPS.
"""
