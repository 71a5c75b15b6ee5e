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

- `deep_gat`: deep graph attention (Velickovic et al., ICLR 2018)
- `deep_gcn`: deep graph convolution, in the two forms that the benchmark compares (Kipf and Welling, ICLR 2017)
- `deep_gin`: deep graph isomorphism network, read out from every layer (Xu et al., ICLR 2019)
- `deep_graph_sage`: deep GraphSAGE with max pooling (Hamilton et al., NeurIPS 2017)
- `deep_mlp`: the graph-agnostic baseline of the deep networks
- `dense`: the frame of networks on dense tensors: one number for every pair of nodes and channel
- `gated_gcn`: gated graph convolution with codes of edges (Bresson and Laurent, 2017; Dwivedi et al., 2023)
- `gps`: general, powerful, scalable graph transformer (Rampasek et al., NeurIPS 2022): the modern reference
- `matrix_factorisation`: matrix factorisation: a code of its own for every node, learnt from links alone (Koren
  et al., 2009)
- `monet`: mixture model network (Monti et al., CVPR 2017)
- `network`: the frame of all deep networks: embed, convolve ``n_layers`` times, read out
- `readouts`: from the codes of nodes to what a task asks for
- `ring_gnn`: ring-GNN (Chen et al., NeurIPS 2019): sums and products of equivariant maps of the dense tensor of
  a graph
- `three_wl_gnn`: 3-WL-GNN, the provably powerful graph network (Maron et al., NeurIPS 2019)
"""
