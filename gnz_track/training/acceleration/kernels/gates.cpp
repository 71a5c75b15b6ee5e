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

EXPORT void gate(const Gates* g, float* out) {
    const Count width = g->width, stride = 4 * width;
    for (Count r = 0; r < g->edges->n_rows; r++) {
        const Row row(g->edges, r);
        const float* own = g->nodes + r * stride;
        const int32_t* order = g->edges->order + row.first;
        over_columns(width, [&](Count c, Count) {
            const Block as_target = load(own + 3 * width + c);
            Block sum = {}, gates = {};
            for (Count k = 0; k < row.n; k++) {
                const float* source = g->nodes + row.columns[k] * stride + c;
                const Count edge = order[k] * width + c;
                Block score = load(source + 2 * width) + as_target;
                if (g->codes) score = load(g->codes + edge) + score;
                store(g->scores + edge, score);
                const Block open = sigmoid(score);
                sum = sum + load(source + width) * open;
                gates = gates + open;
            }
            const Count at = r * width + c;
            const Block below = gates + g->epsilon, mean = sum / below;
            store(g->below + at, below);
            store(g->means + at, mean);
            store(out + at, load(own + c) + mean);
        });
    }
}

// From the gradients of the output [n, width] and of the scores (or null): those of codes of nodes, and of the scores
// with all that goes through the gates, which is that of the codes of edges too.
EXPORT void gate_back(const Gates* g, const float* gradient, const float* of_scores, float* to_nodes, float* to_scores) {
    const Count width = g->width, stride = 4 * width;
    // What a node sends, and its part as a source, are added up as its edges come; the rest is known at once.
    for (Count r = 0; r < g->edges->n_rows; r++)
        memset(to_nodes + r * stride + width, 0, (size_t)(2 * width) * sizeof(float));
    for (Count r = 0; r < g->edges->n_rows; r++) {
        const Row row(g->edges, r);
        float* own = to_nodes + r * stride;
        const int32_t* order = g->edges->order + row.first;
        over_columns(width, [&](Count c, Count n_done) {
            const Count at = r * width + c;
            const Block from = load(gradient + at), each = from / load(g->below + at), mean = load(g->means + at);
            Block as_target = {};
            for (Count k = 0; k < row.n; k++) {
                const Count source = row.columns[k] * stride + c, edge = order[k] * width + c;
                const Block open = sigmoid(load(g->scores + edge));
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
