// The generator of Torch on a CPU: masks of dropout, drawn in its order and left where Torch would leave it.
#include "vectors.h"

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
