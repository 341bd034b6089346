#include "models/memory/address_hash.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "models/memory/memory_request.h"

using namespace heddle::models;

TEST_CASE("a contiguous range is spread over the slices exactly evenly") {
    const SliceHash hash(80);
    std::vector<int> lines(80);
    for (std::uint64_t line = 80 * 1000; line < 80 * 3000; ++line) ++lines[hash.slice(line)];
    REQUIRE(std::all_of(lines.begin(), lines.end(), [](int n) { return n == 2000; }));
}

TEST_CASE("no power-of-two stride stays on a few slices") {
    const std::uint64_t base = 0x7f0000000000ull;
    for (const std::uint32_t slices : {32u, 80u, 96u}) {
        const SliceHash hash(slices);
        for (unsigned shift = 7; shift <= 26; ++shift) {
            const int accesses = 64 * static_cast<int>(slices);
            std::vector<int> load(slices);
            for (int i = 0; i < accesses; ++i) {
                const std::uint64_t address = base + (static_cast<std::uint64_t>(i) << shift);
                ++load[hash.slice(address / kLineBytes)];
            }
            INFO("stride 2^" << shift << ", slices " << slices);
            // 64 per slice on average; a random spread has standard deviation 8. A stride that used half of
            // the slices would put 128 on each.
            REQUIRE(*std::max_element(load.begin(), load.end()) < 64 + 5 * 8);
            REQUIRE(*std::min_element(load.begin(), load.end()) > 64 - 5 * 8);
        }
    }
}

TEST_CASE("a line's slice and row name it") {
    const SliceHash hash(80);
    std::vector<std::uint64_t> seen;
    for (std::uint64_t line = 1000; line < 9000; ++line) {
        const SliceHash::Place place = hash.place(line);
        seen.push_back(place.row * 80 + place.slice);
    }
    std::sort(seen.begin(), seen.end());
    REQUIRE(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
}
