"""The table of models, and every way to bring one's own. No torch here.

A model is described by a :class:`~gnz_track.types.ModelRow`. Users may hand over a registered name, a
``"package.module:Class"``, a class (with a ``task_types`` attribute, or registered), or a tuple
``(class, task_types, factory)``; :func:`describe` turns each into a row.

Models of the published space of settings that are not among the usual ones: rows, to be run by name of their row.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, overload

from gnz_track.errors import ModelInvalid, TargetMissing
from gnz_track.registry import Registry, import_target, is_target
from gnz_track.types import ModelRow, TaskType
from gnz_track.user_code.digests import describe_own, target_of
from gnz_track.user_code.modules import is_ours

__all__ = [
    "CLASSES_OF_SPACE",
    "MODELS",
    "MODULES",
    "ROOM",
    "SPACE_ROWS",
    "describe",
    "describe_all",
    "readdress",
    "register_model",
    "renew_code",
    "usual_models",
]


ROOM = "gnz_track.models"

_NODES, _LINKS, _EDGES = (TaskType.node_cls,), (TaskType.link_pred,), (TaskType.edge_cls,)
# Name, target below this package, kinds of problem, whether heads carry it there, what it is.
_ROWS: tuple[tuple[str, str, tuple[TaskType, ...], bool, str], ...] = (
    ("SGC", "sgc", tuple(TaskType), True, "hops, then one linear map (Wu et al., 2019)"),
    (
        "ChebNet",
        "cheb_net",
        tuple(TaskType),
        True,
        "Chebyshev polynomials, 2 layers (Defferrard et al., 2016)",
    ),
    (
        "AveragedGAT",
        "averaged_gat",
        tuple(TaskType),
        True,
        "attention, 2 layers, heads averaged last (Velickovic et al., 2018)",
    ),
    ("NodeGIN", "node_gin", tuple(TaskType), True, "isomorphism layers of nodes (Xu et al., 2019)"),
    ("EGC", "egc", tuple(TaskType), True, "bases combined by every node, 2 layers (Tailor et al., 2022)"),
    (
        "PNA",
        "pna",
        _NODES + _LINKS + _EDGES,
        True,
        "aggregation scaled by degrees, 2 layers (Corso et al., 2020)",
    ),
    (
        "SpectralEmbedding",
        "embeddings.spectral_embedding",
        _NODES + _LINKS,
        False,
        "eigenvectors, then a linear map (Belkin and Niyogi, 2003)",
    ),
    (
        "GraRep",
        "embeddings.gra_rep",
        _NODES + _LINKS,
        False,
        "singular vectors of a power, then a linear map (Cao et al., 2015)",
    ),
    (
        "DGILinear",
        "embeddings.dgi_linear",
        _NODES + _LINKS,
        False,
        "codes by infomax, then a linear map (Velickovic et al., 2019)",
    ),
    (
        "Node2Vec",
        "embeddings.node2vec",
        _NODES + _LINKS,
        False,
        "codes of random walks, then a linear map (Grover and Leskovec, 2016)",
    ),
    (
        "LabelPropagation",
        "label_propagation",
        _NODES,
        False,
        "training labels passed along edges, no weights (Huang et al., 2021)",
    ),
    ("SEAL", "seal", _LINKS, False, "a network of the graph around each pair (Zhang and Chen, 2018)"),
    ("Jaccard", "neighbourhood", _LINKS, False, "share of neighbours in common (Jaccard, 1901)"),
    (
        "AdamicAdar",
        "neighbourhood",
        _LINKS,
        False,
        "neighbours in common, rare ones more (Adamic and Adar, 2003)",
    ),
    (
        "ResourceAllocation",
        "neighbourhood",
        _LINKS,
        False,
        "neighbours in common over their degrees (Zhou et al., 2009)",
    ),
)
SPACE_ROWS: dict[str, ModelRow] = {
    name: ModelRow(
        name=name,
        target=f"{ROOM}:{name}",
        task_types=task_types,
        is_encoder=is_encoder,
        description=text,
    )
    for name, _, task_types, is_encoder, text in _ROWS
}
CLASSES_OF_SPACE = {name: module for name, module, *_ in _ROWS}


MODELS: Registry[ModelRow] = Registry(
    "model", command="gnz models", entry_point_group="gnz_track.models", row_type=ModelRow
)

_ENCODER_TASKS = tuple(TaskType)
_GRAPH_TASKS = (TaskType.graph_cls, TaskType.graph_reg)
_REMEDY = (
    "give the class an attribute task_types = {'node_cls', ...}, decorate it with @register_model(task_type=...), "
    "or pass (class, task_types, factory)"
)

# Class -> its module below this room. Rows, and with them all stores, name the room alone, so that modules may move.
MODULES: dict[str, str] = dict(CLASSES_OF_SPACE)


def _offer(name: str, module: str) -> str:
    MODULES[name] = module
    return f"{ROOM}:{name}"


_BUILT_IN: tuple[tuple[str, str, bool, str], ...] = (
    ("GCN", "gcn", True, "graph convolution, 2 layers (Kipf and Welling, 2017)"),
    ("GAT", "gat", True, "graph attention, 2 layers, 8 heads (Velickovic et al., 2018)"),
    ("GraphSAGE", "graph_sage", True, "mean aggregation, 2 layers (Hamilton et al., 2017)"),
    ("GraphTransformer", "graph_transformer", True, "attention with keys and values, 2 layers (Shi et al., 2021)"),
    ("GIN", "gin", False, "graph isomorphism network, 3 layers (Xu et al., 2019)"),
    ("MLP", "mlp", True, "2 linear layers that see no edge: the sanity row"),
)
for _name, _module, _is_encoder, _text in _BUILT_IN:
    MODELS.add(
        _name,
        ModelRow(
            name=_name,
            target=_offer(_name, _module),
            task_types=_ENCODER_TASKS if _is_encoder else _GRAPH_TASKS,
            is_encoder=_is_encoder,
            description=_text,
        ),
    )

# Under the frame of `deep/`; no sweep takes them unless they are named, or its protocol gives every model a budget.
_LINKS_ONLY, _DENSE_TASKS = (TaskType.link_pred,), (TaskType.node_cls, *_GRAPH_TASKS, TaskType.edge_cls)
_DEEP: tuple[tuple[str, str, tuple[TaskType, ...], str], ...] = (
    ("DeepMLP", "deep_mlp", _ENCODER_TASKS, "linear layers under the deep frame: the sanity row of its reports"),
    ("DeepGCN", "deep_gcn", _ENCODER_TASKS, "deep graph convolution, no loops (Kipf and Welling, 2017)"),
    ("DeepMeanGCN", "deep_gcn", _ENCODER_TASKS, "deep convolution by the mean over neighbours"),
    ("DeepGraphSAGE", "deep_graph_sage", _ENCODER_TASKS, "deep max pooling (Hamilton et al., 2017)"),
    ("MoNet", "monet", _ENCODER_TASKS, "Gaussian kernels on degrees (Monti et al., 2017)"),
    ("DeepGAT", "deep_gat", _ENCODER_TASKS, "deep attention, 8 heads (Velickovic et al., 2018)"),
    ("GatedGCN", "gated_gcn", _ENCODER_TASKS, "gated convolution with codes of edges (Bresson and Laurent, 2017)"),
    ("DeepGIN", "deep_gin", _ENCODER_TASKS, "isomorphism layers, all of them read out (Xu et al., 2019)"),
    ("GPS", "gps", _ENCODER_TASKS, "convolution and global attention (Rampasek et al., 2022)"),
    ("RingGNN", "ring_gnn", _DENSE_TASKS, "equivariant maps of dense tensors, small graphs (Chen et al., 2019)"),
    ("ThreeWLGNN", "three_wl_gnn", _DENSE_TASKS, "products of dense tensors, small graphs (Maron et al., 2019)"),
    ("MatrixFactorisation", "matrix_factorisation", _LINKS_ONLY, "a code for every node (Koren et al., 2009)"),
)
# Name -> the deep model that it is, and the options that make it so.
_VARIANTS: tuple[tuple[str, str, Mapping[str, Any], str], ...] = (
    ("GatedGCN-E", "GatedGCN", {"edge_features": True}, "with the features of edges"),
    ("GatedGCN-feat", "GatedGCN", {"edge_repr": "edge_feat"}, "gates from both ends of an edge alone"),
    ("GatedGCN-iso", "GatedGCN", {"edge_repr": "isotropic"}, "without gates"),
    ("DeepGAT-E", "DeepGAT", {"edge_repr": "edge_repr", "edge_features": True}, "with the features of edges"),
    ("DeepGAT-repr", "DeepGAT", {"edge_repr": "edge_repr"}, "with codes of edges"),
    ("DeepGAT-iso", "DeepGAT", {"edge_repr": "isotropic"}, "without attention"),
    ("DeepGraphSAGE-E", "DeepGraphSAGE", {"edge_repr": "edge_repr", "edge_features": True}, "with edge features"),
    ("DeepGraphSAGE-repr", "DeepGraphSAGE", {"edge_repr": "edge_repr"}, "with codes of edges"),
    ("DeepGraphSAGE-feat", "DeepGraphSAGE", {"edge_repr": "edge_feat"}, "with gates from both ends of an edge"),
    ("GPS-E", "GPS", {"edge_features": True}, "with the features of edges"),
)
_DEEP_ROWS: dict[str, ModelRow] = {}
for _name, _module, _task_types, _text in _DEEP:
    _target = _offer(_name, f"deep.{_module}")
    _DEEP_ROWS[_name] = ModelRow(name=_name, target=_target, task_types=_task_types, description=_text)
for _name, _model, _options, _text in _VARIANTS:
    _DEEP_ROWS[_name] = replace(_DEEP_ROWS[_model], name=_name, options=_options, description=f"{_model} {_text}")
_RULE = ModelRow(
    name="NearestNeighbours",
    target=_offer("NearestNeighbours", "neighbourhood"),
    task_types=(TaskType.edge_cls,),
    description="links to the two nearest points: the sanity row of round trips (Dwivedi et al., 2023)",
)
# Asked for by name, as the deep ones are.
_BY_NAME_ONLY = {**_DEEP_ROWS, **SPACE_ROWS, _RULE.name: _RULE}
for _name, _row in _BY_NAME_ONLY.items():
    MODELS.add(_name, _row)

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

    ``task_type`` (or its alias ``task_types``) is one task type or several; ``factory(in, hidden, out, task_type=...)``
    builds the model in place of the class. A class defined again, as in a notebook, replaces its former self.

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
    """Return the models of a sweep that names none: all but those by name only; under a budget, the deep ones."""
    if has_budget:
        return [row for row in MODELS.rows() if row.name in _DEEP_ROWS and not row.options]
    return [_as_of_now(row) for row in MODELS.rows() if row.name not in _BY_NAME_ONLY]


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
        return [describe(model) for model in models]
    return [describe(models)]


def _is_inline(models: tuple[Any, ...]) -> bool:
    """Tell ``(class, task_types[, factory])`` from a tuple of models."""
    return len(models) in (2, 3) and isinstance(models[0], type) and not isinstance(models[1], type)


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
    str: _describe_name,
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
