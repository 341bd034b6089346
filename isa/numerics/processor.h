// Which instructions the processor that runs the simulator has.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
/// Defined where functions may be compiled for AVX2 and chosen at run time.
#define HEDDLE_NUMERICS_X86 1
#include <cpuid.h>
#endif

namespace heddle::numerics {

/// AVX2 and F16C. Asked of the processor once.
inline bool processor_has_avx2() {
#ifdef HEDDLE_NUMERICS_X86
    static const bool has = [] {
        constexpr unsigned kF16c = 1u << 29;  // leaf 1, ECX
        unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
        return __builtin_cpu_supports("avx2") && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 &&
               (ecx & kF16c) != 0;
    }();
    return has;
#else
    return false;
#endif
}

}  // namespace heddle::numerics
