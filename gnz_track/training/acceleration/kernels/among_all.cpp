// Attention between all nodes of a graph, graph after graph, by products of queries and keys (Vaswani et al., 2017).
#include "vectors.h"

// `starts` [n_graphs + 1] says where the nodes of each graph begin; `codes` [n, 3, heads, width] are queries, keys and
// values, `factor` is what products are scaled by. `most` and `shares` [n, heads] are the largest score of a node, and 1
// over the sum of the exponentials of all of them less that.
struct AmongAll {
    const int64_t* starts;
    Count n_graphs, heads, width;
    const float* codes;
    float factor;
    float *most, *shares;
};

// Rows that are worked on at once.
constexpr int TOGETHER = 4;

INLINE Count up(Count n) { return (n + 15) / 16 * 16; }

// Keys or values of one head in one graph: by nodes [n, up(width)], and turned [width, up(n)], with zeros where none is.
struct Turned {
    const Scratch memory;
    float *rows, *turned;

    Turned(Count n, Count width)
        : memory(n * up(width) + width * up(n)), rows(memory.numbers), turned(memory.numbers + n * up(width)) {}

    void clear(Count n, Count width) { memset(rows, 0, (size_t)(n * up(width) + width * up(n)) * sizeof(float)); }

    void take(const float* from, Count n, Count width, Count stride) {
        clear(n, width);
        turned = rows + n * up(width);
        for (Count j = 0; j < n; j++)
            for (Count d = 0; d < width; d++)
                rows[j * up(width) + d] = turned[d * up(n) + j] = from[j * stride + d];
    }
};

// scores [ROWS, up(n)] = x [ROWS, width] times what is turned; rows of x are `stride` apart
template <int ROWS>
INLINE void multiply_by_turned(const float* x, Count stride, const float* turned, Count n, Count width, float* scores) {
    for (Count b = 0; b < up(n); b += 16) {
        Block sums[ROWS] = {};
        for (Count d = 0; d < width; d++) {
            const Block column = load(turned + d * up(n) + b);
            for (int r = 0; r < ROWS; r++) sums[r] = sums[r] + x[r * stride + d] * column;
        }
        for (int r = 0; r < ROWS; r++) store(scores + r * up(n) + b, sums[r]);
    }
}

// out [ROWS, width] = weights [ROWS, up(n)] times rows [n, up(width)]; rows of out are `stride` apart
template <int ROWS>
INLINE void multiply_by_rows(const float* weights, const float* rows, Count n, Count width, float* out, Count stride) {
    for (Count b = 0; b < width; b += 16) {
        Block sums[ROWS] = {};
        for (Count j = 0; j < n; j++) {
            const Block row = load(rows + j * up(width) + b);
            for (int r = 0; r < ROWS; r++) sums[r] = sums[r] + weights[r * up(n) + j] * row;
        }
        for (int r = 0; r < ROWS; r++)
            if (b + 16 <= width) store(out + r * stride + b, sums[r]);
            else store_some(out + r * stride + b, sums[r], width - b);
    }
}

// turned [width, up(n)] += x [ROWS, width]^T times weights [ROWS, up(n)]
template <int ROWS>
INLINE void add_turned(const float* x, Count stride, const float* weights, Count n, Count width, float* turned) {
    for (Count b = 0; b < up(n); b += 16) {
        Block own[ROWS];
        for (int r = 0; r < ROWS; r++) own[r] = load(weights + r * up(n) + b);
        for (Count d = 0; d < width; d++) {
            Block sum = load(turned + d * up(n) + b);
            for (int r = 0; r < ROWS; r++) sum = sum + x[r * stride + d] * own[r];
            store(turned + d * up(n) + b, sum);
        }
    }
}

// Scores [up(n)] become weights, given the largest and what all are multiplied by; zero after the last.
INLINE void weigh(float* scores, Count n, float factor, float most, float share) {
    for (Count b = 0; b < up(n); b += 16) store(scores + b, share * exponential(factor * load(scores + b) - most));
    for (Count j = n; j < up(n); j++) scores[j] = 0;
}

// The largest of scores [up(n)], whatever stands after the last.
INLINE float largest(float* scores, Count n) {
    for (Count j = n; j < up(n); j++) scores[j] = scores[0];
    Block most = load(scores);
    for (Count b = 16; b < up(n); b += 16) {
        const Block other = load(scores + b);
        most = choose(other - most, other, most);
    }
    float all[16], found;
    store(all, most);
    found = all[0];
    for (int k = 1; k < 16; k++) found = all[k] > found ? all[k] : found;
    return found;
}

struct Head {
    Count n, width, stride;
    const float *query, *key, *value;
    float *most, *shares;
    Count step;

    Head(const AmongAll* a, Count first, Count end, Count h)
        : n(end - first), width(a->width), stride(3 * a->heads * a->width),
          query(a->codes + first * stride + h * a->width), key(query + a->heads * a->width),
          value(key + a->heads * a->width), most(a->most + first * a->heads + h), shares(a->shares + first * a->heads + h),
          step(a->heads) {}
};

template <int ROWS>
INLINE void attend_rows(const AmongAll* a, const Head& head, Count i, const Turned& keys, const Turned& values,
                        float* scores, float* out) {
    const Count n = head.n, across = head.step * head.width;
    multiply_by_turned<ROWS>(head.query + i * head.stride, head.stride, keys.turned, n, head.width, scores);
    for (int r = 0; r < ROWS; r++) {
        float* own = scores + r * up(n);
        const float most = a->factor * largest(own, n);
        weigh(own, n, a->factor, most, 1.f);
        Block sums = {};
        for (Count b = 0; b < up(n); b += 16) sums = sums + load(own + b);
        const float share = 1.f / total(sums);
        for (Count b = 0; b < up(n); b += 16) store(own + b, share * load(own + b));
        head.most[(i + r) * head.step] = most;
        head.shares[(i + r) * head.step] = share;
    }
    multiply_by_rows<ROWS>(scores, values.rows, n, head.width, out + i * across, across);
}

static Count largest_graph(const AmongAll* a) {
    Count most = 0;
    for (Count g = 0; g < a->n_graphs; g++) {
        const Count n = a->starts[g + 1] - a->starts[g];
        most = n > most ? n : most;
    }
    return most;
}

// out [n, heads, width]
EXPORT void attend_among_all(const AmongAll* a, float* out) {
    const Count most = largest_graph(a), across = a->heads * a->width;
    Turned keys(most, a->width), values(most, a->width);
    const Scratch scores(TOGETHER * up(most));
    for (Count g = 0; g < a->n_graphs; g++)
        for (Count h = 0; h < a->heads; h++) {
            const Head head(a, a->starts[g], a->starts[g + 1], h);
            float* to = out + a->starts[g] * across + h * a->width;
            keys.take(head.key, head.n, head.width, head.stride);
            values.take(head.value, head.n, head.width, head.stride);
            Count i = 0;
            for (; i + TOGETHER <= head.n; i += TOGETHER)
                attend_rows<TOGETHER>(a, head, i, keys, values, scores.numbers, to);
            for (; i < head.n; i++) attend_rows<1>(a, head, i, keys, values, scores.numbers, to);
        }
}

// What one graph and head read and make backwards: output and gradient [n, heads, width], gradients of keys and values
// turned, and that of queries in its place.
struct Back {
    const float *out, *gradient;
    float *to_keys, *to_values, *to_query;
    float *weights, *shares;
};

template <int ROWS>
INLINE void attend_rows_back(const AmongAll* a, const Head& head, Count i, const Turned& keys, const Turned& values,
                             const Back& back) {
    const Count n = head.n, width = head.width, across = head.step * width;
    const float *query = head.query + i * head.stride, *g = back.gradient + i * across, *out = back.out + i * across;
    multiply_by_turned<ROWS>(query, head.stride, keys.turned, n, width, back.weights);
    multiply_by_turned<ROWS>(g, across, values.turned, n, width, back.shares);
    for (int r = 0; r < ROWS; r++) {
        float *weights = back.weights + r * up(n), *shares = back.shares + r * up(n);
        weigh(weights, n, a->factor, head.most[(i + r) * head.step], head.shares[(i + r) * head.step]);
        const float even = dot(g + r * across, out + r * across, width);
        for (Count b = 0; b < up(n); b += 16)
            store(shares + b, a->factor * (load(weights + b) * (load(shares + b) - even)));
    }
    multiply_by_rows<ROWS>(back.shares, keys.rows, n, width, back.to_query + i * head.stride, head.stride);
    add_turned<ROWS>(query, head.stride, back.shares, n, width, back.to_keys);
    add_turned<ROWS>(g, across, back.weights, n, width, back.to_values);
}

// Gradient of the codes from that of the output.
EXPORT void attend_among_all_back(const AmongAll* a, const float* out, const float* gradient, float* to_codes) {
    const Count most = largest_graph(a), across = a->heads * a->width;
    Turned keys(most, a->width), values(most, a->width);
    const Scratch scores(2 * TOGETHER * up(most)), turned(2 * a->width * up(most));
    for (Count g = 0; g < a->n_graphs; g++)
        for (Count h = 0; h < a->heads; h++) {
            const Head head(a, a->starts[g], a->starts[g + 1], h);
            const Count n = head.n, first = a->starts[g] * across + h * head.width, size = head.width * up(n);
            keys.take(head.key, n, head.width, head.stride);
            values.take(head.value, n, head.width, head.stride);
            memset(turned.numbers, 0, (size_t)(2 * size) * sizeof(float));
            float* to = to_codes + (head.query - a->codes);
            const Back back = {out + first, gradient + first, turned.numbers, turned.numbers + size, to, scores.numbers,
                               scores.numbers + TOGETHER * up(n)};
            Count i = 0;
            for (; i + TOGETHER <= n; i += TOGETHER) attend_rows_back<TOGETHER>(a, head, i, keys, values, back);
            for (; i < n; i++) attend_rows_back<1>(a, head, i, keys, values, back);
            for (Count j = 0; j < n; j++)
                for (Count d = 0; d < head.width; d++) {
                    to[j * head.stride + across + d] = back.to_keys[d * up(n) + j];
                    to[j * head.stride + 2 * across + d] = back.to_values[d * up(n) + j];
                }
        }
}
