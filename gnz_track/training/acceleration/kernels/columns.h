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
