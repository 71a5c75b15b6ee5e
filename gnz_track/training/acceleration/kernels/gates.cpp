// Sums over neighbours that edges weigh: number by number by gates (Bresson and Laurent, 2017), or by several kernels.
#include "columns.h"
#include "edges.h"

INLINE Block sigmoid(Block x) {
    Block one;
    EACH one.part[i] = 1.f - Vector{};
    return one / (exponential(Block{} - x) + 1.f);
}

// Codes of nodes are [n, 4, width], of at least 16 columns: of a node itself, of what it sends, and of its part in the
// scores of the edges that leave it, and of those that enter it. `codes` of edges (or null) and `scores` are
// [n_entries, width], in the order of the edges as given. `means` and `below`, [n, width], are what gated sums are over
// the sums of the gates, and these sums.
struct Gates {
    const Edges* edges;
    Count width;
    const float *nodes, *codes;
    float *scores, *means, *below;
    float epsilon;
};

// Rows that are worked on together, so that what is computed number by number has long runs; at least one of them.
struct Together {
    const Edges* edges;
    Count width, row, end, first, n;

    Together(const Edges* edges, Count width) : edges(edges), width(width), row(0), end(0), first(0), n(0) {}

    bool next() {
        constexpr Count NUMBERS = 4096;
        row = end;
        if (row == edges->n_rows) return false;
        first = edges->pointers[row];
        do end++;
        while (end < edges->n_rows && (edges->pointers[end + 1] - first) * width <= NUMBERS);
        n = edges->pointers[end] - first;
        return true;
    }

    // As many numbers as any rows together have, one for every entry and column.
    static Count room(const Edges* edges, Count width) {
        Together rows(edges, width);
        Count most = 0;
        while (rows.next()) most = rows.n > most ? rows.n : most;
        return most * width;
    }
};

// Numbers are asked for ahead of their use: edges lead from row to row in ways that a processor does not foresee.
INLINE void ask_for(const float* numbers, Count n) {
    for (Count i = 0; i < n; i += 16) __builtin_prefetch(numbers + i);
}

// How many entries ahead; shared by all rows, so that it may be beyond those together.
constexpr Count AHEAD = 24;

// Scores [n] become gates.
INLINE void open_gates(float* scores, Count n) {
    Count i = 0;
    for (; i + 16 <= n; i += 16) store(scores + i, sigmoid(load(scores + i)));
    if (i < n) store_some(scores + i, sigmoid(load_some(scores + i, n - i, scores + n)), n - i);
}

EXPORT void gate(const Gates* g, float* out) {
    const Count width = g->width, stride = 4 * width, n_entries = g->edges->pointers[g->edges->n_rows];
    const Scratch gates(Together::room(g->edges, width));
    for (Together rows(g->edges, width); rows.next();) {
        for (Count r = rows.row; r < rows.end; r++) {
            const Row row(g->edges, r);
            const float* own = g->nodes + r * stride + 3 * width;
            if (r + AHEAD / 2 < g->edges->n_rows) {
                ask_for(own + AHEAD / 2 * stride, width);
                ask_for(own + AHEAD / 2 * stride - 3 * width, width);
            }
            for (Count k = 0; k < row.n; k++) {
                const float* source = g->nodes + row.columns[k] * stride + 2 * width;
                const Count edge = g->edges->order[row.first + k] * width, place = (row.first + k - rows.first) * width;
                if (row.first + k + AHEAD < n_entries) {
                    ask_for(g->nodes + row.columns[k + AHEAD] * stride + width, 2 * width);
                    if (g->codes) ask_for(g->codes + g->edges->order[row.first + k + AHEAD] * width, width);
                }
                over_columns(width, [&](Count c, Count) {
                    Block score = load(source + c) + load(own + c);
                    if (g->codes) score = load(g->codes + edge + c) + score;
                    store(g->scores + edge + c, score);
                    store(gates.numbers + place + c, score);
                });
            }
        }
        open_gates(gates.numbers, rows.n * width);
        for (Count r = rows.row; r < rows.end; r++) {
            const Row row(g->edges, r);
            const float *own = g->nodes + r * stride, *open = gates.numbers + (row.first - rows.first) * width;
            over_columns(width, [&](Count c, Count) {
                Block sum = {}, below = {};
                for (Count k = 0; k < row.n; k++) {
                    const Block share = load(open + k * width + c);
                    sum = sum + load(g->nodes + row.columns[k] * stride + width + c) * share;
                    below = below + share;
                }
                const Count at = r * width + c;
                below = below + g->epsilon;
                const Block mean = sum / below;
                store(g->below + at, below);
                store(g->means + at, mean);
                store(out + at, load(own + c) + mean);
            });
        }
    }
}

// From the gradients of the output [n, width] and of the scores (or null): those of codes of nodes, and of the scores
// with all that goes through the gates, which is that of the codes of edges too.
EXPORT void gate_back(const Gates* g, const float* gradient, const float* of_scores, float* to_nodes, float* to_scores) {
    const Count width = g->width, stride = 4 * width, n_entries = g->edges->pointers[g->edges->n_rows];
    const Scratch gates(Together::room(g->edges, width));
    // What a node sends, and its part as a source, are added up as its edges come, from zero, which is written shortly
    // before as edges tend to lead to nodes near by; the rest is known at once.
    Count n_clear = 0;
    const auto clear = [&](Count end) {
        for (; n_clear < end; n_clear++) memset(to_nodes + n_clear * stride + width, 0, (size_t)(2 * width) * sizeof(float));
    };
    for (Together rows(g->edges, width); rows.next();) {
        const int32_t *columns = g->edges->columns + rows.first, *order = g->edges->order + rows.first;
        for (Count k = 0; k < rows.n; k++) {
            clear(columns[k] + 1);
            memcpy(gates.numbers + k * width, g->scores + order[k] * width, (size_t)width * sizeof(float));
            if (of_scores) ask_for(of_scores + order[k] * width, width);
            ask_for(g->nodes + columns[k] * stride + width, width);
            if (rows.first + k + AHEAD < n_entries) ask_for(g->scores + order[k + AHEAD] * width, width);
        }
        open_gates(gates.numbers, rows.n * width);
        for (Count r = rows.row; r < rows.end; r++) {
            const Row row(g->edges, r);
            const int32_t* order = g->edges->order + row.first;
            const float* gates_of_row = gates.numbers + (row.first - rows.first) * width;
            float* own = to_nodes + r * stride;
            over_columns(width, [&](Count c, Count n_done) {
                const Count at = r * width + c;
                const Block from = load(gradient + at), each = from / load(g->below + at), mean = load(g->means + at);
                Block as_target = {};
                for (Count k = 0; k < row.n; k++) {
                    const Count source = row.columns[k] * stride + c, edge = order[k] * width + c;
                    const Block open = load(gates_of_row + k * width + c);
                    const Block off = load(g->nodes + source + width) - mean;
                    Block share = each * off * (open - open * open);
                    if (of_scores) share = share + load(of_scores + edge);
                    store(to_scores + edge, share);
                    as_target = as_target + share;
                    add_columns(to_nodes + source + width, each * open, n_done);
                    add_columns(to_nodes + source + 2 * width, share, n_done);
                }
                store(own + c, from);
                store(own + 3 * width + c, as_target);
            });
        }
    }
    clear(g->edges->n_rows);
}

// Sums over neighbours of several codes of each [n, kernels, width], of at least 16 columns, weighted by `weights`
// [n_entries, kernels] in the order of the edges as given (Monti et al., 2017).
struct Mixture {
    const Edges* edges;
    Count kernels, width;
    const float *codes, *weights;
};

EXPORT void mix(const Mixture* m, float* out) {
    const Count width = m->width, stride = m->kernels * width;
    for (Count r = 0; r < m->edges->n_rows; r++) {
        const Row row(m->edges, r);
        const int32_t* order = m->edges->order + row.first;
        over_columns(width, [&](Count c, Count) {
            Block sum = {};
            for (Count k = 0; k < row.n; k++) {
                const float *source = m->codes + row.columns[k] * stride + c, *weights = m->weights + order[k] * m->kernels;
                Block sent = weights[0] * load(source);
                for (Count i = 1; i < m->kernels; i++) sent = sent + weights[i] * load(source + i * width);
                sum = sum + sent;
            }
            store(out + r * width + c, sum);
        });
    }
}

// Gradients of codes, zero before, and of weights.
EXPORT void mix_back(const Mixture* m, const float* gradient, float* to_codes, float* to_weights) {
    const Count width = m->width;
    for (Count r = 0; r < m->edges->n_rows; r++) {
        const Row row(m->edges, r);
        const float* g = gradient + r * width;
        for (Count k = 0; k < row.n; k++) {
            const Count edge = m->edges->order[row.first + k] * m->kernels;
            for (Count i = 0; i < m->kernels; i++) {
                const Count source = (row.columns[k] * m->kernels + i) * width;
                to_weights[edge + i] = dot(g, m->codes + source, width);
                add_to(to_codes + source, m->weights[edge + i], g, width);
            }
        }
    }
}
