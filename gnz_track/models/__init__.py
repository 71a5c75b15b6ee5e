"""Networks, and the width at which they are compared.

The room has the class of every model under its name, ``from gnz_track.models import GPS``, and stores name models so.
`gnz models NAME` shows what a model takes, and where a search looks.

To add a model, write `<name>.py` with a class ``(in_channels, hidden_channels, out_channels)`` whose ``forward(data)``
returns a code for each node, and add its row to `catalogue.py`. Options are keywords of the constructor; in a family
such as :class:`~gnz_track.models.stack.Stack`, a class says what differs::

    class TAGCN(Stack):
        defaults = Stack.defaults.but(n_layers=3, hops=count(2))

        def make_layer(self, in_channels, out_channels):
            return TAGConv(in_channels, out_channels, K=self.options.hops)

How a model is found, built and sized:

- `catalogue`: one row for each model, and every way to bring one's own
- `words`: a model as it is typed, with options, a name or a file
- `building`: from the row of a model and the sizes of a dataset to a module
- `adapters`: heads that carry one node encoder to every kind of problem
- `options`: tables of options, from which constructors, signatures and checks follow; facts of the data
- `budgets`: the width at which a model has about as many parameters as it is allowed

Architectures:

- `stack`: the family of layers one after another, and the options that each of them has
- `gcn`: graph convolutional network (Kipf and Welling, 2017)
- `gat`: graph attention network (Velickovic et al., 2018)
- `averaged_gat`: graph attention whose heads share the width, and are averaged in the last layer
- `graph_sage`: GraphSAGE with mean or max aggregation (Hamilton et al., 2017)
- `graph_transformer`: attention with keys and values over neighbours (Shi et al., 2021)
- `gin`: graph isomorphism network, for whole graphs (Xu et al., 2019)
- `node_gin`: isomorphism layers that encode nodes
- `mlp`: the graph-agnostic baseline
- `sgc`: hops, then one linear map (Wu et al., 2019)
- `cheb_net`: Chebyshev polynomials of the Laplacian (Defferrard et al., 2016)
- `egc`: shared bases, which every node combines by weights of its own (Tailor et al., 2022)
- `pna`: aggregations scaled by degrees (Corso et al., 2020)
- `seal`: links by the part of the graph around both nodes (Zhang and Chen, 2018)
- `neighbourhood`: scores of links by common neighbours
- `nearest_neighbours`: the nearest points of each point
- `label_propagation`: training labels, passed along edges (Huang et al., 2021)
- `deep/`: networks of many layers under one frame (Dwivedi et al., 2023)
- `embeddings/`: codes found without labels, then a linear map; and infomax for pre-training
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "budgets": ("Width", "find_width", "refuse_beyond"),
    "building": ("Options", "build", "count_parameters", "load_parts", "options_of"),
    "catalogue": (
        "MODELS",
        "describe",
        "describe_all",
        "has_code_for_each_node",
        "readdress",
        "register_model",
        "renew_code",
        "usual_models",
    ),
    "options": ("Defaults", "MOST_COUNTED", "Sizes"),
    "words": ("find_target", "parse_word"),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name in __all__:
        return find_public(__name__, _PUBLIC, name)
    from gnz_track.models.catalogue import MODULES

    return find_public(__name__, {module: (cls,) for cls, module in MODULES.items() if cls == name}, name)


def __dir__() -> list[str]:
    from gnz_track.models.catalogue import MODULES

    return sorted({*__all__, *MODULES})
