// Attention by sums of two numbers, by sums of features that are bent, and by products of queries and keys.
#include "attention.h"

// Attention of GAT (Velickovic et al., 2018) on x [n, heads, width] = W h: scores are leaky sums of one number for the
// source and one for the target. What one call of the backward pass needs of the forward pass is in `Gat`.
struct Gat {
    const float *x, *to_source, *to_target;  // x; vectors [heads, width]
    float *of_source, *of_target;            // their products with x [n, heads]
    float slope;
};

template <int KNOWN>
static void gat_with(const Attention* a, const Gat* gat, const float* bias, float* out) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width;
    for (Count i = 0; i < a->edges->n_rows * heads; i++) {
        const Count h = i % heads;
        gat->of_source[i] = dot(gat->x + i * width, gat->to_source + h * width, width);
        gat->of_target[i] = dot(gat->x + i * width, gat->to_target + h * width, width);
    }
    const Scratch dropped(longest_row(a->edges) * heads);
    for (Count r = 0; r < a->edges->n_rows; r++) {
        const Row row(a->edges, r);
        float* scores = a->weights + row.first * heads;
        for (Count k = 0; k < row.n; k++)
            for (Count h = 0; h < heads; h++) {
                const float score = gat->of_source[row.columns[k] * heads + h] + gat->of_target[r * heads + h];
                scores[k * heads + h] = score > 0 ? score : gat->slope * score;
            }
        softmax<KNOWN>(scores, row.n, heads);
        attend<KNOWN>(a, row, gat->x, bias, out + r * heads * width, dropped.numbers);
    }
}

EXPORT void gat_forward(const Attention* a, const Gat* gat, const float* bias, float* out) {
    FOR_HEADS(gat_with, a, gat, bias, out)
}

// Gradients, all of them zero before: of x, of both vectors, and of both products.
struct GatGradients {
    float *x, *to_source, *to_target, *of_source, *of_target;
};

template <int KNOWN>
static void gat_back_with(const Attention* a, const Gat* gat, const float* gradient, const GatGradients* to) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width, n = a->edges->n_rows;
    const Scratch to_scores(longest_row(a->edges) * heads);
    for (Count r = 0; r < n; r++) {
        const float* g = gradient + r * heads * width;
        if (!has_any(g, heads * width)) continue;
        const Row row(a->edges, r);
        attend_back<KNOWN>(a, row, gat->x, g, to->x, to_scores.numbers);
        for (Count k = 0; k < row.n; k++) {
            const Count source = row.columns[k] * heads;
            for (Count h = 0; h < heads; h++) {
                const float score = gat->of_source[source + h] + gat->of_target[r * heads + h];
                const float share = to_scores.numbers[k * heads + h] * (score > 0 ? 1.f : gat->slope);
                to->of_source[source + h] += share;
                to->of_target[r * heads + h] += share;
            }
        }
    }
    for (Count i = 0; i < n * heads; i++) {
        const float as_source = to->of_source[i], as_target = to->of_target[i];
        if (as_source == 0 && as_target == 0) continue;
        const Count h = i % heads * width;
        add_to(to->x + i * width, as_source, gat->to_source + h, width);
        add_to(to->x + i * width, as_target, gat->to_target + h, width);
        add_to(to->to_source + h, as_source, gat->x + i * width, width);
        add_to(to->to_target + h, as_target, gat->x + i * width, width);
    }
}

EXPORT void gat_back(const Attention* a, const Gat* gat, const float* gradient, const GatGradients* to) {
    FOR_HEADS(gat_back_with, a, gat, gradient, to)
}

// Attention of GATv2 (Brody et al., 2022): scores are products of a vector [heads, width] with leaky sums of features of
// the source and of the target [n, heads, width]; those of sources are what is summed.
struct Bent {
    const float *source, *target, *vector;
    float slope;
};

INLINE float score_bent(const Bent* b, Count source, Count target, Count at, Count width) {
    Count c = 0;
    Block sums = {};
    for (; c + 16 <= width; c += 16) {
        const Block sum = load(b->source + source + c) + load(b->target + target + c);
        sums = sums + load(b->vector + at + c) * choose(sum, sum, b->slope * sum);
    }
    float score = c ? total(sums) : 0.f;
    for (; c < width; c++) {
        const float sum = b->source[source + c] + b->target[target + c];
        score += b->vector[at + c] * (sum <= 0 ? b->slope * sum : sum);
    }
    return score;
}

template <int KNOWN>
static void bent_with(const Attention* a, const Bent* b, const float* bias, float* out) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width;
    const Scratch dropped(longest_row(a->edges) * heads);
    for (Count r = 0; r < a->edges->n_rows; r++) {
        const Row row(a->edges, r);
        float* scores = a->weights + row.first * heads;
        for (Count k = 0; k < row.n; k++)
            for (Count h = 0; h < heads; h++) {
                const Count source = (row.columns[k] * heads + h) * width, target = (r * heads + h) * width;
                scores[k * heads + h] = score_bent(b, source, target, h * width, width);
            }
        softmax<KNOWN>(scores, row.n, heads);
        attend<KNOWN>(a, row, b->source, bias, out + r * heads * width, dropped.numbers);
    }
}

EXPORT void bent_forward(const Attention* a, const Bent* b, const float* bias, float* out) {
    FOR_HEADS(bent_with, a, b, bias, out)
}

// Adds the gradient of one score to that of the source, of the target and of the vector.
INLINE void score_bent_back(const Bent* b, Count source, Count target, Count at, Count width, float to_score,
                            float* to_source, float* to_target, float* to_vector) {
    Count c = 0;
    for (; c + 16 <= width; c += 16) {
        const Block sum = load(b->source + source + c) + load(b->target + target + c);
        const Block share = to_score * load(b->vector + at + c), sloped = choose(sum, share, b->slope * share);
        store(to_source + source + c, load(to_source + source + c) + sloped);
        store(to_target + target + c, load(to_target + target + c) + sloped);
        store(to_vector + at + c, load(to_vector + at + c) + to_score * choose(sum, sum, b->slope * sum));
    }
    for (; c < width; c++) {
        const float sum = b->source[source + c] + b->target[target + c], share = to_score * b->vector[at + c];
        const float sloped = sum <= 0 ? b->slope * share : share;
        to_source[source + c] += sloped;
        to_target[target + c] += sloped;
        to_vector[at + c] += to_score * (sum <= 0 ? b->slope * sum : sum);
    }
}

template <int KNOWN>
static void bent_back_with(const Attention* a, const Bent* b, const float* gradient, float* to_source,
                           float* to_target, float* to_vector) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width;
    const Scratch to_scores(longest_row(a->edges) * heads);
    for (Count r = 0; r < a->edges->n_rows; r++) {
        const float* g = gradient + r * heads * width;
        if (!has_any(g, heads * width)) continue;
        const Row row(a->edges, r);
        attend_back<KNOWN>(a, row, b->source, g, to_source, to_scores.numbers);
        for (Count k = 0; k < row.n; k++)
            for (Count h = 0; h < heads; h++) {
                const Count source = (row.columns[k] * heads + h) * width, target = (r * heads + h) * width;
                score_bent_back(b, source, target, h * width, width, to_scores.numbers[k * heads + h], to_source,
                                to_target, to_vector);
            }
    }
}

// Gradients, all of them zero before.
EXPORT void bent_back(const Attention* a, const Bent* b, const float* gradient, float* to_source, float* to_target,
                      float* to_vector) {
    FOR_HEADS(bent_back_with, a, b, gradient, to_source, to_target, to_vector)
}

// Attention by products of queries and keys, over the root of the width (Shi et al., 2021); all [n, heads, width].
struct Products {
    const float *query, *key, *value;
    float root;
};

template <int KNOWN>
static void products_with(const Attention* a, const Products* p, const float* added, float* out) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width;
    const Scratch dropped(longest_row(a->edges) * heads);
    for (Count r = 0; r < a->edges->n_rows; r++) {
        const Row row(a->edges, r);
        float* scores = a->weights + row.first * heads;
        for (Count k = 0; k < row.n; k++)
            for (Count h = 0; h < heads; h++) {
                const float* key = p->key + (row.columns[k] * heads + h) * width;
                scores[k * heads + h] = dot(p->query + (r * heads + h) * width, key, width) / p->root;
            }
        softmax<KNOWN>(scores, row.n, heads);
        const Count at = r * heads * width;
        attend<KNOWN>(a, row, p->value, added ? added + at : nullptr, out + at, dropped.numbers);
    }
}

// `added` [n, heads, width] may be null.
EXPORT void products_forward(const Attention* a, const Products* p, const float* added, float* out) {
    FOR_HEADS(products_with, a, p, added, out)
}

template <int KNOWN>
static void products_back_with(const Attention* a, const Products* p, const float* gradient, float* to_query,
                               float* to_key, float* to_value) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width;
    const Scratch to_scores(longest_row(a->edges) * heads);
    for (Count r = 0; r < a->edges->n_rows; r++) {
        const float* g = gradient + r * heads * width;
        if (!has_any(g, heads * width)) continue;
        const Row row(a->edges, r);
        attend_back<KNOWN>(a, row, p->value, g, to_value, to_scores.numbers);
        for (Count k = 0; k < row.n; k++)
            for (Count h = 0; h < heads; h++) {
                const Count source = (row.columns[k] * heads + h) * width, target = (r * heads + h) * width;
                const float share = to_scores.numbers[k * heads + h] / p->root;
                add_to(to_query + target, share, p->key + source, width);
                add_to(to_key + source, share, p->query + target, width);
            }
    }
}

// Gradients, all of them zero before.
EXPORT void products_back(const Attention* a, const Products* p, const float* gradient, float* to_query, float* to_key,
                          float* to_value) {
    FOR_HEADS(products_back_with, a, p, gradient, to_query, to_key, to_value)
}
