// Activation and dropout, number by number.
#include "elementwise.h"

// y = activation(x), scaled where `bits` are set and zero elsewhere; without bits nothing is dropped. All [n].
EXPORT void activate(const float* x, Count n, int activation, const Bit* bits, float scale, float* y) {
    Count i = 0;
    for (; i + 16 <= n; i += 16) {
        const Block a = activated(load(x + i), activation);
        store(y + i, bits ? a * kept(bits + i, scale) : a);
    }
    if (i == n) return;
    Bit rest[16] = {};
    if (bits) memcpy(rest, bits + i, (size_t)(n - i));
    const Block a = activated(load_some(x + i, n - i, x + n), activation);
    store_some(y + i, bits ? a * kept(rest, scale) : a, n - i);
}

EXPORT void activate_back(const float* x, const float* gradient, Count n, int activation, const Bit* bits, float scale,
                          float* out) {
    // Of many nodes nothing is asked, so that long runs of the gradient are zero, and stay it.
    constexpr Count RUN = 128;
    Count i = 0;
    while (i + 16 <= n) {
        const Count left = (n - i) / 16 * 16, end = i + (left < RUN ? left : RUN);
        if (!has_any(gradient + i, end - i)) {
            memset(out + i, 0, (size_t)(end - i) * sizeof(float));
            i = end;
        }
        for (; i < end; i += 16) {
            const Block g = load(gradient + i);
            store(out + i, sloped(bits ? g * kept(bits + i, scale) : g, load(x + i), activation));
        }
    }
    if (i == n) return;
    Bit rest[16] = {};
    if (bits) memcpy(rest, bits + i, (size_t)(n - i));
    const Block g = load_some(gradient + i, n - i, gradient + n);
    const Block a = sloped(bits ? g * kept(rest, scale) : g, load_some(x + i, n - i, x + n), activation);
    store_some(out + i, a, n - i);
}
