"""Which networks, and at what size.

One architecture per file; the table is `catalogue.py`, heads and wrappers are `adapters.py`, construction is
`building.py`.

The options of the built-in models are hyperparameters of a cell. `stack.py` says what they mean; their defaults are:

| model            | n_layers | heads | dropout | norm  | jumping |
|------------------|---------:|------:|--------:|-------|---------|
| GCN              |        2 |     - |     0.0 | none  | none    |
| GAT              |        2 |     8 |     0.6 | none  | none    |
| GraphSAGE        |        2 |     - |     0.5 | none  | none    |
| GraphTransformer |        2 |     4 |     0.1 | none  | none    |
| GIN              |        3 |     - |     0.0 | batch | none    |
| MLP              |        2 |     - |     0.5 | none  | none    |

GCN and GraphSAGE take ``act`` (relu) too, and GraphSAGE ``aggr`` (mean); no search varies them unless it is told to.

To add a model: write `models/<name>.py` with a class ``(in_channels, hidden_channels, out_channels)`` and add its row
to `catalogue.py`.

The room offers the class of every model under its name: ``from gnz_track.models import GPS``. Stores name models so.

- `averaged_gat`: graph attention as the published space has it: heads share the width, and the last layer
  averages them
- `budgets`: the width at which a model has about as many parameters as it is allowed
- `building`: from the row of a model and the sizes of a dataset to a module
- `catalogue`: the table of models, and every way to bring one's own
- `cheb_net`: chebyshev convolutions (Defferrard, Bresson and Vandergheynst, NeurIPS 2016)
- `dgi`: deep Graph Infomax (Velickovic et al., ICLR 2019): a pre-training utility
- `egc`: efficient graph convolution (Tailor et al., ICLR 2022): every node combines shared bases by weights of
  its own
- `gat`: graph attention network (Velickovic et al., ICLR 2018)
- `gcn`: graph convolutional network (Kipf and Welling, ICLR 2017)
- `gin`: graph isomorphism network (Xu et al., ICLR 2019); graph level only
- `graph_sage`: GraphSAGE with mean or max aggregation (Hamilton, Ying and Leskovec, NeurIPS 2017)
- `graph_transformer`: graph transformer with attention over neighbours (Shi et al., IJCAI 2021)
- `adapters`: heads that carry one node encoder to every task type
- `label_propagation`: label propagation (Zhu and Ghahramani, 2002), in the form of Huang et al
- `mlp`: the graph-agnostic baseline: what the features alone can do
- `neighbourhood`: resource allocation index (Zhou, Lu and Zhang, 2009): common neighbours, each over its degree
- `node_gin`: isomorphism layers (Xu et al., ICLR 2019) that encode nodes: no pooling, for every kind of problem
- `pna`: principal neighbourhood aggregation (Corso et al., NeurIPS 2020)
- `seal`: SEAL (Zhang and Chen, NeurIPS 2018): whether two nodes are linked, by the part of the graph around
  them
- `sgc`: simple graph convolution (Wu et al., ICML 2019): hops without anything between them, then one linear
  map
- `sizes`: what a model has to know of its data before its parameters can be drawn
- `stack`: layers one after another, and the options that every such stack has
- `deep/`: deep networks under one frame, as "Benchmarking Graph Neural Networks" has them (Dwivedi et al., JMLR
  2023)
- `embeddings/`: codes of nodes that are found without labels, and a linear map of them that is trained: one
  file each
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "budgets": ("Width", "find_width", "refuse_beyond"),
    "building": ("Options", "build", "count_parameters", "load_parts", "options_of"),
    "catalogue": ("MODELS", "describe", "describe_all", "renew_code", "usual_models"),
    "sizes": ("Sizes",),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    module = None if name.startswith("_") or name in __all__ else _modules().get(name)
    return find_public(__name__, {module: (name,)} if module else _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__


def _modules() -> Mapping[str, str]:
    from gnz_track.models.catalogue import MODULES

    return MODULES
