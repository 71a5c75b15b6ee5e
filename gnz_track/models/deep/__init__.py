"""Deep networks under one frame, as "Benchmarking Graph Neural Networks" has them (Dwivedi et al., JMLR 2023).

Embed, then ``n_layers`` times (convolve, normalise, bend, add what entered, drop), then read out. One architecture per
file. What has a shallow namesake in the catalogue is called ``Deep...`` here, everything else keeps its published name.

The width of a layer is ``hidden_channels``, times ``heads`` where a model has them. ``dropout`` (0 unless told) acts on
the codes that leave every layer. ``edge_repr`` chooses what a layer knows of an edge: ``isotropic``, nothing;
``edge_feat``, a weight from the codes of its two ends; ``edge_repr``, a code of its own that every layer renews.
``edge_features=True`` begins that code with the features of the edge, and is an option of the models with ``edge_repr``
and of GPS.

- `network`: the frame of all of them but the dense ones: inputs, messages, layers
- `readouts`: from the codes of nodes to what a kind of problem asks for
- `deep_gcn`: graph convolution, by normalised sums or by means (Kipf and Welling, 2017)
- `deep_gat`: attention over neighbours (Velickovic et al., 2018)
- `deep_gin`: isomorphism layers, all of them read out (Xu et al., 2019)
- `deep_graph_sage`: max pooling over neighbours (Hamilton et al., 2017)
- `deep_mlp`: the graph-agnostic baseline: no norm, and nothing added
- `gated_gcn`: gated convolution with codes of edges (Bresson and Laurent, 2017)
- `monet`: Gaussian kernels on the degrees of both ends of an edge (Monti et al., 2017)
- `gps`: convolution and global attention in every layer (Rampasek et al., 2022)
- `dense`: the frame of networks on the dense tensor of a graph
- `ring_gnn`: sums and products of equivariant maps (Chen et al., 2019)
- `three_wl_gnn`: products of perceptrons of the tensor (Maron et al., 2019)
- `matrix_factorisation`: a code of its own for every node, learnt from links alone (Koren et al., 2009)
"""
