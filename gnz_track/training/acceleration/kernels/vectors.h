// Blocks of 16 numbers, rows of them, and memory for one call: what all kernels are written with.
//
// The kernels are those of training on one thread of a CPU, for float32. A plain C interface: pointers and sizes, no
// Python, no Torch. The same bits on every machine: sums over the edges of a node run in their given order, column by
// column; dot products have 16 partial sums, added in one order; products and sums are rounded one by one
// (-ffp-contract=off). The width of the machine's vectors decides how many columns are worked on at once, and nothing
// else.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif
#define INLINE inline __attribute__((always_inline))

typedef int64_t Count;
typedef uint8_t Bit;

// ------------------------------------------------------------------------------------------------ 16 numbers at once

// A vector type wider than those of the machine is taken apart number by number (GCC), so that a block is an array of
// vectors that the machine has.
#if defined(__AVX512F__)
#define WIDE 16
#elif defined(__AVX__)
#define WIDE 8
#else
#define WIDE 4
#endif
#define PARTS (16 / WIDE)
#define EACH for (int i = 0; i < PARTS; i++)

typedef float Vector __attribute__((vector_size(4 * WIDE)));
typedef float LooseVector __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));
typedef int32_t Whole __attribute__((vector_size(4 * WIDE)));
typedef Bit Bits __attribute__((vector_size(WIDE), aligned(1), may_alias));

struct Block {
    Vector part[PARTS];

    friend INLINE Block operator+(Block a, Block b) { EACH a.part[i] += b.part[i]; return a; }
    friend INLINE Block operator-(Block a, Block b) { EACH a.part[i] -= b.part[i]; return a; }
    friend INLINE Block operator*(Block a, Block b) { EACH a.part[i] *= b.part[i]; return a; }
    friend INLINE Block operator/(Block a, Block b) { EACH a.part[i] /= b.part[i]; return a; }
    friend INLINE Block operator+(Block a, float b) { EACH a.part[i] += b; return a; }
    friend INLINE Block operator-(Block a, float b) { EACH a.part[i] -= b; return a; }
    friend INLINE Block operator*(float a, Block b) { EACH b.part[i] *= a; return b; }
    friend INLINE Block operator/(Block a, float b) { EACH a.part[i] /= b; return a; }
};

INLINE Block load(const float* from) {
    Block a;
    EACH a.part[i] = *(const LooseVector*)(from + i * WIDE);
    return a;
}

INLINE void store(float* to, Block a) { EACH *(LooseVector*)(to + i * WIDE) = a.part[i]; }

// Fewer than 16 numbers count; the others are whatever follows them, or zero where the array ends.
INLINE Block load_some(const float* from, Count n, const float* end) {
    if (from + 16 <= end) return load(from);
    float all[16] = {};
    for (Count i = 0; i < n; i++) all[i] = from[i];
    return load(all);
}

INLINE void store_some(float* to, Block a, Count n) {
    float all[16];
    store(all, a);
    for (Count i = 0; i < n; i++) to[i] = all[i];
}

// What is no number counts as positive here, so that it stays none.
INLINE Block choose(Block by, Block where_positive, Block elsewhere) {
    EACH by.part[i] = by.part[i] <= 0 ? elsewhere.part[i] : where_positive.part[i];
    return by;
}

// scale where a bit is set, zero elsewhere
INLINE Block kept(const Bit* bits, float scale) {
    Block a;
    EACH {
        const Whole numbers = __builtin_convertvector(*(const Bits*)(bits + i * WIDE), Whole);
        a.part[i] = __builtin_convertvector(numbers, Vector) * scale;
    }
    return a;
}

// The 8 numbers in the upper half are added to those in the lower half, then 4 to 4, 2 to 2 and 1 to 1.
INLINE float total(Block a) {
#if defined(__clang__) || __GNUC__ >= 12
    typedef float Four __attribute__((vector_size(16)));
#if WIDE == 4
    const Four four = (a.part[0] + a.part[2]) + (a.part[1] + a.part[3]);
#else
    typedef float Eight __attribute__((vector_size(32)));
#if WIDE == 8
    const Eight eight = a.part[0] + a.part[1];
#else
    const Eight eight = __builtin_shufflevector(a.part[0], a.part[0], 0, 1, 2, 3, 4, 5, 6, 7) +
                        __builtin_shufflevector(a.part[0], a.part[0], 8, 9, 10, 11, 12, 13, 14, 15);
#endif
    const Four four =
        __builtin_shufflevector(eight, eight, 0, 1, 2, 3) + __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
#endif
    return (four[0] + four[2]) + (four[1] + four[3]);
#else
    float t[16];
    store(t, a);
    for (int k = 8; k > 1; k /= 2)
        for (int i = 0; i < k; i++) t[i] += t[i + k];
    return t[0] + t[1];
#endif
}

// exp within 2 units in the last place, by the polynomial of Cephes (Moshier, 1992); the library's differs by machine.
INLINE Block exponential(Block x) {
    EACH {
        Vector y = x.part[i];
        y = y > 88.f ? 88.f - Vector{} : y;
        y = y < -87.f ? -87.f - Vector{} : y;
        const Vector turns = y * 1.44269504088896341f;
        const Whole n = __builtin_convertvector(turns + (turns > 0 ? .5f - Vector{} : -.5f - Vector{}), Whole);
        const Vector whole = __builtin_convertvector(n, Vector);
        const Vector r = (y - whole * 0.693359375f) - whole * -2.12194440e-4f;
        Vector p = 1.9875691500e-4f * r + 1.3981999507e-3f;
        p = p * r + 8.3334519073e-3f;
        p = p * r + 4.1665795894e-2f;
        p = p * r + 1.6666665459e-1f;
        p = p * r + 5.0000001201e-1f;
        p = p * (r * r) + r + 1.f;
        const Whole bits = (n + 127) << 23;
        Vector power;
        memcpy(&power, &bits, sizeof bits);
        // A number that is none stays none.
        x.part[i] = x.part[i] == x.part[i] ? p * power : x.part[i];
    }
    return x;
}

// ------------------------------------------------------------------------------------------------------------- rows

// Whether any number is not zero. To look at single lanes of a vector is slow: that is done once for many vectors.
INLINE bool has_any(const float* row, Count width) {
    constexpr Count RUN = 128;
    Count c = 0;
    while (c + 16 <= width) {
        const Count left = (width - c) / 16 * 16, end = c + (left < RUN ? left : RUN);
        Whole found = {};
        for (; c < end; c += 16) {
            const Block a = load(row + c);
            EACH found |= a.part[i] != 0;
        }
        int32_t any = 0;
        for (int k = 0; k < WIDE; k++) any |= found[k];
        if (any) return true;
    }
    bool any = false;
    for (; c < width; c++) any |= row[c] != 0;
    return any;
}

INLINE float dot(const float* a, const float* b, Count width) {
    Count c = 0;
    Block sums = {};
    for (; c + 16 <= width; c += 16) sums = sums + load(a + c) * load(b + c);
    float sum = c ? total(sums) : 0.f;
    for (; c < width; c++) sum += a[c] * b[c];
    return sum;
}

// y += factor * x
INLINE void add_to(float* y, float factor, const float* x, Count width) {
    Count c = 0;
    for (; c + 16 <= width; c += 16) store(y + c, load(y + c) + factor * load(x + c));
    for (; c < width; c++) y[c] += factor * x[c];
}

// y = the larger of both; what is no number is larger than any
INLINE void raise_to(float* y, const float* x, Count width) {
    Count c = 0;
    for (; c + 16 <= width; c += 16) {
        Block to = load(y + c);
        const Block from = load(x + c);
        EACH to.part[i] = (from.part[i] > to.part[i]) | (from.part[i] != from.part[i]) ? from.part[i] : to.part[i];
        store(y + c, to);
    }
    for (; c < width; c++) y[c] = (x[c] > y[c]) | (x[c] != x[c]) ? x[c] : y[c];
}

// one where both are equal, zero elsewhere
INLINE Block equal(Block a, Block b) {
    EACH a.part[i] = a.part[i] == b.part[i] ? 1.f - Vector{} : Vector{};
    return a;
}

// counts += 1 where both are equal
INLINE void count_equal(float* counts, const float* x, const float* y, Count width) {
    Count c = 0;
    for (; c + 16 <= width; c += 16) store(counts + c, load(counts + c) + equal(load(x + c), load(y + c)));
    for (; c < width; c++) counts[c] += (float)(x[c] == y[c]);
}

// to += shares where both are equal; what is no number stays none, times zero
INLINE void add_where_equal(float* to, const float* shares, const float* x, const float* y, Count width) {
    Count c = 0;
    for (; c + 16 <= width; c += 16)
        store(to + c, load(to + c) + equal(load(x + c), load(y + c)) * load(shares + c));
    for (; c < width; c++) to[c] += (float)(x[c] == y[c]) * shares[c];
}

// Memory for one call; sizes of zero are allowed.
struct Scratch {
    float* numbers;
    explicit Scratch(Count n) : numbers((float*)malloc((size_t)(n > 0 ? n : 1) * sizeof(float))) {}
    ~Scratch() { free(numbers); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
};
