// The columns of rows that are at least 16 wide, 16 at once.
#pragma once
#include "vectors.h"

// Calls take(column, n_done) for every 16 columns of a row. The last ones are taken with some before them, of which
// `n_done` were taken already: to store them again does no harm, to add them up again would.
template <class Take>
INLINE void over_columns(Count width, Take take) {
    Count c = 0;
    for (; c + 16 <= width; c += 16) take(c, (Count)0);
    if (c < width) take(width - 16, c - (width - 16));
}

// to[16] = a, but for the first `n_done`
INLINE void store_columns(float* to, Block a, Count n_done) {
    if (!n_done) return store(to, a);
    float all[16];
    store(all, a);
    memcpy(to + n_done, all + n_done, (size_t)(16 - n_done) * sizeof(float));
}

// to[16] += a, but for the first `n_done`. What has been stored just now is not loaded again with some before it: a
// processor would wait until it is in memory.
INLINE void add_columns(float* to, Block a, Count n_done) {
    if (!n_done) return store(to, load(to) + a);
    typedef float Four __attribute__((vector_size(16), aligned(4), may_alias));
    float all[16];
    store(all, a);
    Count i = 16;
    for (; i - 4 >= n_done; i -= 4) *(Four*)(to + i - 4) += *(const Four*)(all + i - 4);
    for (; i > n_done; i--) to[i - 1] += all[i - 1];
}
