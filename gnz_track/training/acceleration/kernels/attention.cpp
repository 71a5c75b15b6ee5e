// Attention by sums of two numbers, by sums of features that are bent, and by products of queries and keys.
#include "attention.h"

// Attention of GAT (Velickovic et al., 2018) on x [n, heads, width] = W h: scores are leaky sums of one number for the
// source and one for the target. What one call of the backward pass needs of the forward pass is in `Gat`.
struct Gat {
    const float *x, *to_source, *to_target;  // x; vectors [heads, width]
    float *of_source, *of_target;            // their products with x [n, heads]
    float slope;
};

// What the scores of one target have in common, where no kernel writes: a compiler then needs no branch for their signs.
struct Leaky {
    float slope, of_target[MOST_HEADS];
    Leaky(const Gat* gat, Count target, Count heads) : slope(gat->slope) {
        for (Count h = 0; h < heads; h++) of_target[h] = gat->of_target[target * heads + h];
    }
};

template <int KNOWN>
static void gat_with(const Attention* a, const Gat* gat, const float* bias, float* out) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width;
    for (Count i = 0; i < a->edges->n_columns * heads; i++) {
        const Count h = i % heads;
        gat->of_source[i] = dot(gat->x + i * width, gat->to_source + h * width, width);
        gat->of_target[i] = dot(gat->x + i * width, gat->to_target + h * width, width);
    }
    const Scratch dropped(longest_row(a->edges) * heads);
    for (Count r = 0; r < a->edges->n_rows; r++) {
        const Row row(a->edges, r);
        const Count place = a->edges->place(r);
        float* scores = a->weights + row.first * heads;
        const Leaky leaky(gat, place, heads);
        for (Count k = 0; k < row.n; k++) {
            const float* of_source = gat->of_source + row.columns[k] * heads;
            for (Count h = 0; h < heads; h++) {
                const float score = of_source[h] + leaky.of_target[h], bent = leaky.slope * score;
                scores[k * heads + h] = score > 0 ? score : bent;
            }
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
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width, n = a->edges->n_columns;
    const Scratch to_scores(longest_row(a->edges) * heads);
    for (Count r = 0; r < a->edges->n_rows; r++) {
        const float* g = gradient + r * heads * width;
        if (!has_any(g, heads * width)) continue;
        const Row row(a->edges, r);
        const Count place = a->edges->place(r);
        attend_back<KNOWN>(a, row, gat->x, g, to->x, to_scores.numbers);
        const Leaky leaky(gat, place, heads);
        float to_target[MOST_HEADS] = {};
        for (Count k = 0; k < row.n; k++) {
            const float* of_source = gat->of_source + row.columns[k] * heads;
            float* to_source = to->of_source + row.columns[k] * heads;
            for (Count h = 0; h < heads; h++) {
                const float score = of_source[h] + leaky.of_target[h];
                const float share = to_scores.numbers[k * heads + h] * (score > 0 ? 1.f : leaky.slope);
                to_source[h] += share;
                to_target[h] += share;
            }
        }
        for (Count h = 0; h < heads; h++) to->of_target[place * heads + h] = to_target[h];
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

// Scores of three inputs: Scores has `score` of one entry and head, from where its source and its target lie and which
// head it is, and `score_back`.
template <int KNOWN, class Scores>
static void scores_with(const Attention* a, const Scores* s, const float* x, const float* added, Count stride_of_added,
                        float* out) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width;
    const Scratch dropped(longest_row(a->edges) * heads);
    for (Count r = 0; r < a->edges->n_rows; r++) {
        const Row row(a->edges, r);
        float* scores = a->weights + row.first * heads;
        for (Count k = 0; k < row.n; k++)
            for (Count h = 0; h < heads; h++)
                scores[k * heads + h] =
                    s->score((row.columns[k] * heads + h) * width, (r * heads + h) * width, h * width, width);
        softmax<KNOWN>(scores, row.n, heads);
        const float* own = added ? added + r * stride_of_added : nullptr;
        attend<KNOWN>(a, row, x, own, out + r * heads * width, dropped.numbers);
    }
}

template <int KNOWN, class Scores>
static void scores_back_with(const Attention* a, const Scores* s, const float* x, const float* gradient, float* to_x,
                             float* const* to) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width;
    const Scratch to_scores(longest_row(a->edges) * heads);
    for (Count r = 0; r < a->edges->n_rows; r++) {
        const float* g = gradient + r * heads * width;
        if (!has_any(g, heads * width)) continue;
        const Row row(a->edges, r);
        attend_back<KNOWN>(a, row, x, g, to_x, to_scores.numbers);
        for (Count k = 0; k < row.n; k++)
            for (Count h = 0; h < heads; h++)
                s->score_back((row.columns[k] * heads + h) * width, (r * heads + h) * width, h * width, width,
                              to_scores.numbers[k * heads + h], to);
    }
}

// Attention of GATv2 (Brody et al., 2022): scores are products of a vector [heads, width] with leaky sums of features of
// the source and of the target [n, heads, width]; those of sources are what is summed.
struct Bent {
    const float *source, *target, *vector;
    float slope;

    INLINE float score(Count from, Count to, Count head, Count width) const {
        Count c = 0;
        Block sums = {};
        for (; c + 16 <= width; c += 16) {
            const Block sum = load(source + from + c) + load(target + to + c);
            sums = sums + load(vector + head + c) * choose(sum, sum, slope * sum);
        }
        float score = c ? total(sums) : 0.f;
        for (; c < width; c++) {
            const float sum = source[from + c] + target[to + c];
            score += vector[head + c] * (sum <= 0 ? slope * sum : sum);
        }
        return score;
    }

    // Adds the gradient of one score to those of source, target and vector.
    INLINE void score_back(Count from, Count to, Count head, Count width, float to_score, float* const* gradients) const {
        float *to_source = gradients[0] + from, *to_target = gradients[1] + to, *to_vector = gradients[2] + head;
        Count c = 0;
        for (; c + 16 <= width; c += 16) {
            const Block sum = load(source + from + c) + load(target + to + c);
            const Block share = to_score * load(vector + head + c), sloped = choose(sum, share, slope * share);
            store(to_source + c, load(to_source + c) + sloped);
            store(to_target + c, load(to_target + c) + sloped);
            store(to_vector + c, load(to_vector + c) + to_score * choose(sum, sum, slope * sum));
        }
        for (; c < width; c++) {
            const float sum = source[from + c] + target[to + c], share = to_score * vector[head + c];
            const float sloped = sum <= 0 ? slope * share : share;
            to_source[c] += sloped;
            to_target[c] += sloped;
            to_vector[c] += to_score * (sum <= 0 ? slope * sum : sum);
        }
    }
};

EXPORT void bent_forward(const Attention* a, const Bent* b, const float* bias, float* out) {
    FOR_HEADS(scores_with, a, b, b->source, bias, 0, out)
}

// Gradients, all of them zero before: of source, target and vector.
EXPORT void bent_back(const Attention* a, const Bent* b, const float* gradient, float* to_source, float* to_target,
                      float* to_vector) {
    float* const to[] = {to_source, to_target, to_vector};
    FOR_HEADS(scores_back_with, a, b, b->source, gradient, to_source, to)
}

// Attention by products of queries and keys, over the root of the width (Shi et al., 2021); all [n, heads, width].
struct Products {
    const float *query, *key, *value;
    float root;

    INLINE float score(Count from, Count to, Count, Count width) const {
        return dot(query + to, key + from, width) / root;
    }

    // Adds the gradient of one score to those of query and key.
    INLINE void score_back(Count from, Count to, Count, Count width, float to_score, float* const* gradients) const {
        const float share = to_score / root;
        add_to(gradients[0] + to, share, key + from, width);
        add_to(gradients[1] + from, share, query + to, width);
    }
};

// `added` [n, heads, width] may be null.
EXPORT void products_forward(const Attention* a, const Products* p, const float* added, float* out) {
    FOR_HEADS(scores_with, a, p, p->value, added, a->heads * a->width, out)
}

// Gradients, all of them zero before.
EXPORT void products_back(const Attention* a, const Products* p, const float* gradient, float* to_query, float* to_key,
                          float* to_value) {
    float* const to[] = {to_query, to_key};
    FOR_HEADS(scores_back_with, a, p, p->value, gradient, to_value, to)
}
