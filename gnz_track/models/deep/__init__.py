"""Deep networks under one frame, as "Benchmarking Graph Neural Networks" has them (Dwivedi et al., JMLR 2023).

Embed, then ``n_layers`` times (convolve, normalise, bend, add what entered, drop), then read out. What has
a shallow namesake in the catalogue is called ``Deep...`` here, everything else keeps its published name.

The width of a layer is ``hidden_channels``, times ``heads`` where a model has them. ``dropout`` (0 unless told) acts on
the codes that leave every layer. ``edge_repr`` chooses what a layer knows of an edge: ``isotropic``, nothing;
``edge_feat``, a weight from the codes of its two ends; ``edge_repr``, a code of its own that every layer renews.
``edge_features=True`` begins that code with the features of the edge, and is an option of the models with ``edge_repr``
and of GPS. ``norm`` (``batch``, ``none``) says whether a layer normalises, and ``residual`` whether what entered it is
added; the perceptron inside a layer of DeepGIN keeps its norm, as published.

- `network`: the frame of all of them but the dense ones: inputs, messages, layers
- `readouts`: from the codes of nodes to what a kind of problem asks for
- `isotropic`: all neighbours alike: DeepMLP, DeepGCN, DeepMeanGCN, DeepGIN, DeepGraphSAGE
- `anisotropic`: neighbours weighed by what their edge computes: DeepGAT, GatedGCN, MoNet
- `gps`: convolution and global attention in every layer (Rampasek et al., 2022)
- `dense`: networks on the dense tensor of a graph: RingGNN, ThreeWLGNN
- `matrix_factorisation`: a code of its own for every node, learnt from links alone (Koren et al., 2009)
"""
