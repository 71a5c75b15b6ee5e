// Activations, of 16 numbers at once.
#pragma once
#include "vectors.h"

enum Activation { IDENTITY = 0, RELU = 1, ELU = 2 };

INLINE Block activated(Block x, int activation) {
    if (activation == RELU) return choose(x, x, Block{});
    if (activation == ELU) return choose(x, x, exponential(x) - 1.f);
    return x;
}

// By the chain rule; x is what was activated.
INLINE Block sloped(Block gradient, Block x, int activation) {
    if (activation == RELU) return choose(x, gradient, Block{});
    if (activation == ELU) return choose(x, gradient, gradient * exponential(x));
    return gradient;
}
