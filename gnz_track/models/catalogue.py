"""The table of models, and every way to bring one's own. No torch here.

A model is described by a :class:`~gnz_track.types.ModelRow`. Users may hand over a registered name, a
``"package.module:Class"`` or ``"FILE.py:Class"``, both with options, a class (with a ``task_types`` attribute, or
registered), a ``functools.partial`` of one, or a tuple ``(class, task_types, factory)``; :func:`describe` turns each
into a row.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, overload

from gnz_track.errors import ModelInvalid, TargetMissing
from gnz_track.models.words import find_target, name_options, parse_word, plain_options, tell_apart
from gnz_track.registry import Registry, import_target, is_target
from gnz_track.types import ModelRow, TaskType, Value
from gnz_track.user_code.digests import describe_own
from gnz_track.user_code.modules import is_ours
from gnz_track.user_code.values import target_of

__all__ = [
    "MODELS",
    "MODULES",
    "ROOM",
    "describe",
    "describe_all",
    "has_code_for_each_node",
    "readdress",
    "register_model",
    "renew_code",
    "usual_models",
]

# Under which rows and stores name the classes of all models of this package.
ROOM = "gnz_track.models"

_ALL = tuple(TaskType)
_NODES, _LINKS, _EDGES = (TaskType.node_cls,), (TaskType.link_pred,), (TaskType.edge_cls,)
_NUMBERS_WITHIN = (TaskType.node_reg, TaskType.edge_reg)
_GRAPHS = (TaskType.graph_cls, TaskType.graph_reg)
# Which sweeps take a model that they do not name: those without a budget of parameters, those with one, or none.
USUAL, BUDGETED, BY_NAME = "usual", "budgeted", "by name"


class BuiltIn(NamedTuple):
    """A model of this package.

    ``module`` lies below this room, and its class is called like the model unless ``module:Class`` says otherwise;
    ``is_encoder`` says that heads carry its codes of nodes to each kind of problem, ``options`` belong to the name. One
    that ``is_of_all`` has a code for every node of the graph that it was made for, and is of no use on parts of it.
    """

    name: str
    module: str
    task_types: tuple[TaskType, ...]
    description: str
    is_encoder: bool = False
    sweeps: str = BY_NAME
    options: Mapping[str, Any] = {}
    is_of_all: bool = False

    @property
    def place(self) -> tuple[str, str]:
        """The class, and its module below this room."""
        module, _, cls = self.module.partition(":")
        return cls or self.name, module

    def describe(self) -> ModelRow:
        """Return the row under which it is registered."""
        return ModelRow(
            name=self.name,
            target=f"{ROOM}:{self.place[0]}",
            task_types=self.task_types,
            is_encoder=self.is_encoder,
            options=self.options,
            description=self.description,
        )


ROWS: tuple[BuiltIn, ...] = (
    BuiltIn("GCN", "gcn", _ALL, "graph convolution, 2 layers (Kipf and Welling, 2017)", is_encoder=True, sweeps=USUAL),
    BuiltIn(
        "GAT",
        "gat",
        _ALL,
        "graph attention, 2 layers, 8 heads (Velickovic et al., 2018)",
        is_encoder=True,
        sweeps=USUAL,
    ),
    BuiltIn(
        "GraphSAGE",
        "graph_sage",
        _ALL,
        "mean aggregation, 2 layers (Hamilton et al., 2017)",
        is_encoder=True,
        sweeps=USUAL,
    ),
    BuiltIn(
        "GraphTransformer",
        "graph_transformer",
        _ALL,
        "attention with keys and values, 2 layers (Shi et al., 2021)",
        is_encoder=True,
        sweeps=USUAL,
    ),
    BuiltIn("GIN", "gin", _GRAPHS, "graph isomorphism network, 3 layers (Xu et al., 2019)", sweeps=USUAL),
    BuiltIn("MLP", "mlp", _ALL, "2 linear layers that see no edge: the sanity row", is_encoder=True, sweeps=USUAL),
    # Under the frame of `deep/`.
    BuiltIn(
        "DeepMLP",
        "deep.isotropic",
        _ALL,
        "linear layers under the deep frame: the sanity row of its reports",
        sweeps=BUDGETED,
    ),
    BuiltIn(
        "DeepGCN", "deep.isotropic", _ALL, "deep graph convolution, no loops (Kipf and Welling, 2017)", sweeps=BUDGETED
    ),
    BuiltIn("DeepMeanGCN", "deep.isotropic", _ALL, "deep convolution by the mean over neighbours", sweeps=BUDGETED),
    BuiltIn("DeepGraphSAGE", "deep.isotropic", _ALL, "deep max pooling (Hamilton et al., 2017)", sweeps=BUDGETED),
    BuiltIn("MoNet", "deep.anisotropic", _ALL, "Gaussian kernels on degrees (Monti et al., 2017)", sweeps=BUDGETED),
    BuiltIn("DeepGAT", "deep.anisotropic", _ALL, "deep attention, 8 heads (Velickovic et al., 2018)", sweeps=BUDGETED),
    BuiltIn(
        "GatedGCN",
        "deep.anisotropic",
        _ALL,
        "gated convolution with codes of edges (Bresson and Laurent, 2017)",
        sweeps=BUDGETED,
    ),
    BuiltIn(
        "DeepGIN", "deep.isotropic", _ALL, "isomorphism layers, all of them read out (Xu et al., 2019)", sweeps=BUDGETED
    ),
    BuiltIn("GPS", "deep.gps", _ALL, "convolution and global attention (Rampasek et al., 2022)", sweeps=BUDGETED),
    BuiltIn(
        "RingGNN",
        "deep.dense",
        (*_NODES, *_GRAPHS, *_EDGES, *_NUMBERS_WITHIN),
        "equivariant maps of dense tensors, small graphs (Chen et al., 2019)",
        sweeps=BUDGETED,
    ),
    BuiltIn(
        "ThreeWLGNN",
        "deep.dense",
        (*_NODES, *_GRAPHS, *_EDGES, *_NUMBERS_WITHIN),
        "products of dense tensors, small graphs (Maron et al., 2019)",
        sweeps=BUDGETED,
    ),
    BuiltIn(
        "MatrixFactorisation",
        "deep.matrix_factorisation",
        _LINKS,
        "a code for every node (Koren et al., 2009)",
        sweeps=BUDGETED,
        is_of_all=True,
    ),
    BuiltIn(
        "GatedGCN-E",
        "deep.anisotropic:GatedGCN",
        _ALL,
        "GatedGCN with the features of edges",
        options={"edge_features": True},
    ),
    BuiltIn(
        "GatedGCN-feat",
        "deep.anisotropic:GatedGCN",
        _ALL,
        "GatedGCN gates from both ends of an edge alone",
        options={"edge_repr": "edge_feat"},
    ),
    BuiltIn(
        "GatedGCN-iso", "deep.anisotropic:GatedGCN", _ALL, "GatedGCN without gates", options={"edge_repr": "isotropic"}
    ),
    BuiltIn(
        "DeepGAT-E",
        "deep.anisotropic:DeepGAT",
        _ALL,
        "DeepGAT with the features of edges",
        options={"edge_repr": "edge_repr", "edge_features": True},
    ),
    BuiltIn(
        "DeepGAT-repr",
        "deep.anisotropic:DeepGAT",
        _ALL,
        "DeepGAT with codes of edges",
        options={"edge_repr": "edge_repr"},
    ),
    BuiltIn(
        "DeepGAT-iso", "deep.anisotropic:DeepGAT", _ALL, "DeepGAT without attention", options={"edge_repr": "isotropic"}
    ),
    BuiltIn(
        "DeepGraphSAGE-E",
        "deep.isotropic:DeepGraphSAGE",
        _ALL,
        "DeepGraphSAGE with edge features",
        options={"edge_repr": "edge_repr", "edge_features": True},
    ),
    BuiltIn(
        "DeepGraphSAGE-repr",
        "deep.isotropic:DeepGraphSAGE",
        _ALL,
        "DeepGraphSAGE with codes of edges",
        options={"edge_repr": "edge_repr"},
    ),
    BuiltIn(
        "DeepGraphSAGE-feat",
        "deep.isotropic:DeepGraphSAGE",
        _ALL,
        "DeepGraphSAGE with gates from both ends of an edge",
        options={"edge_repr": "edge_feat"},
    ),
    BuiltIn("GPS-E", "deep.gps:GPS", _ALL, "GPS with the features of edges", options={"edge_features": True}),
    # Of the published space of settings.
    BuiltIn("SGC", "sgc", _ALL, "hops, then one linear map (Wu et al., 2019)", is_encoder=True),
    BuiltIn("ChebNet", "cheb_net", _ALL, "Chebyshev polynomials, 2 layers (Defferrard et al., 2016)", is_encoder=True),
    BuiltIn(
        "AveragedGAT",
        "averaged_gat",
        _ALL,
        "attention, 2 layers, heads averaged last (Velickovic et al., 2018)",
        is_encoder=True,
    ),
    BuiltIn("NodeGIN", "node_gin", _ALL, "isomorphism layers of nodes (Xu et al., 2019)", is_encoder=True),
    BuiltIn("EGC", "egc", _ALL, "bases combined by every node, 2 layers (Tailor et al., 2022)", is_encoder=True),
    BuiltIn(
        "PNA",
        "pna",
        _NODES + _LINKS + _EDGES + _NUMBERS_WITHIN,
        "aggregation scaled by degrees, 2 layers (Corso et al., 2020)",
        is_encoder=True,
    ),
    BuiltIn(
        "SpectralEmbedding",
        "embeddings.factorisations",
        _NODES + _LINKS,
        "eigenvectors, then a linear map (Belkin and Niyogi, 2003)",
        is_of_all=True,
    ),
    BuiltIn(
        "GraRep",
        "embeddings.factorisations",
        _NODES + _LINKS,
        "singular vectors of a power, then a linear map (Cao et al., 2015)",
        is_of_all=True,
    ),
    BuiltIn(
        "DGILinear",
        "embeddings.dgi",
        _NODES + _LINKS,
        "codes by infomax, then a linear map (Velickovic et al., 2019)",
        is_of_all=True,
    ),
    BuiltIn(
        "Node2Vec",
        "embeddings.node2vec",
        _NODES + _LINKS,
        "codes of random walks, then a linear map (Grover and Leskovec, 2016)",
        is_of_all=True,
    ),
    BuiltIn(
        "LabelPropagation",
        "label_propagation",
        _NODES,
        "training labels passed along edges, no weights (Huang et al., 2021)",
    ),
    BuiltIn("SEAL", "seal", _LINKS, "a network of the graph around each pair (Zhang and Chen, 2018)"),
    BuiltIn("Jaccard", "neighbourhood", _LINKS, "share of neighbours in common (Jaccard, 1901)"),
    BuiltIn("AdamicAdar", "neighbourhood", _LINKS, "neighbours in common, rare ones more (Adamic and Adar, 2003)"),
    BuiltIn(
        "ResourceAllocation", "neighbourhood", _LINKS, "neighbours in common over their degrees (Zhou et al., 2009)"
    ),
    # Rules that reports hold networks against.
    BuiltIn(
        "NearestNeighbours",
        "nearest_neighbours",
        _EDGES,
        "links to the two nearest points: the sanity row of round trips (Dwivedi et al., 2023)",
    ),
)

MODELS: Registry[ModelRow] = Registry(
    "model", command="gnz models", entry_point_group="gnz_track.models", row_type=ModelRow
)
for _row in ROWS:
    MODELS.add(_row.name, _row.describe())

# Class -> its module below this room. Rows, and with them all stores, name the room alone, so that modules may move.
MODULES: dict[str, str] = dict(row.place for row in ROWS)
_SWEEPS = {row.name: row.sweeps for row in ROWS}
_OF_ALL = frozenset(f"{ROOM}:{row.place[0]}" for row in ROWS if row.is_of_all)
_REMEDY = (
    "give the class an attribute task_types = {'node_cls', ...}, decorate it with @register_model(task_type=...), "
    "or pass (class, task_types, factory)"
)

Class = TypeVar("Class", bound=type)
TaskTypes = str | TaskType | Iterable[str | TaskType]


@overload
def register_model(cls: Class, **options: Any) -> Class: ...
@overload
def register_model(cls: None = None, **options: Any) -> Callable[[Class], Class]: ...
def register_model(
    cls: type | None = None,
    *,
    task_type: TaskTypes | None = None,
    task_types: TaskTypes | None = None,
    factory: Callable[..., Any] | None = None,
    name: str = "",
) -> Any:
    """Register a model class, as a decorator or as a call.

    A class defined again, as in a notebook, replaces its former self.

    Parameters
    ----------
    cls
        the class; left out by a decorator with arguments
    task_type, task_types
        one kind of problem that the model serves, or several; one of both names is given
    factory
        called ``factory(in_channels, hidden_channels, out_channels, task_type=...)`` in place of the class
    name
        the name of the model; that of the class where none is given

    Examples
    --------
    >>> @register_model(task_type="node_cls", name="Constant")
    ... class Constant: ...
    >>> MODELS.remove("Constant").task_types
    (<TaskType.node_cls: 'node_cls'>,)
    """
    given = task_types if task_type is None else task_type
    if given is None or (task_type is not None and task_types is not None):
        label = getattr(cls, "__name__", "?")
        raise ModelInvalid(label, "exactly one of task_type= and task_types= is needed", remedy=_REMEDY)

    def register(target: type) -> type:
        if not isinstance(target, type):
            raise ModelInvalid(target, f"it is a {type(target).__name__}, not a class", remedy=_REMEDY)
        row = _row_of_class(target, _read_task_types(target, given), factory, name=name)
        if row.name in MODELS and _is_redefinition(MODELS.get(row.name), row):
            MODELS.remove(row.name)
        MODELS.add(row.name, row)
        _REGISTERED[target] = (row, factory)
        return target

    return register if cls is None else register(cls)


# Classes registered in this process and their factories, so that a class itself can be handed over afterwards.
_REGISTERED: dict[type, tuple[ModelRow, Callable[..., Any] | None]] = {}


def usual_models(*, has_budget: bool = False) -> list[ModelRow]:
    """Return the models of a sweep that names none: the usual ones and those of the user; under a budget, others."""
    if has_budget:
        return [row for row in MODELS.rows() if _SWEEPS.get(row.name) == BUDGETED]
    return [_as_of_now(row) for row in MODELS.rows() if _SWEEPS.get(row.name, USUAL) == USUAL]


def has_code_for_each_node(row: ModelRow) -> bool:
    """Tell whether a model of the package has a code for every node of one graph, and is of no use on parts of it."""
    return row.target in _OF_ALL


def renew_code(row: ModelRow) -> ModelRow:
    """Return a row with the digest of its code as that is by now; rows of other packages bring none.

    A row of ours needs none, and what travels by value is what it was. What cannot be imported says so in its cells.
    """
    targets = [target for target in (row.target, row.factory) if target]
    if row.payload or all(map(is_ours, targets)):
        return row
    try:
        code = describe_own(*map(import_target, targets))
    except (TargetMissing, ImportError):
        return row
    return replace(row, source_digest=code.digest, parts=code.parts, unseen=code.unseen)


def readdress(row: ModelRow) -> ModelRow:
    """Return a row of an earlier version with the targets that it has by now: they named modules of this package."""
    return replace(row, target=_lasting(row.target), factory=_lasting(row.factory))


def _lasting(target: str) -> str:
    """Return the target of a class of this room without its module."""
    name = target.rpartition(":")[2]
    return f"{ROOM}:{name}" if is_ours(target) and name in MODULES else target


def describe(model: object, *, name: str = "") -> ModelRow:
    """Return the row of whatever a user handed over as a model; ``name`` renames it."""
    for kind, read in _READERS.items():
        if isinstance(model, kind):
            row = read(model)
            return row if not name or name == row.name else replace(row, name=name)
    raise ModelInvalid(model, f"it is a {type(model).__name__}", remedy="pass a name, a class, a tuple or a ModelRow")


def describe_all(models: object) -> list[ModelRow]:
    """Return the rows of a mapping from names to models, of a list of models, or of a single one."""
    if isinstance(models, Mapping):
        return [describe(model, name=str(name)) for name, model in models.items()]
    if isinstance(models, list | set | frozenset) or (isinstance(models, tuple) and not _is_inline(models)):
        return tell_apart(map(describe, models))
    return [describe(models)]


def _is_inline(models: tuple[Any, ...]) -> bool:
    """Tell ``(class, task_types[, factory])`` from a tuple of models."""
    return len(models) in (2, 3) and isinstance(models[0], type) and not isinstance(models[1], type)


def _describe_word(text: str) -> ModelRow:
    if text in MODELS:
        return _as_of_now(MODELS.get(text))
    word = parse_word(text)
    return _with_options(_describe_name(find_target(word.reference)), word.options, label=word.label)


def _describe_partial(model: functools.partial[Any]) -> ModelRow:
    return _with_options(describe(model.func), plain_options(model))


def _with_options(row: ModelRow, options: Mapping[str, Value], *, label: str = "") -> ModelRow:
    name = label or (name_options(row.name, options) if options else row.name)
    return replace(row, name=name, options={**row.options, **options}) if (name, options) != (row.name, {}) else row


def _describe_name(text: str) -> ModelRow:
    if not is_target(text) or text in MODELS:
        return _as_of_now(MODELS.get(text))
    found = import_target(text)
    if isinstance(found, tuple):
        return _describe_tuple(found)
    if not isinstance(found, type):
        raise ModelInvalid(text, f"it is a {type(found).__name__}, not a class", remedy=_REMEDY)
    return _describe_class(found)


def _describe_class(cls: type) -> ModelRow:
    if cls in _REGISTERED:
        return _as_of_now(_REGISTERED[cls][0])
    target = _lasting(target_of(cls))
    for row in MODELS.rows():
        # Classes that travel by value have no target, and are not each other.
        if target and row.target == target:
            return row
    declared = getattr(cls, "task_types", None)
    if declared is None:
        raise ModelInvalid(cls.__qualname__, "it does not say which task types it serves", remedy=_REMEDY)
    return _row_of_class(cls, _read_task_types(cls, declared), None)


def _as_of_now(row: ModelRow) -> ModelRow:
    """Return a row anew whose class travels by value: what the class refers to may have changed since it was given."""
    for cls, (known, factory) in _REGISTERED.items():
        if known is row and row.payload:
            now = _row_of_class(cls, row.task_types, factory, name=row.name)
            return row if now.source_digest == row.source_digest else now
    return row


def _describe_tuple(model: tuple[Any, ...]) -> ModelRow:
    if not 1 <= len(model) <= 3 or not isinstance(model[0], type):
        raise ModelInvalid(model, "it is not (class, task_types, factory)", remedy=_REMEDY)
    cls, task_types, factory = (*model, None, None)[:3]
    if task_types is None:
        row = _describe_class(cls)
        return row if factory is None else _row_of_class(cls, row.task_types, factory)
    return _row_of_class(cls, _read_task_types(cls, task_types), factory)


_READERS: dict[type, Callable[[Any], ModelRow]] = {
    ModelRow: lambda row: row,
    str: _describe_word,
    functools.partial: _describe_partial,
    tuple: _describe_tuple,
    type: _describe_class,
}


def _read_task_types(cls: type, given: TaskTypes) -> tuple[TaskType, ...]:
    if not isinstance(given, Iterable):
        raise ModelInvalid(cls.__qualname__, f"its task types are {given!r}", remedy=_REMEDY)
    wanted = {TaskType(given)} if isinstance(given, str) else {TaskType(item) for item in given}
    if not wanted:
        raise ModelInvalid(cls.__qualname__, "its task types are empty", remedy=_REMEDY)
    return tuple(task_type for task_type in TaskType if task_type in wanted)


def _row_of_class(
    cls: type, task_types: tuple[TaskType, ...], factory: Callable[..., Any] | None, *, name: str = ""
) -> ModelRow:
    # An encoder factory of the same class is what a flag says better: it stays a name.
    is_encoder = factory is not None and getattr(factory, "encoder", None) is cls
    factory = None if is_encoder else factory
    target, factory_target = _lasting(target_of(cls)), "" if factory is None else target_of(factory)
    by_value = not target or (factory is not None and not factory_target)
    code = describe_own(*(item for item in (cls, factory) if item is not None))
    return ModelRow(
        name=name or cls.__name__,
        task_types=task_types,
        target="" if by_value else target,
        factory="" if by_value else factory_target,
        payload=_pickle((cls, factory)) if by_value else b"",
        source_digest=code.digest,
        parts=code.parts,
        unseen=code.unseen,
        is_encoder=is_encoder,
        description=(inspect.getdoc(cls) or "").partition("\n")[0] if "__doc__" in vars(cls) else "",
    )


def _is_redefinition(old: ModelRow, new: ModelRow) -> bool:
    return (old.payload != b"" and new.payload != b"") or old.target == new.target != ""


def _pickle(content: object) -> bytes:
    import cloudpickle

    return bytes(cloudpickle.dumps(content))
