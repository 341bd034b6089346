#include "isa/numerics/philox.h"

#include <catch2/catch.hpp>

using namespace heddle::numerics;

// Known answers that come with Random123, the authors' library (kat_vectors: philox4x32 10).
TEST_CASE("Philox gives the published answers") {
    using Words = std::array<std::uint32_t, 4>;
    CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    const std::uint32_t ones = 0xffffffff;
    CHECK(philox({ones, ones, ones, ones}, {ones, ones}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("Uniform numbers of a stream are at least 0, below 1, and have the mean of one half") {
    double sum = 0;
    for (std::uint64_t i = 0; i < 40000; ++i) {
        const float value = philox_uniform(7, 3, i);
        CHECK_FALSE((value < 0 || value >= 1));
        sum += value;
    }
    // Standard deviation of the mean: 0.2887 / 200.
    CHECK(sum / 40000 == Approx(0.5).margin(0.006));
}
