#include "sim/sass/packed_warp.h"

#include <bit>
#include <catch2/catch.hpp>
#include <random>

using namespace heddle::sass;

TEST_CASE("Steps come back as they were packed") {
    std::mt19937_64 random(1);
    for (unsigned round = 0; round < 50; ++round) {
        struct Kept {
            std::uint32_t row, lanes;
            std::vector<std::uint64_t> addresses;
        };
        std::vector<Kept> kept;
        PackedWarp packed;
        for (unsigned i = 0; i < 200; ++i) {
            Kept one;
            const bool follows = !kept.empty() && random() % 4 != 0;
            one.row = follows ? kept.back().row + 1 : static_cast<std::uint32_t>(random() % 100000);
            one.lanes = random() % 3 != 0 ? ~0u : static_cast<std::uint32_t>(random());
            if (random() % 2 != 0) {
                const std::uint64_t base = random() >> (random() % 64),
                                    span = random() >> (random() % 64) | 1;
                for (int lane = 0; lane < std::popcount(one.lanes); ++lane)
                    one.addresses.push_back(i % 2 != 0 ? base + static_cast<std::uint64_t>(lane) * span
                                                       : base + random() % span);
            }
            packed.add(one.row, one.lanes, one.addresses);
            kept.push_back(one);
        }
        CHECK(packed.steps() == kept.size());
        PackedWarp::Cursor cursor = packed.begin();
        ReplayStep step;
        for (const Kept& one : kept) {
            REQUIRE_FALSE(cursor.at_end());
            REQUIRE(cursor.peek() == one.row);
            cursor.next(step);
            REQUIRE(step.row == one.row);
            REQUIRE(step.lanes == one.lanes);
            REQUIRE(step.accesses == !one.addresses.empty());
            for (std::size_t i = 0; i < one.addresses.size(); ++i)
                REQUIRE(step.addresses[i] == one.addresses[i]);
        }
        CHECK(cursor.at_end());
    }
}

TEST_CASE("A step of straight code takes a byte, an even access a few") {
    PackedWarp packed;
    std::vector<std::uint64_t> addresses(32);
    for (std::uint32_t i = 0; i < 1000; ++i) {
        const bool access = i % 10 == 0;
        for (std::size_t lane = 0; lane < 32; ++lane) addresses[lane] = 0x7fb0fc430e00 + i * 128 + lane * 4;
        packed.add(i % 100, ~0u, access ? addresses : std::vector<std::uint64_t>());
    }
    CHECK(packed.bytes() < 2000);
}
