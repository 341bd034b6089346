// Words as sequences of fields, for the tests of integer kernels.
#pragma once

#include <functional>

#include "cuda_gpu.h"

namespace heddle::ptx::test {

/// Random words that begin with corner cases.
inline std::vector<unsigned> words(std::size_t count, unsigned seed) {
    auto x = random_values<unsigned>(count, 0, 0xFFFFFFFFll, seed);
    const unsigned corners[] = {0, 1, ~0u, 0x80000000u, 0x7FFFFFFFu, 0x80808080u, 0x7F7F7F7Fu, 0x00FF00FFu};
    for (std::size_t i = 0; i < 16 && i < count; ++i) x[i] = corners[seed % 2 == 0 ? i % 8 : i / 2];
    return x;
}

// Applies `function` to each field of `bits` bits, sign-extended or not, and packs the low bits of the
// results.
template <class Field>
unsigned by_fields(unsigned a, unsigned b, int bits,
                   const std::function<long long(long long, long long)>& function) {
    unsigned result = 0;
    const unsigned mask = (1u << bits) - 1;
    for (int shift = 0; shift < 32; shift += bits) {
        const auto p = static_cast<Field>(a >> shift & mask), q = static_cast<Field>(b >> shift & mask);
        result |= (static_cast<unsigned>(function(p, q)) & mask) << shift;
    }
    return result;
}

}  // namespace heddle::ptx::test
