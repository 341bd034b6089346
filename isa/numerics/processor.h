// Which instructions the processor that runs the simulator has.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
/// Defined where functions may be compiled for AVX2 and chosen at run time.
#define HEDDLE_NUMERICS_X86 1
#endif

namespace heddle::numerics {

/// AVX2 and F16C. Asked of the processor once.
inline bool processor_has_avx2() {
#ifdef HEDDLE_NUMERICS_X86
    static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
    return has;
#else
    return false;
#endif
}

}  // namespace heddle::numerics
