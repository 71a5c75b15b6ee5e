// Kernels of training on one thread of a CPU, for float32. A plain C interface: pointers and sizes, no Python, no Torch.
//
// The same bits on every machine: sums over the edges of a node run in their given order, column by column; dot products
// have 16 partial sums, added in one order; products and sums are rounded one by one (-ffp-contract=off). The width of
// the machine's vectors decides how many columns are worked on at once, and nothing else.
#if defined(__x86_64__)
#include <cpuid.h>
#endif
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

// Memory for one call; sizes of zero are allowed.
struct Scratch {
    float* numbers;
    explicit Scratch(Count n) : numbers((float*)malloc((size_t)(n > 0 ? n : 1) * sizeof(float))) {}
    ~Scratch() { free(numbers); }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
};

// ---------------------------------------------------------------------------------- the generator of Torch on a CPU

// mt19937 (Matsumoto and Nishimura, 1998) in the layout of ``torch.Generator.get_state``: continued where Torch stood,
// and left where Torch would stand.
class Generator {
    static constexpr int N = 624, M = 397;
    uint32_t words[N];
    int place;
    unsigned char* home;

    static uint32_t turn(uint32_t upper, uint32_t lower) {
        const uint32_t y = (upper & 0x80000000u) | (lower & 0x7fffffffu);
        return (y >> 1) ^ (-(lower & 1u) & 0x9908b0dfu);
    }

    void twist() {
// Each loop reads what it wrote at least 227 words ago, further than any vector is wide.
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
        for (int k = 0; k < N - M; k++) words[k] = words[k + M] ^ turn(words[k], words[k + 1]);
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
        for (int k = N - M; k < N - 1; k++) words[k] = words[k + M - N] ^ turn(words[k], words[k + 1]);
        words[N - 1] = words[M - 1] ^ turn(words[N - 1], words[0]);
        place = 0;
    }

    static uint32_t temper(uint32_t y) {
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        return y ^ (y >> 18);
    }

    uint32_t next() {
        if (place >= N) twist();
        return temper(words[place++]);
    }

public:
    explicit Generator(unsigned char* state) : home(state) {
        int32_t left;
        uint64_t next;
        memcpy(&left, state + 8, sizeof left);
        memcpy(&next, state + 16, sizeof next);
        for (int k = 0; k < N; k++) {
            uint64_t word;
            memcpy(&word, state + 24 + 8 * k, sizeof word);
            words[k] = (uint32_t)word;
        }
        place = left == 1 ? N : (int)next;
    }

    ~Generator() {
        const int32_t left = place == N ? 1 : N + 1 - place;
        const uint64_t next = (uint64_t)place;
        memcpy(home + 8, &left, sizeof left);
        memcpy(home + 16, &next, sizeof next);
        for (int k = 0; k < N; k++) {
            const uint64_t word = words[k];
            memcpy(home + 24 + 8 * k, &word, sizeof word);
        }
    }

    Generator(const Generator&) = delete;
    Generator& operator=(const Generator&) = delete;

    void skip(Count n) {
        while (n > 0) {
            if (place >= N) twist();
            const Count some = n < N - place ? n : N - place;
            place += (int)some;
            n -= some;
        }
    }

    // A uniform number is 53 bits of two words; `below` is the probability in the same measure.
    Bit draw(uint64_t below) {
        const uint64_t upper = next(), lower = next();
        return (((upper & 0x1fffffu) << 32) | lower) < below;
    }

    void draw_many(Bit* bits, Count n, uint64_t below) {
        const uint32_t upper = (uint32_t)(below >> 32), lower = (uint32_t)below;
        for (Count i = 0; i < n;) {
            if (place >= N) twist();
            const Count pairs = (N - place) / 2, some = pairs < n - i ? pairs : n - i;
            if (some == 0) {
                bits[i++] = draw(below);
                continue;
            }
            uint32_t tempered[N];
            for (Count k = 0; k < 2 * some; k++) tempered[k] = temper(words[place + k]);
            for (Count k = 0; k < some; k++) {
                const uint32_t a = tempered[2 * k] & 0x1fffffu, b = tempered[2 * k + 1];
                bits[i + k] = (a < upper) | ((a == upper) & (b < lower));
            }
            place += (int)(2 * some);
            i += some;
        }
    }
};

INLINE uint64_t threshold(double keep) { return (uint64_t)ceil(keep * 9007199254740992.0); }

// bits [n]: set with probability `keep`
EXPORT void draw_mask(unsigned char* state, Count n, double keep, Bit* bits) {
    // Of the two ways to write down that all words are used up, Torch's stays.
    if (n > 0) Generator(state).draw_many(bits, n, threshold(keep));
}

// Dropout of a matrix of n numbers that is zero but at ascending `places`: its entries, scaled or zero.
EXPORT void drop_entries(unsigned char* state, const int64_t* places, Count n_entries, Count n, double keep,
                         float scale, const float* values, float* out) {
    if (n == 0) return;
    Generator generator(state);
    const uint64_t below = threshold(keep);
    Count drawn = 0;
    for (Count k = 0; k < n_entries; k++) {
        generator.skip(2 * (places[k] - drawn));
        out[k] = values[k] * (generator.draw(below) ? scale : 0.f);
        drawn = places[k] + 1;
    }
    generator.skip(2 * (n - drawn));
}

// ------------------------------------------------------------------------------------------ activation and dropout

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

// ----------------------------------------------------------------------------------------------------- sparse sums

// A sparse matrix by rows: targets are rows, sources are columns. `order` tells the place of each entry in the list
// of edges as it was given, by which masks are drawn.
struct Edges {
    Count n_rows, n_columns;
    const int32_t *pointers, *columns, *order;
};

struct Row {
    const int32_t* columns;
    Count first, n;
    Row(const Edges* edges, Count row)
        : columns(edges->columns + edges->pointers[row]),
          first(edges->pointers[row]),
          n(edges->pointers[row + 1] - edges->pointers[row]) {}
};

static Count longest_row(const Edges* edges) {
    Count most = 0;
    for (Count r = 0; r < edges->n_rows; r++) {
        const Count n = edges->pointers[r + 1] - edges->pointers[r];
        most = n > most ? n : most;
    }
    return most;
}

// out[16 * BLOCKS] = sum over the entries of a row of weights[k * step] * x[column], divided, and added to
template <int BLOCKS>
INLINE void sum_row(Row row, const float* x, Count stride, const float* weights, Count step, const float* divisor,
                    const float* added, float* out) {
    Block sums[BLOCKS] = {};
    for (Count k = 0; k < row.n; k++) {
        const float* source = x + row.columns[k] * stride;
        const float weight = weights ? weights[k * step] : 1.f;
        for (int b = 0; b < BLOCKS; b++) sums[b] = sums[b] + weight * load(source + 16 * b);
    }
    for (int b = 0; b < BLOCKS; b++) {
        if (divisor) sums[b] = sums[b] / *divisor;
        if (added) sums[b] = sums[b] + load(added + 16 * b);
        store(out + 16 * b, sums[b]);
    }
}

// The same for the last columns, fewer than 16; x ends at `end`.
INLINE void sum_row_rest(Row row, const float* x, Count stride, const float* end, Count n, const float* weights,
                         Count step, const float* divisor, const float* added, float* out) {
    Block sum = {};
    for (Count k = 0; k < row.n; k++) {
        const float weight = weights ? weights[k * step] : 1.f;
        sum = sum + weight * load_some(x + row.columns[k] * stride, n, end);
    }
    if (divisor) sum = sum / *divisor;
    if (added) sum = sum + load_some(added, n, added);
    store_some(out, sum, n);
}

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
    memset(out, 0, (size_t)width * sizeof(float));
    for (Count r = 0; r < n; r++) add_to(out, 1.f, matrix + r * width, width);
}

EXPORT int has_same_bits(const float* a, const float* b, Count n) {
    return memcmp(a, b, (size_t)n * sizeof(float)) == 0;
}

// -------------------------------------------------------------------------------------------------------- attention

constexpr Count MOST_HEADS = 64;

// Rows of x, of the output and of all that is like them are [heads, width]; `weights` and `bits` are [n_entries, heads],
// weights by rows of the matrix, bits in the order of the edges as given. Without bits nothing is dropped.
struct Attention {
    const Edges* edges;
    Count heads, width;
    const Bit* bits;
    float scale;
    float* weights;
};

// Heads are known when the kernel is compiled (KNOWN) for those that models have, so that loops over them are none.
#define FOR_HEADS(FUNCTION, ATTENTION, ...)                          \
    switch ((ATTENTION)->heads) {                                    \
        case 1: return FUNCTION<1>(ATTENTION, __VA_ARGS__);          \
        case 4: return FUNCTION<4>(ATTENTION, __VA_ARGS__);          \
        case 8: return FUNCTION<8>(ATTENTION, __VA_ARGS__);          \
        default: return FUNCTION<0>(ATTENTION, __VA_ARGS__);         \
    }

// scores [n, heads] become weights that sum to one over n; the guard is that of PyG.
template <int KNOWN>
INLINE void softmax(float* scores, Count n, Count some_heads) {
    const Count heads = KNOWN ? KNOWN : some_heads;
    float highest[MOST_HEADS], sums[MOST_HEADS];
    for (Count h = 0; h < heads; h++) highest[h] = -INFINITY, sums[h] = 0;
    for (Count k = 0; k < n; k++)
        for (Count h = 0; h < heads; h++) {
            const float score = scores[k * heads + h];
            highest[h] = score > highest[h] ? score : highest[h];
        }
    for (Count k = 0; k < n; k++)
        for (Count h = 0; h < heads; h++) scores[k * heads + h] -= highest[h];
    Count i = 0;
    for (; i + 16 <= n * heads; i += 16) store(scores + i, exponential(load(scores + i)));
    if (i < n * heads) store_some(scores + i, exponential(load_some(scores + i, n * heads - i, scores)), n * heads - i);
    for (Count k = 0; k < n; k++)
        for (Count h = 0; h < heads; h++) sums[h] += scores[k * heads + h];
    for (Count h = 0; h < heads; h++) sums[h] += 1e-16f;
    for (Count k = 0; k < n; k++)
        for (Count h = 0; h < heads; h++) scores[k * heads + h] /= sums[h];
}

// out [heads, width]: sums of x over the entries of a row, each head by its own weights, and added to
template <int KNOWN>
INLINE void attend(const Attention* a, Row row, const float* x, const float* added, float* out, float* dropped) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width, stride = heads * width;
    const float* weights = a->weights + row.first * heads;
    if (a->bits) {
        for (Count k = 0; k < row.n; k++) {
            const Bit* bits = a->bits + (Count)a->edges->order[row.first + k] * heads;
            for (Count h = 0; h < heads; h++)
                dropped[k * heads + h] = weights[k * heads + h] * ((float)bits[h] * a->scale);
        }
        weights = dropped;
    }
    const float* end = x + a->edges->n_columns * stride;
    for (Count h = 0; h < heads; h++) {
        Count c = h * width;
        const Count last = c + width;
        auto own = [&] { return added ? added + c : nullptr; };
        for (; c + 64 <= last; c += 64) sum_row<4>(row, x + c, stride, weights + h, heads, nullptr, own(), out + c);
        for (; c + 16 <= last; c += 16) sum_row<1>(row, x + c, stride, weights + h, heads, nullptr, own(), out + c);
        if (c < last)
            sum_row_rest(row, x + c, stride, end, last - c, weights + h, heads, nullptr, own(), out + c);
    }
}

// From the gradient [heads, width] of one row: sources' gradient += their share; to_scores [n, heads] = that of scores.
// What was dropped is left out of a list first, so that the processor has no branch to guess.
template <int KNOWN>
INLINE void attend_back(const Attention* a, Row row, const float* x, const float* gradient, float* to_x,
                        float* to_scores) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width;
    const float *weights = a->weights + row.first * heads, scale = a->bits ? a->scale : 1.f;
    constexpr Count SIZE = 1024;
    int32_t places[SIZE];
    for (Count first = 0; first < row.n; first += SIZE / MOST_HEADS) {
        const Count end = first + SIZE / MOST_HEADS < row.n ? first + SIZE / MOST_HEADS : row.n;
        Count n = 0;
        for (Count k = first; k < end; k++) {
            const Bit* bits = a->bits ? a->bits + (Count)a->edges->order[row.first + k] * heads : nullptr;
            for (Count h = 0; h < heads; h++) {
                places[n] = (int32_t)(k * heads + h);
                n += bits ? bits[h] : 1;
                to_scores[k * heads + h] = 0;
            }
        }
        for (Count i = 0; i < n; i++) {
            const Count h = places[i] % heads, k = places[i] / heads;
            const Count source = (row.columns[k] * heads + h) * width;
            const float* g = gradient + h * width;
            const float share = weights[places[i]] * scale;
            Count c = 0;
            Block sums = {};
            for (; c + 16 <= width; c += 16) {
                const Block own = load(g + c);
                sums = sums + own * load(x + source + c);
                store(to_x + source + c, load(to_x + source + c) + share * own);
            }
            float sum = c ? total(sums) : 0.f;
            for (; c < width; c++) {
                sum += g[c] * x[source + c];
                to_x[source + c] += share * g[c];
            }
            to_scores[places[i]] = scale * sum;
        }
    }
    float sums[MOST_HEADS] = {};
    for (Count k = 0; k < row.n; k++)
        for (Count h = 0; h < heads; h++) sums[h] += weights[k * heads + h] * to_scores[k * heads + h];
    for (Count k = 0; k < row.n; k++)
        for (Count h = 0; h < heads; h++)
            to_scores[k * heads + h] = weights[k * heads + h] * (to_scores[k * heads + h] - sums[h]);
}

// Attention of GAT (Velickovic et al., 2018) on x [n, heads, width] = W h: scores are leaky sums of one number for the
// source and one for the target. What one call of the backward pass needs of the forward pass is in `Gat`.
struct Gat {
    const float *x, *to_source, *to_target;  // x; vectors [heads, width]
    float *of_source, *of_target;            // their products with x [n, heads]
    float slope;
};

template <int KNOWN>
static void gat_with(const Attention* a, const Gat* gat, const float* bias, float* out) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width;
    for (Count i = 0; i < a->edges->n_rows * heads; i++) {
        const Count h = i % heads;
        gat->of_source[i] = dot(gat->x + i * width, gat->to_source + h * width, width);
        gat->of_target[i] = dot(gat->x + i * width, gat->to_target + h * width, width);
    }
    const Scratch dropped(longest_row(a->edges) * heads);
    for (Count r = 0; r < a->edges->n_rows; r++) {
        const Row row(a->edges, r);
        float* scores = a->weights + row.first * heads;
        for (Count k = 0; k < row.n; k++)
            for (Count h = 0; h < heads; h++) {
                const float score = gat->of_source[row.columns[k] * heads + h] + gat->of_target[r * heads + h];
                scores[k * heads + h] = score > 0 ? score : gat->slope * score;
            }
        softmax<KNOWN>(scores, row.n, heads);
        attend<KNOWN>(a, row, gat->x, bias, out + r * heads * width, dropped.numbers);
    }
}

EXPORT void gat_forward(const Attention* a, const Gat* gat, const float* bias, float* out) {
    FOR_HEADS(gat_with, a, gat, bias, out)
}

// Gradients, all of them zero before: of x, of both vectors, and of both products.
struct GatGradients {
    float *x, *to_source, *to_target, *of_source, *of_target;
};

template <int KNOWN>
static void gat_back_with(const Attention* a, const Gat* gat, const float* gradient, const GatGradients* to) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width, n = a->edges->n_rows;
    const Scratch to_scores(longest_row(a->edges) * heads);
    for (Count r = 0; r < n; r++) {
        const float* g = gradient + r * heads * width;
        if (!has_any(g, heads * width)) continue;
        const Row row(a->edges, r);
        attend_back<KNOWN>(a, row, gat->x, g, to->x, to_scores.numbers);
        for (Count k = 0; k < row.n; k++) {
            const Count source = row.columns[k] * heads;
            for (Count h = 0; h < heads; h++) {
                const float score = gat->of_source[source + h] + gat->of_target[r * heads + h];
                const float share = to_scores.numbers[k * heads + h] * (score > 0 ? 1.f : gat->slope);
                to->of_source[source + h] += share;
                to->of_target[r * heads + h] += share;
            }
        }
    }
    for (Count i = 0; i < n * heads; i++) {
        const float as_source = to->of_source[i], as_target = to->of_target[i];
        if (as_source == 0 && as_target == 0) continue;
        const Count h = i % heads * width;
        add_to(to->x + i * width, as_source, gat->to_source + h, width);
        add_to(to->x + i * width, as_target, gat->to_target + h, width);
        add_to(to->to_source + h, as_source, gat->x + i * width, width);
        add_to(to->to_target + h, as_target, gat->x + i * width, width);
    }
}

EXPORT void gat_back(const Attention* a, const Gat* gat, const float* gradient, const GatGradients* to) {
    FOR_HEADS(gat_back_with, a, gat, gradient, to)
}

// Attention by products of queries and keys, over the root of the width (Shi et al., 2021); all [n, heads, width].
struct Products {
    const float *query, *key, *value;
    float root;
};

template <int KNOWN>
static void products_with(const Attention* a, const Products* p, const float* added, float* out) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width;
    const Scratch dropped(longest_row(a->edges) * heads);
    for (Count r = 0; r < a->edges->n_rows; r++) {
        const Row row(a->edges, r);
        float* scores = a->weights + row.first * heads;
        for (Count k = 0; k < row.n; k++)
            for (Count h = 0; h < heads; h++) {
                const float* key = p->key + (row.columns[k] * heads + h) * width;
                scores[k * heads + h] = dot(p->query + (r * heads + h) * width, key, width) / p->root;
            }
        softmax<KNOWN>(scores, row.n, heads);
        const Count at = r * heads * width;
        attend<KNOWN>(a, row, p->value, added ? added + at : nullptr, out + at, dropped.numbers);
    }
}

// `added` [n, heads, width] may be null.
EXPORT void products_forward(const Attention* a, const Products* p, const float* added, float* out) {
    FOR_HEADS(products_with, a, p, added, out)
}

template <int KNOWN>
static void products_back_with(const Attention* a, const Products* p, const float* gradient, float* to_query,
                               float* to_key, float* to_value) {
    const Count heads = KNOWN ? KNOWN : a->heads, width = a->width;
    const Scratch to_scores(longest_row(a->edges) * heads);
    for (Count r = 0; r < a->edges->n_rows; r++) {
        const float* g = gradient + r * heads * width;
        if (!has_any(g, heads * width)) continue;
        const Row row(a->edges, r);
        attend_back<KNOWN>(a, row, p->value, g, to_value, to_scores.numbers);
        for (Count k = 0; k < row.n; k++)
            for (Count h = 0; h < heads; h++) {
                const Count source = (row.columns[k] * heads + h) * width, target = (r * heads + h) * width;
                const float share = to_scores.numbers[k * heads + h] / p->root;
                add_to(to_query + target, share, p->key + source, width);
                add_to(to_key + source, share, p->query + target, width);
            }
    }
}

// Gradients, all of them zero before.
EXPORT void products_back(const Attention* a, const Products* p, const float* gradient, float* to_query, float* to_key,
                          float* to_value) {
    FOR_HEADS(products_back_with, a, p, gradient, to_query, to_key, to_value)
}

// ------------------------------------------------------------------------------------------------ narrow linear maps

// y [n, outputs] = x [n, inputs] weight^T + bias (or null), with at most 16 outputs; weight [outputs, inputs]
EXPORT void narrow(Count n, Count inputs, Count outputs, const float* x, const float* weight, const float* bias,
                   float* y) {
    constexpr int TOGETHER = 8;
    const Scratch turned(inputs * 16);
    for (Count i = 0; i < inputs; i++)
        for (Count o = 0; o < 16; o++) turned.numbers[i * 16 + o] = o < outputs ? weight[o * inputs + i] : 0.f;
    for (Count r = 0; r < n; r += TOGETHER) {
        Block sums[TOGETHER] = {};
        const float* rows[TOGETHER];
        for (int t = 0; t < TOGETHER; t++) rows[t] = x + (r + t < n ? r + t : n - 1) * inputs;
        for (Count i = 0; i < inputs; i++) {
            const Block column = load(turned.numbers + i * 16);
            for (int t = 0; t < TOGETHER; t++) sums[t] = sums[t] + rows[t][i] * column;
        }
        for (int t = 0; t < TOGETHER && r + t < n; t++) {
            if (bias) sums[t] = sums[t] + load_some(bias, outputs, bias);
            store_some(y + (r + t) * outputs, sums[t], outputs);
        }
    }
}

// Gradients; each may be null, and all are zero before. Rows of the gradient that are zero are skipped.
EXPORT void narrow_back(Count n, Count inputs, Count outputs, const float* x, const float* weight,
                        const float* gradient, float* to_x, float* to_weight, float* to_bias) {
    for (Count r = 0; r < n; r++) {
        const float* g = gradient + r * outputs;
        if (!has_any(g, outputs)) continue;
        for (Count o = 0; o < outputs; o++) {
            if (to_x) add_to(to_x + r * inputs, g[o], weight + o * inputs, inputs);
            if (to_weight) add_to(to_weight + o * inputs, g[o], x + r * inputs, inputs);
            if (to_bias) to_bias[o] += g[o];
        }
    }
}

// ------------------------------------------------------------------------------------------------------- the library

#ifndef SOURCES
#define SOURCES "unknown"
#endif

// Digest of the sources that this was compiled from.
EXPORT const char* sources(void) { return SOURCES; }

// The highest vector level that processor and system have: 2, 3 or 4 of x86-64; 0 elsewhere.
EXPORT int vector_level(void) {
#if defined(__x86_64__)
    unsigned a, b, c, features, saved, upper;
    if (!__get_cpuid(1, &a, &b, &features, &c) || !__get_cpuid_count(7, 0, &a, &b, &c, &upper)) return 2;
    const unsigned fma = 1u << 12, osxsave = 1u << 27, avx2_bmi_bmi2 = 0x128, avx512_f_dq_cd_bw_vl = 0xd0030000;
    if (~features & (fma | osxsave) || ~b & avx2_bmi_bmi2) return 2;
    // What of the registers the system saves when it turns to another process.
    __asm__("xgetbv" : "=a"(saved), "=d"(upper) : "c"(0));
    if (~saved & 0x06) return 2;
    return ~b & avx512_f_dq_cd_bw_vl || ~saved & 0xe6 ? 3 : 4;
#else
    return 0;
#endif
}
