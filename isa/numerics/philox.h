// Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
// (SC 2011): a number of a stream is a function of its position alone.
#pragma once

#include <array>
#include <cstdint>

namespace heddle::numerics {

inline constexpr std::uint32_t kPhiloxMultipliers[2] = {0xD2511F53u, 0xCD9E8D57u};
inline constexpr std::uint32_t kPhiloxKeySteps[2] = {0x9E3779B9u, 0xBB67AE85u};
inline constexpr unsigned kPhiloxRounds = 10;

/// Ten rounds on a counter of four words with a key of two.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// Number i of the stream (seed, offset), uniform in [0, 1): 24 bits of word i % 4 of philox(counter, key)
/// with the counter {offset, i / 4} and the key `seed`, low words first.
float philox_uniform(std::uint64_t seed, std::uint64_t offset, std::uint64_t i);

/// A number by a counter of its own: 24 bits of word 0 of philox({i, 0}, seed), uniform in [0, 1).
float philox_by_counter(std::uint64_t seed, std::uint64_t i);

}  // namespace heddle::numerics
