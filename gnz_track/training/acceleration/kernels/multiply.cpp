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

// y[ROWS, 16 * BLOCKS] = sum over n of x(row, i) * panel[i]; of x, rows are `down` apart, and sums run by `along`.
template <int ROWS, int BLOCKS>
INLINE void tile(const float* x, Count down, Count along, Count n, const float* panel, Count stride, Place to) {
    Block sums[ROWS][BLOCKS] = {};
    for (Count i = 0; i < n; i++) {
        Block columns[BLOCKS];
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

template <int ROWS, int BLOCKS>
static void tiles(const float* x, Count rows, Count down, Count along, Count n, const float* panel, Count stride,
                  Place to) {
    Count r = 0;
    for (; r + ROWS <= rows; r += ROWS, to.y += ROWS * to.stride)
        tile<ROWS, BLOCKS>(x + r * down, down, along, n, panel, stride, to);
    // A single row leaves the processor waiting for its sums.
    for (; r + 4 <= rows; r += 4, to.y += 4 * to.stride)
        tile<4, BLOCKS>(x + r * down, down, along, n, panel, stride, to);
    for (; r < rows; r++, to.y += to.stride) tile<1, BLOCKS>(x + r * down, down, along, n, panel, stride, to);
}

// As many blocks at once as registers have room for: 32, of which some hold columns.
static void multiply(const float* x, Count rows, Count down, Count along, Count n, const Panel& panel, Count first,
                     Place to) {
    const float* numbers = panel.numbers + first * panel.stride;
    for (Count c = 0; c < panel.stride;) {
        const Count left = (panel.stride - c) / 16;
        const Place here = {to.y + c, to.bias ? to.bias + c : nullptr, to.stride, to.columns - c, to.is_first};
        const int blocks = left == 5 || left >= 10 ? 5 : left == 4 || left == 7 || left == 8 ? 4 : left < 3 ? (int)left : 3;
        switch (blocks) {
            case 5: tiles<5, 5>(x, rows, down, along, n, numbers + c, panel.stride, here); break;
            case 4: tiles<6, 4>(x, rows, down, along, n, numbers + c, panel.stride, here); break;
            case 3: tiles<8, 3>(x, rows, down, along, n, numbers + c, panel.stride, here); break;
            case 2: tiles<8, 2>(x, rows, down, along, n, numbers + c, panel.stride, here); break;
            default: tiles<8, 1>(x, rows, down, along, n, numbers + c, panel.stride, here);
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
            multiply(x + first * inputs + i, rows, inputs, 1, end - i, panel, i,
                     {y + first * outputs, bias, outputs, outputs, i == 0});
        }
    }
}

// out [a, b] = left^T right for left [n, a] and right [n, b]
EXPORT void multiply_turned(Count n, Count a, Count b, const float* left, const float* right, float* out) {
    Panel panel(n < LONGEST ? n : LONGEST, b);
    for (Count i = 0, end = 0; i < n; i = end) {
        end = end_of_part(i, n);
        panel.take(right + i * b, end - i, b);
        multiply(left + i * a, a, 1, a, end - i, panel, 0, {out, nullptr, b, b, i == 0});
    }
}
#else
EXPORT int multiplies_well(void) { return 0; }
EXPORT void multiply_rows(Count, Count, Count, const float*, const float*, int, const float*, float*) {}
EXPORT void multiply_turned(Count, Count, Count, const float*, const float*, float*) {}
#endif
