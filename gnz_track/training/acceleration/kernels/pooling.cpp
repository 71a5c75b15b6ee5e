// Rows gathered by an index in any order: pooling of the nodes of graphs, and products of the rows of pairs.
#include "vectors.h"

// Whether each of n indices is one of `size` rows.
static bool are_rows(const int64_t* index, Count n, Count size) {
    bool all = true;
    for (Count i = 0; i < n; i++) all &= (uint64_t)index[i] < (uint64_t)size;
    return all;
}

enum Pooling { SUM = 0, MEAN = 1, LARGEST = 2 };

// out [size, width]: sums, means or largest of the rows of x [n, width] of one index; zero where there are none.
// counts [size]: how many there are, at least one for means. Returns 0, with nothing done, where an index is no row, or
// rows have no numbers.
EXPORT int pool(const int64_t* index, Count n, Count size, Count width, int pooling, const float* x, float* counts,
                float* out) {
    if (size * width == 0 || !are_rows(index, n, size)) return 0;
    memset(out, 0, (size_t)(size * width) * sizeof(float));
    memset(counts, 0, (size_t)size * sizeof(float));
    for (Count i = 0; i < n; i++) {
        float* to = out + index[i] * width;
        const float* from = x + i * width;
        if (counts[index[i]]++ == 0)
            memcpy(to, from, (size_t)width * sizeof(float));
        else if (pooling == LARGEST)
            raise_to(to, from, width);
        else
            add_to(to, 1.f, from, width);
    }
    for (Count s = 0; s < size; s++) {
        if (counts[s] == 0) counts[s] = 1;
        if (pooling == MEAN)
            for (Count c = 0; c < width; c++) out[s * width + c] /= counts[s];
    }
    return 1;
}

// to_x [n, width], from the gradient [size, width]; x and out are needed for the largest alone, counts for means. Returns
// 0, with nothing done, where an index is no row: whoever was given it may have written into it since.
EXPORT int pool_back(const int64_t* index, Count n, Count size, Count width, int pooling, const float* x,
                     const float* out, const float* counts, const float* gradient, float* to_x) {
    if (!are_rows(index, n, size)) return 0;
    const Scratch shares(pooling == SUM ? 0 : size * width);
    if (pooling == MEAN)
        for (Count s = 0; s < size; s++)
            for (Count c = 0; c < width; c++) shares.numbers[s * width + c] = gradient[s * width + c] / counts[s];
    if (pooling == LARGEST) {
        for (Count k = 0; k < size * width; k++) shares.numbers[k] = out[k] == 0;
        for (Count i = 0; i < n; i++) count_equal(shares.numbers + index[i] * width, x + i * width,
                                                  out + index[i] * width, width);
        for (Count k = 0; k < size * width; k++) shares.numbers[k] = gradient[k] / shares.numbers[k];
    }
    const float* from = pooling == SUM ? gradient : shares.numbers;
    for (Count i = 0; i < n; i++) {
        const Count at = index[i] * width;
        if (pooling == LARGEST) {
            memset(to_x + i * width, 0, (size_t)width * sizeof(float));
            add_where_equal(to_x + i * width, from + at, x + i * width, out + at, width);
        } else {
            memcpy(to_x + i * width, from + at, (size_t)width * sizeof(float));
        }
    }
    return 1;
}

// out [n]: products of rows `first` and `second` [n] of codes [size, width]. Returns 0, with nothing done, where one of
// them is no row.
EXPORT int multiply_pairs(const int64_t* first, const int64_t* second, Count n, Count size, Count width,
                          const float* codes, float* out) {
    if (!are_rows(first, n, size) || !are_rows(second, n, size)) return 0;
    for (Count i = 0; i < n; i++) out[i] = dot(codes + first[i] * width, codes + second[i] * width, width);
    return 1;
}

// to_codes [size, width] += from the gradient [n]
EXPORT void multiply_pairs_back(const int64_t* first, const int64_t* second, Count n, Count width, const float* codes,
                                const float* gradient, float* to_codes) {
    for (Count i = 0; i < n; i++) {
        add_to(to_codes + first[i] * width, gradient[i], codes + second[i] * width, width);
        add_to(to_codes + second[i] * width, gradient[i], codes + first[i] * width, width);
    }
}
