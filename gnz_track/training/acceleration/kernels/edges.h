// Edges of a graph as rows of a sparse matrix, and the sum over one row.
#pragma once
#include "vectors.h"

// A sparse matrix by rows: targets are rows, sources are columns. `order` tells the place of each entry in the list
// of edges as it was given, by which masks are drawn, `places` [n_rows] that of each row among the columns; null: its own.
struct Edges {
    Count n_rows, n_columns;
    const int32_t *pointers, *columns, *order, *places;

    INLINE Count place(Count row) const { return places ? places[row] : row; }
};

struct Row {
    const int32_t* columns;
    Count first, n;
    Row(const Edges* edges, Count row)
        : columns(edges->columns + edges->pointers[row]),
          first(edges->pointers[row]),
          n(edges->pointers[row + 1] - edges->pointers[row]) {}
};

static Count longest_row(const Edges* edges) {
    Count most = 0;
    for (Count r = 0; r < edges->n_rows; r++) {
        const Count n = edges->pointers[r + 1] - edges->pointers[r];
        most = n > most ? n : most;
    }
    return most;
}

// out[16 * BLOCKS] = sum over the entries of a row of weights[k * step] * x[column], divided, and added to
template <int BLOCKS>
INLINE void sum_row(Row row, const float* x, Count stride, const float* weights, Count step, const float* divisor,
                    const float* added, float* out) {
    Block sums[BLOCKS] = {};
    for (Count k = 0; k < row.n; k++) {
        const float* source = x + row.columns[k] * stride;
        const float weight = weights ? weights[k * step] : 1.f;
        for (int b = 0; b < BLOCKS; b++) sums[b] = sums[b] + weight * load(source + 16 * b);
    }
    for (int b = 0; b < BLOCKS; b++) {
        if (divisor) sums[b] = sums[b] / *divisor;
        if (added) sums[b] = sums[b] + load(added + 16 * b);
        store(out + 16 * b, sums[b]);
    }
}

// The same for the last columns, fewer than 16; x ends at `end`.
INLINE void sum_row_rest(Row row, const float* x, Count stride, const float* end, Count n, const float* weights,
                         Count step, const float* divisor, const float* added, float* out) {
    Block sum = {};
    for (Count k = 0; k < row.n; k++) {
        const float weight = weights ? weights[k * step] : 1.f;
        sum = sum + weight * load_some(x + row.columns[k] * stride, n, end);
    }
    if (divisor) sum = sum / *divisor;
    if (added) sum = sum + load_some(added, n, added);
    store_some(out, sum, n);
}
