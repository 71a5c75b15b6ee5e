// Sums over the neighbours of every node and back, and what else a constant sparse matrix needs.
#include "edges.h"

template <int BLOCKS>
static void sum_rows(const Edges* edges, const float* x, Count width, const float* values, const float* divisors,
                     const float* bias, float* out) {
    for (Count r = 0; r < edges->n_rows; r++) {
        const Row row(edges, r);
        const float* own = values ? values + row.first : nullptr;
        sum_row<BLOCKS>(row, x, width, own, 1, divisors ? divisors + r : nullptr, bias, out + r * width);
    }
}

// out [n_rows, width] = A x / divisors + bias, with values [n_entries] of A; values, divisors [n_rows] and bias [width]
// may be null. Column by column: what is read again and again stays in the cache.
EXPORT void sum_neighbours(const Edges* edges, Count width, const float* values, const float* x, const float* bias,
                           const float* divisors, float* out) {
    Count c = 0;
    auto own_bias = [&] { return bias ? bias + c : nullptr; };
    for (; c + 128 <= width; c += 128) sum_rows<8>(edges, x + c, width, values, divisors, own_bias(), out + c);
    for (; c + 64 <= width; c += 64) sum_rows<4>(edges, x + c, width, values, divisors, own_bias(), out + c);
    for (; c + 16 <= width; c += 16) sum_rows<1>(edges, x + c, width, values, divisors, own_bias(), out + c);
    if (c == width) return;
    if (width >= 16) {
        // Those before are summed once more, to the same.
        c = width - 16;
        return sum_rows<1>(edges, x + c, width, values, divisors, own_bias(), out + c);
    }
    const float* end = x + edges->n_columns * width;
    for (Count r = 0; r < edges->n_rows; r++) {
        const Row row(edges, r);
        sum_row_rest(row, x + c, width, end, width - c, values ? values + row.first : nullptr, 1,
                     divisors ? divisors + r : nullptr, own_bias(), out + r * width + c);
    }
}

// out [n_columns, width] += A^T (gradient / divisors); rows of the gradient that are zero are skipped.
EXPORT void spread_to_neighbours(const Edges* edges, Count width, const float* values, const float* gradient,
                                 const float* divisors, float* out) {
    const Scratch divided(width);
    for (Count r = 0; r < edges->n_rows; r++) {
        const float* g = gradient + r * width;
        if (!has_any(g, width)) continue;
        if (divisors) {
            for (Count c = 0; c < width; c++) divided.numbers[c] = g[c] / divisors[r];
            g = divided.numbers;
        }
        const Row row(edges, r);
        for (Count k = 0; k < row.n; k++)
            add_to(out + row.columns[k] * width, values ? values[row.first + k] : 1.f, g, width);
    }
}

// Leave out entries that are zero, or whose column is not `alive` [n_columns] (null: all are). The entry at place k has
// the value values[map[k]] (null: values[k]). Returns how many are left.
EXPORT Count thin(const Edges* edges, const int32_t* map, const float* values, const Bit* alive, int32_t* pointers,
                  int32_t* columns, float* left) {
    int32_t n = 0;
    for (Count r = 0; r < edges->n_rows; r++) {
        pointers[r] = n;
        for (int32_t k = edges->pointers[r]; k < edges->pointers[r + 1]; k++) {
            const float value = values[map ? map[k] : k];
            columns[n] = edges->columns[k];
            left[n] = value;
            n += (value != 0.f) & (alive ? alive[edges->columns[k]] : 1);
        }
    }
    pointers[edges->n_rows] = n;
    return n;
}

// alive [n]: whether a row of `matrix` [n, width] has any number that is not zero
EXPORT void find_rows(const float* matrix, Count n, Count width, Bit* alive) {
    for (Count r = 0; r < n; r++) alive[r] = has_any(matrix + r * width, width);
}

// out [width]: sums of the columns of `matrix` [n, width]
EXPORT void sum_columns(const float* matrix, Count n, Count width, float* out) {
    if (width == 0) return;
    memset(out, 0, (size_t)width * sizeof(float));
    for (Count r = 0; r < n; r++) add_to(out, 1.f, matrix + r * width, width);
}

// 4 rows of 4 numbers become 4 columns.
INLINE void transpose_tile(const float* x, Count width, float* out, Count n) {
#if defined(__clang__) || __GNUC__ >= 12
    typedef float Four __attribute__((vector_size(16)));
    typedef float LooseFour __attribute__((vector_size(16), aligned(4), may_alias));
    Four row[4], half[4];
    for (int i = 0; i < 4; i++) row[i] = *(const LooseFour*)(x + i * width);
    for (int i = 0; i < 4; i += 2) {
        half[i] = __builtin_shufflevector(row[i], row[i + 1], 0, 4, 1, 5);
        half[i + 1] = __builtin_shufflevector(row[i], row[i + 1], 2, 6, 3, 7);
    }
    for (int i = 0; i < 2; i++) {
        *(LooseFour*)(out + 2 * i * n) = __builtin_shufflevector(half[i], half[i + 2], 0, 1, 4, 5);
        *(LooseFour*)(out + (2 * i + 1) * n) = __builtin_shufflevector(half[i], half[i + 2], 2, 3, 6, 7);
    }
#else
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) out[k * n + i] = x[i * width + k];
#endif
}

// out [width, n]: the transpose of x [n, width], a part after another that stays in the cache.
EXPORT void transpose(Count n, Count width, const float* x, float* out) {
    constexpr Count ROWS = 32, COLUMNS = 64;
    for (Count top = 0; top < n; top += ROWS)
        for (Count left = 0; left < width; left += COLUMNS) {
            const Count bottom = top + ROWS < n ? top + ROWS : n, right = left + COLUMNS < width ? left + COLUMNS : width;
            Count c = left;
            for (; c + 4 <= right; c += 4) {
                Count r = top;
                for (; r + 4 <= bottom; r += 4) transpose_tile(x + r * width + c, width, out + c * n + r, n);
                for (; r < bottom; r++)
                    for (Count k = c; k < c + 4; k++) out[k * n + r] = x[r * width + k];
            }
            for (; c < right; c++)
                for (Count r = top; r < bottom; r++) out[c * n + r] = x[r * width + c];
        }
}

EXPORT int has_same_bits(const float* a, const float* b, Count n) {
    return n == 0 || memcmp(a, b, (size_t)n * sizeof(float)) == 0;
}
