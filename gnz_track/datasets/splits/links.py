"""Edges and triples for training, validation and test, with random non-edges and false triples.

These are drawn without rejection: a rank among what is absent becomes what it stands for. With the present codes sorted
as e_0 < e_1 < ..., e_j - j absent codes lie before e_j; hence the absent code of rank r is r + #{j : e_j - j <= r}, one
binary search per draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Generator, Tensor

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.mapped_tensors import digest_of
from gnz_track.datasets.splits.nodes_and_graphs import LINK_SHARES, check_policy, takes_published
from gnz_track.datasets.splits.temporal import TEMPORAL, cut_in_time, times_of
from gnz_track.errors import SplitImpossible
from gnz_track.seeds import derive

__all__ = [
    "LinkPart",
    "LinkSplit",
    "TriplePart",
    "TripleSplit",
    "corrupt_tails",
    "decode_pairs",
    "draw_non_edges",
    "encode_pairs",
    "split_links",
    "split_triples",
]

VALIDATION, TEST = 0.05, 0.10
_FEW = 1 << 22


@dataclass(frozen=True, eq=False)
class LinkPart:
    """Node pairs ``[2, P + N]``, the P edges first, then N non-edges, and their labels ``[P + N]`` of 1.0 and 0.0."""

    pairs: Tensor
    labels: Tensor


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """Training edges for message passing ``[2, M]``, and the pairs to score in each part.

    A published split has the non-edges of validation and test too; those of training are drawn as it goes.
    """

    message_edges: Tensor
    train: LinkPart
    val: LinkPart
    test: LinkPart
    is_published: bool = False

    @cached_property
    def digest(self) -> str:
        """The md5 over names and index bytes."""
        pairs = {f"{name}/pairs": getattr(self, name).pairs for name in ("train", "val", "test")}
        labels = {f"{name}/labels": getattr(self, name).labels for name in ("train", "val", "test")}
        return digest_of({"message_edges": self.message_edges, **pairs, **labels})

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of pairs in training and in test."""
        return self.train.labels.numel(), self.test.labels.numel()

    def without_test(self) -> LinkSplit:
        """Return the same with no test pair, as a blind problem has it."""
        return replace(self, test=LinkPart(self.test.pairs[:, :0], self.test.labels[:0]))


@dataclass(frozen=True, eq=False)
class TriplePart:
    """True triples, head and tail ``edge_index [2, n]`` and ``edge_type [n]``, and ``negatives [2, n]``.

    Each negative is its triple with another tail, such that it is true in no part that is known.
    """

    edge_index: Tensor
    edge_type: Tensor
    negatives: Tensor


@dataclass(frozen=True, eq=False)
class TripleSplit:
    """The published parts of a knowledge graph."""

    train: TriplePart
    val: TriplePart
    test: TriplePart

    @cached_property
    def digest(self) -> str:
        """The md5 over names and index bytes."""
        fields = ("edge_index", "edge_type", "negatives")
        parts = {"train": self.train, "val": self.val, "test": self.test}
        return digest_of({f"{name}/{key}": getattr(part, key) for name, part in parts.items() for key in fields})

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of triples in training and in test."""
        return self.train.edge_type.numel(), self.test.edge_type.numel()


def split_links(dataset: FrozenDataset, *, policy: str, seed: int, is_blind: bool = False) -> LinkSplit:
    """Hold out 5 % of the edges for validation and 10 % for test, with as many non-edges in each part.

    "published" takes ``train_link_index``, ``val_link_index``, ``val_non_link_index`` and the same two of test where
    the dataset has them: all edges pass messages then, and the seed changes nothing. Otherwise counts are rounded down
    as by PyG's ``RandomLinkSplit``, but no part is empty. An undirected edge counts once and passes messages both ways;
    repeated edges count once; self-loops pass messages and are never scored.

    Under "temporal" the latest 10 % are tested, and those before them validate; an edge that is repeated is of the time
    at which it was first there. Under "fifths" it is 16 % and 20 %, directions are dropped, and self-loops pass no
    message. Non-edges of every part are pairs that are an edge in no part, which is the usual protocol.

    Parameters
    ----------
    dataset, policy, seed
    is_blind
        Leave test empty and draw non-edges as if no test edge were known; training and validation edges are the same.
    """
    check_policy(policy)
    if takes_published(policy) and "train_link_index" in dataset.tensors:
        published = _published_links(dataset, policy)
        return published.without_test() if is_blind else published
    is_directed = dataset.is_directed and policy not in LINK_SHARES
    edges, loops = _distinct_edges(dataset, policy, is_directed=is_directed)
    positives: tuple[Tensor, ...] = tuple(_divide(edges, dataset, policy, seed, is_directed=is_directed))
    known, basis = edges, dataset.digest
    if is_blind:
        positives = (*positives[:2], edges[:, :0])
        known = torch.cat(positives, dim=1)
        basis = digest_of({"train": positives[0], "val": positives[1]})
    generator = Generator().manual_seed(derive(seed, basis, policy, "negatives"))
    n_known, n_nodes = known.size(1), dataset.n_nodes
    negatives = draw_non_edges(known, n_known, n_nodes=n_nodes, is_directed=is_directed, generator=generator)
    if negatives is None:
        reason = f"{n_known} edges among {n_nodes} nodes leave fewer non-edges than edges"
        raise SplitImpossible(dataset.name, policy, reason)
    parts = map(_pairs_and_labels, positives, negatives.split([part.size(1) for part in positives], dim=1))
    both_ways = positives[0] if is_directed else torch.cat([positives[0], positives[0].flip(0)], dim=1)
    message_edges = both_ways if policy in LINK_SHARES else torch.cat([both_ways, loops], dim=1)
    return LinkSplit(message_edges, *parts)


def split_triples(dataset: FrozenDataset, *, seed: int = 0, is_blind: bool = False) -> TripleSplit:
    """Return the published training, validation and test triples, each with one false tail drawn by seed.

    A false tail makes a triple that is true in no part, which is the usual protocol.

    Parameters
    ----------
    dataset, seed
    is_blind
        Leave test empty and draw false tails as if no test triple were known.
    """
    parts = {name: _read_triples(dataset, name) for name in ("train", "valid", "test")}
    basis = dataset.digest
    if is_blind:
        parts["test"] = parts["test"][:, :0]
        basis = digest_of({"train": parts["train"], "valid": parts["valid"]})
    known = torch.cat(list(parts.values()), dim=1)

    def finished(name: str) -> TriplePart:
        heads, relations, tails = parts[name]
        generator = Generator().manual_seed(derive(seed, basis, "published", f"{name} tails"))
        false = corrupt_tails(heads, relations, known=known, n_nodes=dataset.n_nodes, generator=generator)
        return TriplePart(torch.stack([heads, tails]), relations, torch.stack([heads, false]))

    return TripleSplit(finished("train"), finished("valid"), finished("test"))


def draw_non_edges(edges: Tensor, n: int, *, n_nodes: int, is_directed: bool, generator: Generator) -> Tensor | None:
    """Return ``n`` distinct random pairs ``[2, n]`` that are no edge; None where there are too few.

    Parameters
    ----------
    edges
        ``[2, m]``, each once.
    n, n_nodes, is_directed, generator
    """
    n_pairs = n_nodes * (n_nodes - 1) // (1 if is_directed else 2)
    n_absent = n_pairs - edges.size(1)
    if n_absent < n:
        return None
    present = encode_pairs(edges, n_nodes, is_directed=is_directed).sort().values
    ranks = _draw_distinct(n_absent, n, generator)
    codes = ranks + torch.searchsorted(present - torch.arange(present.numel()), ranks, right=True)
    return decode_pairs(codes, n_nodes, is_directed=is_directed)


def corrupt_tails(heads: Tensor, relations: Tensor, *, known: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    """Return one random tail ``[n]`` for each head and relation ``[n]`` that makes no true triple.

    Parameters
    ----------
    heads, relations
    known
        Heads, relations and tails of all true triples ``[3, K]``.
    n_nodes, generator
    """
    n_relations = int(known[1].max()) + 1
    codes = torch.unique((known[0] * n_relations + known[1]) * n_nodes + known[2])
    groups, sizes = torch.unique_consecutive(codes // n_nodes, return_counts=True)
    starts = sizes.cumsum(0) - sizes
    places = torch.searchsorted(groups, heads * n_relations + relations)
    n_absent = n_nodes - sizes[places]
    if bool((n_absent < 1).any()):
        raise SplitImpossible("triples", "published", "some head and relation lead to every entity, no tail is false")
    within = torch.arange(codes.numel()) - starts.repeat_interleave(sizes)
    group_numbers = torch.arange(groups.numel()).repeat_interleave(sizes)
    # Groups of codes are n_nodes + 1 apart, so that the search stays within the group of its head and relation.
    sorted_gaps = group_numbers * (n_nodes + 1) + codes % n_nodes - within
    drawn = torch.rand(heads.numel(), generator=generator, dtype=torch.float64)
    ranks = (drawn * n_absent).long().clamp(max=n_absent - 1)
    return ranks + torch.searchsorted(sorted_gaps, places * (n_nodes + 1) + ranks, right=True) - starts[places]


def encode_pairs(pairs: Tensor, n_nodes: int, *, is_directed: bool) -> Tensor:
    """Return the numbers of node pairs.

    Parameters
    ----------
    pairs
        ``[2, P]`` without self-loops, undirected ones with the smaller node first.
    n_nodes, is_directed
    """
    first, second = pairs
    if is_directed:
        return first * (n_nodes - 1) + second - (second > first).long()
    return second * (second - 1) // 2 + first


def decode_pairs(codes: Tensor, n_nodes: int, *, is_directed: bool) -> Tensor:
    """Return the node pairs ``[2, P]`` of their numbers; inverse of :func:`encode_pairs`.

    Parameters
    ----------
    codes, n_nodes, is_directed
    """
    if is_directed:
        first, second = codes // max(n_nodes - 1, 1), codes % max(n_nodes - 1, 1)
        return torch.stack([first, second + (second >= first).long()])
    second = ((1 + (1 + 8 * codes.double()).sqrt()) / 2).long()
    second -= (second * (second - 1) // 2 > codes).long()  # the root may be rounded past a whole number
    second += (second * (second + 1) // 2 <= codes).long()
    return torch.stack([codes - second * (second - 1) // 2, second])


def _draw_distinct(limit: int, n: int, generator: Generator) -> Tensor:
    if limit <= max(_FEW, 4 * n):
        return torch.randperm(limit, generator=generator)[:n]
    found = torch.empty(0, dtype=torch.int64)
    while found.numel() < n:  # at most a quarter is taken, so that one round is enough but for rare luck
        found = torch.unique(torch.cat([found, torch.randint(limit, (2 * n,), generator=generator)]))
    return found[torch.randperm(found.numel(), generator=generator)[:n]]


def _published_links(dataset: FrozenDataset, policy: str) -> LinkSplit:
    parts = [_published_part(dataset, policy, name) for name in ("train", "val", "test")]
    return LinkSplit(dataset.global_edge_index, *parts, is_published=True)


def _published_part(dataset: FrozenDataset, policy: str, name: str) -> LinkPart:
    keys = [f"{name}_link_index", *([] if name == "train" else [f"{name}_non_link_index"])]
    for key in keys:
        pairs = dataset.tensors.get(key)
        if pairs is None or pairs.dim() != 2 or pairs.size(0) != 2 or not pairs.numel():
            raise SplitImpossible(dataset.name, policy, f"published links need {key} of shape [2, n], with pairs in it")
        if len(dataset) != 1 or int(pairs.min()) < 0 or int(pairs.max()) >= dataset.n_nodes:
            reason = f"{key} names nodes {int(pairs.min())} to {int(pairs.max())}; of one graph, 0 to"
            raise SplitImpossible(dataset.name, policy, f"{reason} {dataset.n_nodes - 1} can be")
    links, *rest = (dataset.tensors[key].long() for key in keys)
    return _pairs_and_labels(links, rest[0] if rest else links[:, :0])


def _distinct_edges(dataset: FrozenDataset, policy: str, *, is_directed: bool) -> tuple[Tensor, Tensor]:
    """Return edges without repetition, undirected ones with the smaller node first, and self-loops."""
    if len(dataset) != 1:
        raise SplitImpossible(dataset.name, policy, f"links are predicted in one graph, it has {len(dataset)}")
    if "edge_index" not in dataset.tensors:
        raise SplitImpossible(dataset.name, policy, "it has no edge_index")
    source, target = dataset.tensors["edge_index"].long()
    if dataset.is_directed and not is_directed:
        source, target = torch.minimum(source, target), torch.maximum(source, target)
    codes = torch.unique(source * dataset.n_nodes + target)
    edges = torch.stack([codes // dataset.n_nodes, codes % dataset.n_nodes])
    is_loop = edges[0] == edges[1]
    scored = edges[:, ~is_loop] if is_directed else edges[:, edges[0] < edges[1]]
    return scored, edges[:, is_loop]


def _divide(edges: Tensor, dataset: FrozenDataset, policy: str, seed: int, *, is_directed: bool) -> Sequence[Tensor]:
    """Return the edges ``[2, n]`` of training, validation and test."""
    n_edges = edges.size(1)
    if policy == TEMPORAL:
        times = _first_times(edges, dataset, is_directed=is_directed)
        places = cut_in_time(times, (1 - VALIDATION - TEST, 1 - TEST), dataset, "link")
        return [edges[:, part] for part in places]
    n_val, n_test = (max(1, int(share * n_edges)) for share in LINK_SHARES.get(policy, (VALIDATION, TEST)))
    n_train = n_edges - n_val - n_test
    if n_train < 1:
        raise SplitImpossible(dataset.name, policy, f"{n_edges} edges without self-loops, at least 3 are needed")
    order = torch.randperm(n_edges, generator=Generator().manual_seed(derive(seed, dataset.digest, policy, "links")))
    return edges[:, order].split([n_train, n_val, n_test], dim=1)


def _first_times(edges: Tensor, dataset: FrozenDataset, *, is_directed: bool) -> Tensor:
    """Return the time ``[n]`` at which each of some different edges ``[2, n]``, in ascending order, was first there."""
    source, target = dataset.tensors["edge_index"].long()
    times = times_of(dataset, "link", source.numel())
    if not is_directed:
        source, target = torch.minimum(source, target), torch.maximum(source, target)
    is_scored = source != target
    codes = (source * dataset.n_nodes + target)[is_scored]
    place = torch.searchsorted(edges[0] * dataset.n_nodes + edges[1], codes)
    first = torch.empty(edges.size(1), dtype=times.dtype)
    return first.scatter_reduce(0, place, times[is_scored], "amin", include_self=False)


def _pairs_and_labels(positives: Tensor, negatives: Tensor) -> LinkPart:
    labels = torch.cat([torch.ones(positives.size(1)), torch.zeros(negatives.size(1))])
    return LinkPart(torch.cat([positives, negatives], dim=1), labels)


def _read_triples(dataset: FrozenDataset, name: str) -> Tensor:
    keys = (f"{name}_edge_index", f"{name}_edge_type")
    for key in keys:
        if key not in dataset.tensors or not dataset.tensors[key].numel():
            raise SplitImpossible(dataset.name, "published", f"a knowledge graph needs {key}, with triples in it")
    edges, types = (dataset.tensors[key].long() for key in keys)
    return torch.stack([edges[0], types, edges[1]])
