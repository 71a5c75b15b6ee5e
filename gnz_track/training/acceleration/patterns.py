"""Positions of a sparse matrix, and how those of its parts and repetitions follow without sorting again."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from gnz_track.training.acceleration.library import Edges

__all__ = ["Pattern"]

with warnings.catch_warnings():
    # Torch tells once per process that its CSR tensors are in beta, which is no user's concern.
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
    _none = torch.tensor([], dtype=torch.int64)
    torch.sparse_csr_tensor(torch.tensor([0, 0]), _none, torch.tensor([]), (1, 1), check_invariants=False)

# Pointers, columns and the position of each entry in the pattern itself.
Transposed = tuple[Tensor, Tensor, Tensor]


class Pattern:
    """Positions of a sparse ``n_rows x n_columns`` matrix in CSR form, and of its transpose.

    Values of a pattern are vectors of shape ``[n_entries]`` in CSR order: by row, and within a row in the order in
    which the entries were given, so that sums run in the order of a scatter over the given list.
    """

    def __init__(
        self,
        pointers: Tensor,
        columns: Tensor,
        n_columns: int,
        *,
        order: Callable[[], Tensor],
        transposed: Callable[[], Transposed] | None = None,
        chosen: tuple[Tensor, int] | None = None,
    ) -> None:
        """Take CSR arrays ``pointers [n_rows + 1]`` and ``columns [n_entries]``, both int32.

        ``order()`` tells whence each entry came in the given list, ``transposed()`` saves the sort for the transpose;
        both are called at first need. ``chosen`` tells, of a pattern with some rows of another, the place of each
        row among the columns, and how many entries the other has.
        """
        self.n_rows, self.n_columns = pointers.numel() - 1, n_columns
        # Half as wide indices are what the sparse products of the CPU work with.
        self.pointers, self.columns = pointers, columns
        self._make_order, self._make_transposed = order, transposed
        self.places, self.n_given = (None, columns.numel()) if chosen is None else chosen
        self._offsets: Tensor | None = None
        self._order: Tensor | None = None
        self._rows: Tensor | None = None
        self._positions: Tensor | None = None
        self._transposed: Transposed | None = None
        self._ones: dict[torch.dtype, Tensor] = {}
        self._is_sound: bool | None = None
        # With the tensors in whose memory they are.
        self._edges: tuple[Edges, tuple[Tensor, ...]] | None = None
        self._ordered_edges: tuple[Edges, tuple[Tensor, ...]] | None = None
        self._transposed_edges: tuple[Edges, tuple[Tensor, ...]] | None = None

    @classmethod
    def from_entries(cls, rows: Tensor, columns: Tensor, n_rows: int, n_columns: int) -> Pattern:
        """Make a pattern from entries in any order.

        Parameters
        ----------
        rows, columns
            Row and column of each entry, ``[n_entries]``.
        n_rows, n_columns
            Shape of the matrix.
        """
        order = torch.argsort(rows, stable=True)
        return cls(_pointers(rows, n_rows), columns[order].int(), n_columns, order=lambda: order)

    @classmethod
    def from_sorted(cls, rows: Tensor, columns: Tensor, n_rows: int, n_columns: int) -> Pattern:
        """Make a pattern from entries whose rows do not descend; nothing is sorted.

        Parameters
        ----------
        rows, columns, n_rows, n_columns
            Those of :meth:`from_entries`.
        """
        n_entries = columns.numel()
        return cls(_pointers(rows, n_rows), columns.int(), n_columns, order=lambda: torch.arange(n_entries))

    @property
    def n_entries(self) -> int:
        """Number of entries."""
        return self.columns.numel()

    @property
    def offsets(self) -> Tensor:
        """The pointers in full width ``[n_rows + 1]``."""
        if self._offsets is None:
            self._offsets = self.pointers.long()
        return self._offsets

    @property
    def order(self) -> Tensor:
        """Place of each entry in the given list ``[n_entries]``."""
        if self._order is None:
            self._order = self._make_order()
        return self._order

    @property
    def rows(self) -> Tensor:
        """Row of each entry ``[n_entries]``."""
        if self._rows is None:
            self._rows = torch.repeat_interleave(
                torch.arange(self.n_rows, dtype=torch.int32), self.offsets.diff(), output_size=self.n_entries
            )
        return self._rows

    @property
    def positions(self) -> Tensor:
        """Place of each entry in the dense matrix, row after row ``[n_entries]``."""
        if self._positions is None:
            self._positions = self.rows.long() * self.n_columns + self.columns
        return self._positions

    @property
    def transposed(self) -> Transposed:
        """Pointers, columns and the position of each entry, for the transpose."""
        if self._transposed is None:
            self._transposed = self._make_transposed() if self._make_transposed else self._transpose()
        return self._transposed

    def ones(self, dtype: torch.dtype) -> Tensor:
        """Values of one ``[n_entries]``."""
        if dtype not in self._ones:
            self._ones[dtype] = torch.ones(self.n_entries, dtype=dtype)
        return self._ones[dtype]

    def matrix(self, values: Tensor) -> Tensor:
        """Return the sparse CSR matrix of some values ``[n_entries]``."""
        return torch.sparse_csr_tensor(
            self.pointers, self.columns, values, (self.n_rows, self.n_columns), check_invariants=False
        )

    def transposed_matrix(self, values: Tensor) -> Tensor:
        """Return the transpose of :meth:`matrix`."""
        pointers, columns, order = self.transposed
        return torch.sparse_csr_tensor(
            pointers, columns, values.index_select(0, order), (self.n_columns, self.n_rows), check_invariants=False
        )

    @property
    def is_sound(self) -> bool:
        """Whether every column is one; the compiled kernels would not notice."""
        if self._is_sound is None:
            low, high = (int(one) for one in torch.aminmax(self.columns)) if self.n_entries else (0, -1)
            self._is_sound = low >= 0 and high < self.n_columns
        return self._is_sound

    @property
    def edges(self) -> Edges:
        """The pattern as the kernels read it, without the order."""
        if self._edges is None:
            held = (self.pointers.contiguous(), self.columns.contiguous())
            places = None if self.places is None else self.places.data_ptr()
            self._edges = Edges(self.n_rows, self.n_columns, *(one.data_ptr() for one in held), None, places), held
        return self._edges[0]

    @property
    def ordered_edges(self) -> Edges:
        """The same with the order, which is only needed where masks are drawn by it."""
        if self._ordered_edges is None:
            edges, order = self.edges, self.order.int().contiguous()
            kept = edges.n_rows, edges.n_columns, edges.pointers, edges.columns
            made = Edges(*kept, order.data_ptr(), edges.places)
            self._ordered_edges = made, (order,)
        return self._ordered_edges[0]

    @property
    def transposed_edges(self) -> tuple[Edges, Tensor]:
        """The transpose as the kernels read it, and the position of each of its entries."""
        if self._transposed_edges is None:
            pointers, columns, order = (one.int().contiguous() for one in self.transposed)
            places = pointers.data_ptr(), columns.data_ptr(), order.data_ptr()
            self._transposed_edges = Edges(self.n_columns, self.n_rows, *places), (pointers, columns, order)
        edges, (*_, order) = self._transposed_edges
        return edges, order

    def entries(self, first: int, end: int) -> slice:
        """Return which entries rows ``first`` to ``end`` hold."""
        return slice(int(self.pointers[first]), int(self.pointers[end]))

    def entries_of(self, rows: Tensor) -> Tensor:
        """Return which entries some rows hold, one row after another."""
        counts = self.offsets.diff()[rows]
        first = self.offsets[rows] - (counts.cumsum(0) - counts)
        return torch.repeat_interleave(first, counts) + torch.arange(int(counts.sum()))

    def choose(self, rows: Tensor, columns: Tensor | None = None, places: Tensor | None = None) -> Pattern:
        """Return some rows, none of which has entries in other columns than those.

        Parameters
        ----------
        rows
            The rows, ascending.
        columns
            The columns, ascending, which are counted anew; None: all, as they are.
        places
            Place of each row among the columns, where the pattern is square.
        """
        entries, counts = self.entries_of(rows), self.offsets.diff()[rows]
        pointers = torch.zeros(rows.numel() + 1, dtype=torch.int32)
        torch.cumsum(counts, 0, dtype=torch.int32, out=pointers[1:])
        found = self.columns[entries]
        found = found if columns is None else torch.searchsorted(columns.int(), found, out_int32=True)
        n_columns = self.n_columns if columns is None else columns.numel()
        order = lambda: self.order[entries]  # noqa: E731
        return Pattern(
            pointers, found, n_columns, order=order, chosen=(None if places is None else places.int(), self.n_given)
        )

    def window(self, first: int, end: int) -> Pattern:
        """Return rows ``first`` to ``end`` of a square pattern whose entries there stay within those columns.

        So lie the graphs of a batch in the union of all of them.
        """
        entries = self.entries(first, end)

        def transposed() -> Transposed:
            pointers, columns, order = self.transposed
            own = slice(int(pointers[first]), int(pointers[end]))
            return pointers[first : end + 1] - own.start, columns[own] - first, order[own] - entries.start

        return Pattern(
            self.pointers[first : end + 1] - entries.start,
            self.columns[entries] - first,
            end - first,
            order=lambda: _rank(self.order[entries]),
            transposed=transposed,
        )

    def repeat(self, times: int) -> Pattern:
        """Return the block diagonal matrix of ``times`` copies."""
        n = self.n_entries

        def transposed() -> Transposed:
            pointers, columns, order = self.transposed
            return _repeat_pointers(pointers, times, n), _repeat(columns, times, self.n_rows), _repeat(order, times, n)

        return Pattern(
            _repeat_pointers(self.pointers, times, n),
            _repeat(self.columns, times, self.n_columns),
            times * self.n_columns,
            order=lambda: _repeat(self.order, times, n),
            transposed=transposed,
        )

    def copy(self) -> Pattern:
        """Return the same positions in memory of their own; what was sorted once is copied, and not sorted again."""

        def transposed() -> Transposed:
            pointers, columns, order = self.transposed
            return pointers.clone(), columns.clone(), order.clone()

        return Pattern(
            self.pointers.clone(),
            self.columns.clone(),
            self.n_columns,
            order=lambda: self.order.clone(),  # noqa: PLW0108  (made at first need)
            transposed=transposed,
        )

    def _transpose(self) -> Transposed:
        order = torch.argsort(self.columns, stable=True)
        return _pointers(self.columns, self.n_columns), self.rows[order], order.int()


def _pointers(index: Tensor, n: int) -> Tensor:
    pointers = torch.zeros(n + 1, dtype=torch.int32)
    torch.cumsum(torch.bincount(index, minlength=n), 0, dtype=torch.int32, out=pointers[1:])
    return pointers


def _rank(values: Tensor) -> Tensor:
    """Return the rank of distinct values ``[n]``, from 0."""
    ranks = torch.empty_like(values)
    ranks[torch.argsort(values)] = torch.arange(values.numel(), dtype=values.dtype)
    return ranks


def _repeat(index: Tensor, times: int, step: int) -> Tensor:
    """Return ``index`` again and again, each time with ``step`` added once more."""
    return (index + step * torch.arange(times, dtype=index.dtype).unsqueeze(1)).flatten()


def _repeat_pointers(pointers: Tensor, times: int, step: int) -> Tensor:
    return torch.cat([_repeat(pointers[:-1], times, step), pointers.new_tensor([times * step])])
