#include "models/memory/address_hash.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
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

TEST_CASE("strides spread over slices, partitions and channels, as near slices see them and as homes do") {
    // 80 slices in two partitions, two slices to a memory channel.
    const PartitionedHash hash(80, 2);
    std::vector<std::uint64_t> strides;
    for (unsigned shift = 0; shift <= 19; ++shift) strides.push_back(std::uint64_t{1} << shift);
    for (const std::uint64_t odd :
         {3u, 5u, 7u, 15u, 17u, 31u, 33u, 63u, 65u, 79u, 80u, 81u, 127u, 129u, 1000u, 1023u, 4095u, 4097u})
        strides.push_back(odd);
    constexpr int kAccesses = 64 * 80;
    for (const std::uint64_t stride : strides) {
        INFO("a line in " << stride);
        std::vector<int> near(40), homes(80), channels(40);
        int second = 0;
        for (int i = 0; i < kAccesses; ++i) {
            const PartitionedHash::Place place = hash.place(12345 + static_cast<std::uint64_t>(i) * stride);
            ++near[place.position];
            const std::uint32_t home = hash.slice(place.position, place.home);
            ++homes[home];
            ++channels[home / 2];
            second += static_cast<int>(place.home);
        }
        // Random spreads: 64 and 128 on average with standard deviations of 8 and 11.
        CHECK(*std::max_element(homes.begin(), homes.end()) <= 64 + 5 * 8);
        CHECK(*std::min_element(homes.begin(), homes.end()) >= 64 - 5 * 8);
        CHECK(*std::max_element(near.begin(), near.end()) <= 128 + 5 * 11);
        CHECK(*std::max_element(channels.begin(), channels.end()) <= 128 + 5 * 11);
        CHECK(std::abs(second - kAccesses / 2) <= 5 * 36);
    }
}

TEST_CASE("a line's key names it among all that a slice may hold") {
    const PartitionedHash hash(80, 2);
    std::vector<std::uint64_t> seen;
    for (std::uint64_t line = 1000; line < 9000; ++line) {
        const PartitionedHash::Place place = hash.place(line);
        const std::uint32_t key = hash.key(place);
        CHECK(hash.row_of(key) == place.row);
        CHECK(hash.home_of(key) == place.home);
        seen.push_back(std::uint64_t{key} * 40 + place.position);
    }
    std::sort(seen.begin(), seen.end());
    REQUIRE(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
}
