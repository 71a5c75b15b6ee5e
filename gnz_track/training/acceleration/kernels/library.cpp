// What the library says of itself and of the processor.
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include "vectors.h"

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
