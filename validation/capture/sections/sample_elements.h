// Which elements of a large array a record keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/numerics/counter_random.h"

namespace heddle::capture {

/// All of up to 128 elements; of more the first, the last and 126 others.
inline std::vector<std::uint64_t> sample_elements(std::uint64_t elements) {
    constexpr std::uint64_t kMaximum = 128, kSeed = 0x656C656D656E7473;
    std::vector<std::uint64_t> places;
    for (std::uint64_t i = 0; i < elements && i < kMaximum; ++i) {
        if (elements <= kMaximum)
            places.push_back(i);
        else if (i < 2)
            places.push_back(i == 0 ? 0 : elements - 1);
        else
            places.push_back(numerics::random_bits(kSeed, i) % elements);
    }
    return places;
}

}  // namespace heddle::capture
