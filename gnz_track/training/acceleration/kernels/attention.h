// Attention over the edges that enter a node: softmax by head, dropout, sums, and the way back.
#pragma once
#include "edges.h"

constexpr Count MOST_HEADS = 64;

// Rows of x, of the output and of all that is like them are [heads, width]; `weights` and `bits` are [n_entries, heads],
// weights by rows of the matrix, bits in the order of the edges as given. Without bits nothing is dropped.
struct Attention {
    const Edges* edges;
    Count heads, width;
    const Bit* bits;
    float scale;
    float* weights;
};

// Heads are known when the kernel is compiled (KNOWN) for those that models have, so that loops over them are none.
#define FOR_HEADS(FUNCTION, ATTENTION, ...)                          \
    switch ((ATTENTION)->heads) {                                    \
        case 1: return FUNCTION<1>(ATTENTION, __VA_ARGS__);          \
        case 4: return FUNCTION<4>(ATTENTION, __VA_ARGS__);          \
        case 8: return FUNCTION<8>(ATTENTION, __VA_ARGS__);          \
        default: return FUNCTION<0>(ATTENTION, __VA_ARGS__);         \
    }

// scores [n, heads] become weights that sum to one over n; the guard is that of PyG.
template <int KNOWN>
INLINE void softmax(float* scores, Count n, Count some_heads) {
    const Count heads = KNOWN ? KNOWN : some_heads;
    float highest[MOST_HEADS], sums[MOST_HEADS];
    for (Count h = 0; h < heads; h++) highest[h] = -INFINITY, sums[h] = 0;
    for (Count k = 0; k < n; k++)
        for (Count h = 0; h < heads; h++) {
            const float score = scores[k * heads + h];
            highest[h] = score > highest[h] ? score : highest[h];
        }
    for (Count k = 0; k < n; k++)
        for (Count h = 0; h < heads; h++) scores[k * heads + h] -= highest[h];
    Count i = 0;
    for (; i + 16 <= n * heads; i += 16) store(scores + i, exponential(load(scores + i)));
    if (i < n * heads) store_some(scores + i, exponential(load_some(scores + i, n * heads - i, scores)), n * heads - i);
    for (Count k = 0; k < n; k++)
        for (Count h = 0; h < heads; h++) sums[h] += scores[k * heads + h];
    for (Count h = 0; h < heads; h++) sums[h] += 1e-16f;
    for (Count k = 0; k < n; k++)
        for (Count h = 0; h < heads; h++) scores[k * heads + h] /= sums[h];
}

// out [heads, width]: sums of x over the entries of a row, each head by its own weights, and added to
template <int KNOWN>
INLINE void attend(const Attention* a, Row row, const float* x, const float* added, float* out, float* dropped) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width, stride = heads * width;
    const float* weights = a->weights + row.first * heads;
    if (a->bits) {
        for (Count k = 0; k < row.n; k++) {
            const Bit* bits = a->bits + (Count)a->edges->order[row.first + k] * heads;
            for (Count h = 0; h < heads; h++)
                dropped[k * heads + h] = weights[k * heads + h] * ((float)bits[h] * a->scale);
        }
        weights = dropped;
    }
    const float* end = x + a->edges->n_columns * stride;
    for (Count h = 0; h < heads; h++) {
        Count c = h * width;
        const Count last = c + width;
        auto own = [&] { return added ? added + c : nullptr; };
        for (; c + 64 <= last; c += 64) sum_row<4>(row, x + c, stride, weights + h, heads, nullptr, own(), out + c);
        for (; c + 16 <= last; c += 16) sum_row<1>(row, x + c, stride, weights + h, heads, nullptr, own(), out + c);
        if (c < last && width >= 16)
            // Those before are summed once more, to the same.
            c = last - 16, sum_row<1>(row, x + c, stride, weights + h, heads, nullptr, own(), out + c);
        else if (c < last)
            sum_row_rest(row, x + c, stride, end, last - c, weights + h, heads, nullptr, own(), out + c);
    }
}

// From the gradient [heads, width] of one row: sources' gradient += their share; to_scores [n, heads] = that of scores.
// What was dropped is left out of a list first, so that the processor has no branch to guess.
template <int KNOWN>
INLINE void attend_back(const Attention* a, Row row, const float* x, const float* gradient, float* to_x,
                        float* to_scores) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width;
    const float *weights = a->weights + row.first * heads, scale = a->bits ? a->scale : 1.f;
    constexpr Count SIZE = 1024;
    int32_t places[SIZE];
    for (Count first = 0; first < row.n; first += SIZE / MOST_HEADS) {
        const Count end = first + SIZE / MOST_HEADS < row.n ? first + SIZE / MOST_HEADS : row.n;
        Count n = 0;
        for (Count k = first; k < end; k++) {
            const Bit* bits = a->bits ? a->bits + (Count)a->edges->order[row.first + k] * heads : nullptr;
            for (Count h = 0; h < heads; h++) {
                places[n] = (int32_t)(k * heads + h);
                n += bits ? bits[h] : 1;
                to_scores[k * heads + h] = 0;
            }
        }
        for (Count i = 0; i < n; i++) {
            const Count h = places[i] % heads, k = places[i] / heads;
            const Count source = (row.columns[k] * heads + h) * width;
            const float* g = gradient + h * width;
            const float share = weights[places[i]] * scale;
            Count c = 0;
            Block sums = {};
            for (; c + 16 <= width; c += 16) {
                const Block own = load(g + c);
                sums = sums + own * load(x + source + c);
                store(to_x + source + c, load(to_x + source + c) + share * own);
            }
            float sum = c ? total(sums) : 0.f;
            for (; c < width; c++) {
                sum += g[c] * x[source + c];
                to_x[source + c] += share * g[c];
            }
            to_scores[places[i]] = scale * sum;
        }
    }
    float sums[MOST_HEADS] = {};
    for (Count k = 0; k < row.n; k++)
        for (Count h = 0; h < heads; h++) sums[h] += weights[k * heads + h] * to_scores[k * heads + h];
    for (Count k = 0; k < row.n; k++)
        for (Count h = 0; h < heads; h++)
            to_scores[k * heads + h] = weights[k * heads + h] * (to_scores[k * heads + h] - sums[h]);
}
