// Linear maps to a few numbers.
#include "vectors.h"

// y [n, outputs] = x [n, inputs] weight^T + bias (or null), with at most 16 outputs; weight [outputs, inputs]
EXPORT void narrow(Count n, Count inputs, Count outputs, const float* x, const float* weight, const float* bias,
                   float* y) {
    constexpr int TOGETHER = 8;
    const Scratch turned(inputs * 16);
    for (Count i = 0; i < inputs; i++)
        for (Count o = 0; o < 16; o++) turned.numbers[i * 16 + o] = o < outputs ? weight[o * inputs + i] : 0.f;
    for (Count r = 0; r < n; r += TOGETHER) {
        Block sums[TOGETHER] = {};
        const float* rows[TOGETHER];
        for (int t = 0; t < TOGETHER; t++) rows[t] = x + (r + t < n ? r + t : n - 1) * inputs;
        for (Count i = 0; i < inputs; i++) {
            const Block column = load(turned.numbers + i * 16);
            for (int t = 0; t < TOGETHER; t++) sums[t] = sums[t] + rows[t][i] * column;
        }
        for (int t = 0; t < TOGETHER && r + t < n; t++) {
            if (bias) sums[t] = sums[t] + load_some(bias, outputs, bias);
            store_some(y + (r + t) * outputs, sums[t], outputs);
        }
    }
}

// Gradients; each may be null, and all are zero before. Rows of the gradient that are zero are skipped.
EXPORT void narrow_back(Count n, Count inputs, Count outputs, const float* x, const float* weight,
                        const float* gradient, float* to_x, float* to_weight, float* to_bias) {
    for (Count r = 0; r < n; r++) {
        const float* g = gradient + r * outputs;
        if (!has_any(g, outputs)) continue;
        for (Count o = 0; o < outputs; o++) {
            if (to_x) add_to(to_x + r * inputs, g[o], weight + o * inputs, inputs);
            if (to_weight) add_to(to_weight + o * inputs, g[o], x + r * inputs, inputs);
            if (to_bias) to_bias[o] += g[o];
        }
    }
}
