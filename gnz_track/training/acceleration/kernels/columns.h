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

static const float PLACES[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// to[16] += a, but for the first `n_done`
INLINE void add_columns(float* to, Block a, Count n_done) {
    if (n_done) {
        const Block places = load(PLACES);
        const float first = (float)n_done;
        EACH a.part[i] = places.part[i] >= first ? a.part[i] : Vector{};
    }
    store(to, load(to) + a);
}
