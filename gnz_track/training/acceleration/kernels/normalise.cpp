// Batch normalisation of rows, with what comes before and after it: a sum with other rows, an activation, another sum.
#include "columns.h"
#include "elementwise.h"

// Columns are summed in parts of so many rows: sums are more precise, and a part is read from the nearest cache.
constexpr Count PART = 128;

// sums [SUMS, width] over n rows of what term(row, column, found) adds to found[SUMS], 16 columns at once
template <int SUMS, class Term>
INLINE void sum_down(Count n, Count width, float* sums, Term term) {
    const Scratch parts(SUMS * width);
    memset(sums, 0, (size_t)(SUMS * width) * sizeof(float));
    for (Count first = 0; first < n; first += PART) {
        const Count end = first + PART < n ? first + PART : n;
        over_columns(width, [&](Count c, Count) {
            Block found[SUMS] = {};
            for (Count r = first; r < end; r++) term(r, c, found);
            for (int i = 0; i < SUMS; i++) store(parts.numbers + i * width + c, found[i]);
        });
        for (Count c = 0; c < SUMS * width; c++) sums[c] += parts.numbers[c];
    }
}

// Rows x [n, width], of at least 16 columns, are normalised by `mean` and `scale` = 1 / deviation, [width] each, then go
// by `weight` and `bias`.
struct Norm {
    Count n, width;
    const float *weight, *bias;
    float *mean, *scale;
    int activation;
};

// `kept` [width] becomes a mean of itself and what was found, weighted by `momentum`.
INLINE void keep(float* kept, const float* found, Count width, float momentum, float factor) {
    for (Count c = 0; c < width; c++) kept[c] = (1.f - momentum) * kept[c] + momentum * (factor * found[c]);
}

// Mean and scale of x; its mean and variance are kept in running ones, [width] each.
EXPORT void find_moments(const Norm* norm, const float* x, float epsilon, float momentum, float* running_mean,
                         float* running_variance) {
    const Count n = norm->n, width = norm->width;
    const Scratch variances(width);
    float* variance = variances.numbers;
    sum_down<1>(n, width, norm->mean, [&](Count r, Count c, Block* sum) { *sum = *sum + load(x + r * width + c); });
    for (Count c = 0; c < width; c++) norm->mean[c] /= (float)n;
    sum_down<1>(n, width, variance, [&](Count r, Count c, Block* sum) {
        const Block off = load(x + r * width + c) - load(norm->mean + c);
        *sum = *sum + off * off;
    });
    for (Count c = 0; c < width; c++) {
        variance[c] /= (float)n;
        norm->scale[c] = 1.f / sqrtf(variance[c] + epsilon);
    }
    keep(running_mean, norm->mean, width, momentum, 1.f);
    keep(running_variance, variance, width, momentum, (float)n / (float)(n - 1));
}

// sum [n] = a + b
EXPORT void add_rows(const float* a, const float* b, Count n, float* sum) {
    for (Count i = 0; i < n; i++) sum[i] = a[i] + b[i];
}

// What is told to each column: x * by + shift is normalised, weight and bias included.
struct Factors {
    const Scratch numbers;
    float *by, *shift;

    explicit Factors(const Norm* norm)
        : numbers(2 * norm->width), by(numbers.numbers), shift(numbers.numbers + norm->width) {
        for (Count c = 0; c < norm->width; c++) {
            by[c] = norm->scale[c] * norm->weight[c];
            shift[c] = norm->bias[c] - norm->mean[c] * by[c];
        }
    }
};

template <int ACTIVATION>
static void normalise_with(const Norm* norm, const float* x, const float* after, float* y) {
    const Count width = norm->width;
    const Factors factors(norm);
    for (Count r = 0; r < norm->n; r++) {
        const Count row = r * width;
        over_columns(width, [&](Count c, Count) {
            const Block z = load(x + row + c) * load(factors.by + c) + load(factors.shift + c);
            const Block bent = activated(z, ACTIVATION);
            store(y + row + c, after ? load(after + row + c) + bent : bent);
        });
    }
}

// y = after + activation(weight * (x - mean) * scale + bias); `after` may be null
EXPORT void normalise(const Norm* norm, const float* x, const float* after, float* y) {
    switch (norm->activation) {
        case RELU: return normalise_with<RELU>(norm, x, after, y);
        case ELU: return normalise_with<ELU>(norm, x, after, y);
        default: return normalise_with<IDENTITY>(norm, x, after, y);
    }
}

template <int ACTIVATION>
static void normalise_back_with(const Norm* norm, const float* x, const float* gradient, float* to_x, float* to_both) {
    const Count n = norm->n, width = norm->width;
    const Factors factors(norm);
    auto bent_back = [&](Count at, Count c) {
        return sloped(load(gradient + at), load(x + at) * load(factors.by + c) + load(factors.shift + c), ACTIVATION);
    };
    sum_down<2>(n, width, to_both, [&](Count r, Count c, Block* sums) {
        const Count at = r * width + c;
        const Block g = bent_back(at, c);
        // That of an ELU waits where the result will be: its exponential takes longer than to read it again.
        if (ACTIVATION == ELU) store(to_x + at, g);
        sums[0] = sums[0] + g;
        sums[1] = sums[1] + g * ((load(x + at) - load(norm->mean + c)) * load(norm->scale + c));
    });
    const Scratch numbers(2 * width);
    float *even = numbers.numbers, *slope = even + width;
    for (Count c = 0; c < width; c++) {
        even[c] = to_both[c] / (float)n;
        slope[c] = norm->scale[c] * (to_both[width + c] / (float)n);
    }
    for (Count r = 0; r < n; r++)
        over_columns(width, [&](Count c, Count n_done) {
            const Count at = r * width + c;
            const Block off = (load(x + at) - load(norm->mean + c)) * load(slope + c);
            const Block g = ACTIVATION == ELU ? load(to_x + at) : bent_back(at, c);
            store_columns(to_x + at, load(factors.by + c) * (g - load(even + c) - off), n_done);
        });
}

// From the gradient of what was activated: that of x, and those of bias and weight, one after the other in `to_both`.
EXPORT void normalise_back(const Norm* norm, const float* x, const float* gradient, float* to_x, float* to_both) {
    switch (norm->activation) {
        case RELU: return normalise_back_with<RELU>(norm, x, gradient, to_x, to_both);
        case ELU: return normalise_back_with<ELU>(norm, x, gradient, to_x, to_both);
        default: return normalise_back_with<IDENTITY>(norm, x, gradient, to_x, to_both);
    }
}
