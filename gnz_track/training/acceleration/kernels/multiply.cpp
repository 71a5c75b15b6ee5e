// Dense products with a matrix that is small, in the order of sums of Torch's own (MKL) on processors of AMD, where that
// leaves half of every 512-bit vector unused. Products and sums are rounded at once here, as there.
#include "vectors.h"

#if defined(__AVX512F__)
#include <cpuid.h>
#include <immintrin.h>

// Whether the processor is of AMD; the highest vector level it has where this was compiled for that.
EXPORT int multiplies_well(void) {
    unsigned most, b, c, d;
    return __get_cpuid(0, &most, &b, &c, &d) && b == 0x68747541 && d == 0x69746e65 && c == 0x444d4163;
}

INLINE Block fused(float a, Block b, Block c) {
    c.part[0] = _mm512_fmadd_ps(_mm512_set1_ps(a), b.part[0], c.part[0]);
    return c;
}

// Sums of more than 192 products are made of parts of that length, or of two halves where they are shorter than twice
// that.
constexpr Count LONGEST = 192;

static Count end_of_part(Count first, Count n) {
    if (n < 2 * LONGEST) return n > LONGEST && first == 0 ? n / 2 : n;
    return first + LONGEST < n ? first + LONGEST : n;
}

// `numbers` [rows, 16 * blocks]: columns of a matrix [rows, columns], and zeros after the last.
struct Panel {
    const Scratch memory;
    float* numbers;
    Count stride;

    Panel(Count rows, Count columns) : memory(rows * ((columns + 15) / 16 * 16) + 16), stride((columns + 15) / 16 * 16) {
        numbers = (float*)(((uintptr_t)memory.numbers + 63) / 64 * 64);
    }

    void take(const float* matrix, Count rows, Count columns) {
        for (Count r = 0; r < rows; r++) {
            memcpy(numbers + r * stride, matrix + r * columns, (size_t)columns * sizeof(float));
            memset(numbers + r * stride + columns, 0, (size_t)(stride - columns) * sizeof(float));
        }
    }

    void take_turned(const float* matrix, Count rows, Count columns) {
        for (Count r = 0; r < rows; r++) {
            for (Count c = 0; c < columns; c++) numbers[r * stride + c] = matrix[c * rows + r];
            memset(numbers + r * stride + columns, 0, (size_t)(stride - columns) * sizeof(float));
        }
    }
};

// What a tile of sums becomes in y: it is added to what is there, to a bias (or null), or stands alone.
struct Place {
    float* y;
    const float* bias;
    Count stride, columns;
    bool is_first;
};

// What is worked on next, asked for as each tile takes its sums: nothing waits for memory that is far away.
struct Ahead {
    const float *now[2], *end[2];

    // Numbers to ask for one by one of every `step`, as many as there are sums; with a step of 0 it is none.
    const float* take(Count n, Count* step) {
        for (int i = 0; i < 2; i++)
            if (now[i] < end[i]) {
                const float* from = now[i];
                *step = 16;
                now[i] = end[i] - from > 16 * n ? from + 16 * n : end[i];
                return from;
            }
        *step = 0;
        return end[0];
    }
};

// y[ROWS, 16 * BLOCKS] = sum over n of x(row, i) * panel[i]; of x, rows are `down` apart, and sums run by `along`.
template <int ROWS, int BLOCKS>
INLINE void tile(const float* x, Count down, Count along, Count n, const float* panel, Count stride, Ahead* ahead, Place to) {
    Block sums[ROWS][BLOCKS] = {};
    Count step = 0;
    const float* next = ahead ? ahead->take(n, &step) : nullptr;
    for (Count i = 0; i < n; i++) {
        Block columns[BLOCKS];
        if (ahead) __builtin_prefetch(next + i * step, 0, 2);
        for (int b = 0; b < BLOCKS; b++) columns[b] = load(panel + i * stride + 16 * b);
        for (int r = 0; r < ROWS; r++) {
            const float factor = x[r * down + i * along];
            for (int b = 0; b < BLOCKS; b++) sums[r][b] = fused(factor, columns[b], sums[r][b]);
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int b = 0; b < BLOCKS; b++) {
            float* y = to.y + r * to.stride + 16 * b;
            const Count left = to.columns - 16 * b;
            const __mmask16 some = left >= 16 ? 0xffff : (__mmask16)((1 << left) - 1);
            const float* before = to.is_first ? (to.bias ? to.bias + 16 * b : nullptr) : y;
            Vector sum = sums[r][b].part[0];
            if (before) sum = _mm512_maskz_loadu_ps(some, before) + sum;
            _mm512_mask_storeu_ps(y, some, sum);
        }
}

// Rows of x are `stride` apart.
struct Apart {
    const float* x;
    Count stride;

    template <int ROWS, int BLOCKS>
    INLINE void take(Count r, Count n, const float* panel, Count panel_stride, Place to) const {
        tile<ROWS, BLOCKS>(x + r * stride, stride, 1, n, panel, panel_stride, nullptr, to);
    }
};

// Rows of x lie in tiles, number by number: of 8 rows, then of 4, then of one each.
struct Tiled {
    const float* x;
    Ahead* ahead;

    template <int ROWS, int BLOCKS>
    INLINE void take(Count r, Count n, const float* panel, Count panel_stride, Place to) const {
        tile<ROWS, BLOCKS>(x + r * apart(n), 1, ROWS, n, panel, panel_stride, ahead, to);
    }

    // Tiles begin in different places of the cache.
    static Count apart(Count n) { return n + 2; }

    // Of columns [n, rows] of a matrix, into `tiles`.
    static void make(const float* matrix, Count n, Count rows, float* tiles) {
        for (Count i = 0; i < n; i++) {
            const float* from = matrix + i * rows;
            Count r = 0;
            for (; r + 8 <= rows; r += 8) memcpy(tiles + r * apart(n) + i * 8, from + r, 8 * sizeof(float));
            if (r + 4 <= rows) memcpy(tiles + r * apart(n) + i * 4, from + r, 4 * sizeof(float)), r += 4;
            for (; r < rows; r++) tiles[r * apart(n) + i] = from[r];
        }
    }
};

template <int ROWS, int BLOCKS, class Rows>
static void tiles(const Rows& x, Count rows, Count n, const float* panel, Count stride, Place to) {
    Count r = 0;
    for (; r + ROWS <= rows; r += ROWS, to.y += ROWS * to.stride) x.template take<ROWS, BLOCKS>(r, n, panel, stride, to);
    // A single row leaves the processor waiting for its sums.
    for (; r + 4 <= rows; r += 4, to.y += 4 * to.stride) x.template take<4, BLOCKS>(r, n, panel, stride, to);
    for (; r < rows; r++, to.y += to.stride) x.template take<1, BLOCKS>(r, n, panel, stride, to);
}

// As many blocks at once as registers have room for: 32, of which some hold columns.
static void multiply(const Apart& x, Count rows, Count n, const Panel& panel, Count first, Place to) {
    const float* numbers = panel.numbers + first * panel.stride;
    for (Count c = 0; c < panel.stride;) {
        const Count left = (panel.stride - c) / 16;
        const Place here = {to.y + c, to.bias ? to.bias + c : nullptr, to.stride, to.columns - c, to.is_first};
        const int blocks = left == 5 || left >= 10 ? 5 : left == 4 || left == 7 || left == 8 ? 4 : left < 3 ? (int)left : 3;
        switch (blocks) {
            case 5: tiles<5, 5>(x, rows, n, numbers + c, panel.stride, here); break;
            case 4: tiles<6, 4>(x, rows, n, numbers + c, panel.stride, here); break;
            case 3: tiles<8, 3>(x, rows, n, numbers + c, panel.stride, here); break;
            case 2: tiles<8, 2>(x, rows, n, numbers + c, panel.stride, here); break;
            default: tiles<8, 1>(x, rows, n, numbers + c, panel.stride, here);
        }
        c += 16 * blocks;
    }
}

static void multiply(const Tiled& x, Count rows, Count n, const Panel& panel, Place to) {
    for (Count c = 0; c < panel.stride;) {
        const Count left = (panel.stride - c) / 16;
        const Place here = {to.y + c, nullptr, to.stride, to.columns - c, to.is_first};
        const int blocks = left == 4 ? 2 : left < 3 ? (int)left : 3;
        switch (blocks) {
            case 3: tiles<8, 3>(x, rows, n, panel.numbers + c, panel.stride, here); break;
            case 2: tiles<8, 2>(x, rows, n, panel.numbers + c, panel.stride, here); break;
            default: tiles<8, 1>(x, rows, n, panel.numbers + c, panel.stride, here);
        }
        c += 16 * blocks;
    }
}

// y [n, outputs] = x [n, inputs] w + bias (or null), where w is `weight` [inputs, outputs], or turned: [outputs, inputs]
EXPORT void multiply_rows(Count n, Count inputs, Count outputs, const float* x, const float* weight, int is_turned,
                          const float* bias, float* y) {
    Panel panel(inputs, outputs);
    if (is_turned) panel.take_turned(weight, inputs, outputs);
    else panel.take(weight, inputs, outputs);
    // Rows that stay in the cache while all columns are worked on.
    constexpr Count TOGETHER = 240;
    for (Count first = 0; first < n; first += TOGETHER) {
        const Count rows = first + TOGETHER < n ? TOGETHER : n - first;
        for (Count i = 0, end = 0; i < inputs; i = end) {
            end = end_of_part(i, inputs);
            multiply(Apart{x + first * inputs + i, inputs}, rows, end - i, panel, i,
                     {y + first * outputs, bias, outputs, outputs, i == 0});
        }
    }
}

// out [a, b] = left^T right for left [n, a] and right [n, b]
EXPORT void multiply_turned(Count n, Count a, Count b, const float* left, const float* right, float* out) {
    const Count most = n < 2 * LONGEST ? end_of_part(0, n) + 1 : LONGEST;
    Panel panel(most, b);
    const Scratch tiles(Tiled::apart(most) * a);
    for (Count i = 0, end = 0; i < n; i = end) {
        end = end_of_part(i, n);
        const Count after = end < n ? end_of_part(end, n) : n;
        Ahead ahead = {{left + end * a, right + end * b}, {left + after * a, right + after * b}};
        panel.take(right + i * b, end - i, b);
        Tiled::make(left + i * a, end - i, a, tiles.numbers);
        multiply(Tiled{tiles.numbers, &ahead}, a, end - i, panel, {out, nullptr, b, b, i == 0});
    }
}
#else
EXPORT int multiplies_well(void) { return 0; }
EXPORT void multiply_rows(Count, Count, Count, const float*, const float*, int, const float*, float*) {}
EXPORT void multiply_turned(Count, Count, Count, const float*, const float*, float*) {}
#endif
