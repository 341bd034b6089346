#include "isa/numerics/philox.h"

namespace heddle::numerics {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
    for (unsigned round = 0; round < kPhiloxRounds; ++round) {
        const std::uint64_t a = std::uint64_t{kPhiloxMultipliers[0]} * counter[0];
        const std::uint64_t b = std::uint64_t{kPhiloxMultipliers[1]} * counter[2];
        counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
                   static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
        key[0] += kPhiloxKeySteps[0];
        key[1] += kPhiloxKeySteps[1];
    }
    return counter;
}

float philox_uniform(std::uint64_t seed, std::uint64_t offset, std::uint64_t i) {
    const std::uint64_t block = i / 4;
    const auto words = philox({static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32),
                               static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32)},
                              {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    return static_cast<float>(words[i % 4] >> 8) * 0x1p-24f;
}

float philox_by_counter(std::uint64_t seed, std::uint64_t i) {
    const auto words = philox({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), 0, 0},
                              {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
    return static_cast<float>(words[0] >> 8) * 0x1p-24f;
}

}  // namespace heddle::numerics
