// Sums and largest of what neighbours send: their features, or these with features of the edges, rectified.
#include "edges.h"

// out [n_rows, width]: the largest of the rows of x [n_columns, width] that a row has entries for; zero without any.
EXPORT void find_largest(const Edges* edges, Count width, const float* x, float* out) {
    if (width == 0) return;
    for (Count r = 0; r < edges->n_rows; r++) {
        const Row row(edges, r);
        float* to = out + r * width;
        if (row.n == 0)
            memset(to, 0, (size_t)width * sizeof(float));
        else
            memcpy(to, x + row.columns[0] * width, (size_t)width * sizeof(float));
        for (Count k = 1; k < row.n; k++) raise_to(to, x + row.columns[k] * width, width);
    }
}

// to_x [n_columns, width] += from the gradient: equal ones share it, as Torch has it, with the zero that it starts from.
EXPORT void find_largest_back(const Edges* edges, Count width, const float* x, const float* out, const float* gradient,
                              float* to_x) {
    const Scratch shares(width);
    for (Count r = 0; r < edges->n_rows; r++) {
        const float *g = gradient + r * width, *own = out + r * width;
        if (!has_any(g, width)) continue;
        const Row row(edges, r);
        for (Count c = 0; c < width; c++) shares.numbers[c] = own[c] == 0;
        for (Count k = 0; k < row.n; k++) count_equal(shares.numbers, x + row.columns[k] * width, own, width);
        for (Count c = 0; c < width; c++) shares.numbers[c] = g[c] / shares.numbers[c];
        for (Count k = 0; k < row.n; k++) {
            const Count source = row.columns[k] * width;
            add_where_equal(to_x + source, shares.numbers, x + source, own, width);
        }
    }
}

// out [n_rows, width] = sums of relu(x + e) over the entries of a row, with x [n_columns, width] of the source and e
// [n_entries, width] of the edge, in the order as given (Hu et al., 2020).
EXPORT void sum_rectified(const Edges* edges, Count width, const float* x, const float* e, float* out) {
    if (width == 0) return;
    for (Count r = 0; r < edges->n_rows; r++) {
        const Row row(edges, r);
        float* to = out + r * width;
        memset(to, 0, (size_t)width * sizeof(float));
        for (Count k = 0; k < row.n; k++) {
            const float *source = x + row.columns[k] * width, *edge = e + edges->order[row.first + k] * width;
            Count c = 0;
            for (; c + 16 <= width; c += 16) {
                const Block sent = load(source + c) + load(edge + c);
                store(to + c, load(to + c) + choose(sent, sent, Block{}));
            }
            for (; c < width; c++) {
                const float sent = source[c] + edge[c];
                to[c] += sent <= 0 ? 0 : sent;
            }
        }
    }
}

// Gradients of both, all of them zero before.
EXPORT void sum_rectified_back(const Edges* edges, Count width, const float* x, const float* e, const float* gradient,
                               float* to_x, float* to_e) {
    for (Count r = 0; r < edges->n_rows; r++) {
        const float* g = gradient + r * width;
        if (!has_any(g, width)) continue;
        const Row row(edges, r);
        for (Count k = 0; k < row.n; k++) {
            const Count source = row.columns[k] * width, edge = edges->order[row.first + k] * width;
            Count c = 0;
            for (; c + 16 <= width; c += 16) {
                const Block share = choose(load(x + source + c) + load(e + edge + c), load(g + c), Block{});
                store(to_x + source + c, load(to_x + source + c) + share);
                store(to_e + edge + c, share);
            }
            for (; c < width; c++) {
                const float share = x[source + c] + e[edge + c] <= 0 ? 0 : g[c];
                to_x[source + c] += share;
                to_e[edge + c] = share;
            }
        }
    }
}
