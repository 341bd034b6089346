#include "models/gpu/coalescer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

#include "models/gpu/access_pattern.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

namespace {

ptx::MemoryAccess make(unsigned bytes, std::uint32_t lanes,
                       const std::function<std::uint64_t(unsigned)>& address) {
    ptx::MemoryAccess access;
    access.space = ptx::StateSpace::shared;
    access.bytes_per_lane = static_cast<std::uint8_t>(bytes);
    access.lanes = lanes;
    for (unsigned lane = 0; lane < 32; ++lane) access.address[lane] = address(lane);
    return access;
}

/// Definition: per group of lanes, the largest number of distinct words that one bank must deliver.
unsigned wavefronts_by_definition(const ptx::MemoryAccess& access) {
    unsigned group = access.bytes_per_lane <= 4 ? 32 : access.bytes_per_lane == 8 ? 16 : 8;
    bool pairs[2] = {true, true};
    for (unsigned lane = 0; lane < 32; ++lane) {
        for (const unsigned distance : {1u, 2u}) {
            const bool both = (access.lanes >> lane & 1) && (access.lanes >> (lane ^ distance) & 1);
            if (both && access.address[lane] != access.address[lane ^ distance]) pairs[distance - 1] = false;
        }
    }
    if (group < 32 && (pairs[0] || pairs[1])) group *= 2;
    unsigned total = 0;
    for (unsigned first = 0; first < 32; first += group) {
        std::map<std::uint64_t, std::set<std::uint64_t>> words;  // by bank
        for (unsigned lane = first; lane < first + group; ++lane) {
            if ((access.lanes >> lane & 1) == 0) continue;
            for (unsigned byte = 0; byte < access.bytes_per_lane; ++byte) {
                const std::uint64_t word = (access.address[lane] + byte) / 4;
                words[word % 32].insert(word);
            }
        }
        std::size_t most = 0;
        for (const auto& [bank, set] : words) most = std::max(most, set.size());
        total += static_cast<unsigned>(most);
    }
    return std::max(1u, total);
}

}  // namespace

TEST_CASE("bank conflicts of the textbook cases") {
    const auto stride = [](unsigned bytes, unsigned step) {
        return shared_wavefronts(make(bytes, ~0u, [=](unsigned lane) { return std::uint64_t{lane} * step; }));
    };
    REQUIRE(stride(4, 4) == 1);
    REQUIRE(stride(4, 8) == 2);     // 2-way
    REQUIRE(stride(4, 128) == 32);  // a column of a 32 x 32 matrix
    REQUIRE(stride(4, 132) == 1);   // the same, padded
    REQUIRE(stride(4, 0) == 1);     // broadcast
    REQUIRE(stride(1, 1) == 1);
    REQUIRE(stride(8, 8) == 2);
    REQUIRE(stride(16, 16) == 4);
    REQUIRE(stride(16, 128) == 32);  // ldmatrix.x4 on rows of 128 bytes, no swizzle
    REQUIRE(stride(16, 144) == 4);   // padded rows
    // XOR swizzle of 16-byte chunks within rows of 128 bytes
    REQUIRE(shared_wavefronts(
                make(16, ~0u, [](unsigned lane) { return lane * 128u + (lane % 8 ^ 3) * 16u; })) == 4);
    REQUIRE(shared_wavefronts(make(16, 0xff, [](unsigned lane) { return lane * 16u; })) == 1);  // ldmatrix.x1
}

TEST_CASE("128-bit loads that share addresses take the wavefronts profiled on an H100") {
    // NVIDIA developer forum, 373160: 8 wavefronts when lanes n and n + 16 read 16 bytes at 32 n, 2 when the
    // half warps read one address each.
    REQUIRE(shared_wavefronts(make(16, ~0u, [](unsigned lane) { return lane % 16 * 32u; })) == 8);
    REQUIRE(shared_wavefronts(make(16, ~0u, [](unsigned lane) { return lane / 16 * 32u; })) == 2);
    // Forum, 77228: pairs n, n ^ 1 or n, n ^ 2 with one address halve the 4 requests of a 128-bit load.
    REQUIRE(shared_wavefronts(make(16, ~0u, [](unsigned lane) { return lane / 2 * 16u; })) == 2);
    REQUIRE(shared_wavefronts(make(16, ~0u, [](unsigned lane) { return (lane / 4 * 2 + lane % 2) * 16u; })) ==
            2);
    REQUIRE(shared_wavefronts(make(8, ~0u, [](unsigned lane) { return lane / 2 * 8u; })) == 1);
}

TEST_CASE("bank conflicts equal the definition on random accesses") {
    std::mt19937 random(11);
    for (int i = 0; i < 5000; ++i) {
        const unsigned bytes = 1u << random() % 5;
        const unsigned range = 1u << (4 + random() % 8);
        const std::uint32_t lanes = random() % 2 ? ~0u : static_cast<std::uint32_t>(random());
        const auto access =
            make(bytes, lanes, [&](unsigned) { return std::uint64_t{random() % range} * bytes; });
        REQUIRE(shared_wavefronts(access) ==
                (lanes == 0 ? shared_wavefronts(access) : wavefronts_by_definition(access)));
    }
}

TEST_CASE("lines and sectors equal the definition on random and on contiguous accesses") {
    std::mt19937 random(5);
    CoalescedAccess lines;
    for (int i = 0; i < 5000; ++i) {
        const unsigned bytes = 1u << random() % 5;
        const std::uint64_t base = 0x7f0000000000ull + random() % 1000 * bytes;
        const bool contiguous = i % 2 == 0;
        const std::uint32_t active = random() % 3 ? ~0u : static_cast<std::uint32_t>(random());
        const auto access = make(bytes, active, [&](unsigned lane) {
            return base + (contiguous ? lane : random() % 300) * std::uint64_t{bytes};
        });
        std::map<std::uint64_t, unsigned> expected;
        for (unsigned lane = 0; lane < 32; ++lane) {
            if (active >> lane & 1)
                expected[access.address[lane] / 128] |= 1u << (access.address[lane] / 32 % 4);
        }
        coalesce(access, lines);
        std::map<std::uint64_t, unsigned> got;
        for (unsigned j = 0; j < lines.count; ++j) got[lines.lines[j].line] = lines.lines[j].sectors;
        REQUIRE(got == expected);
        REQUIRE(lines.count == expected.size());
    }
}

TEST_CASE("atomics on one word are served one after another") {
    REQUIRE(shared_atomic_wavefronts(make(4, ~0u, [](unsigned) { return 64u; })) == 32);
    REQUIRE(shared_atomic_wavefronts(make(4, ~0u, [](unsigned lane) { return lane * 4u; })) == 1);
    const auto access = make(4, ~0u, [](unsigned lane) { return lane / 4 * 64u; });
    CoalescedAccess lines;
    coalesce(access, lines);
    REQUIRE(lines.count == 4);
    std::array<std::uint16_t, 32> conflicts;
    count_conflicts(access, lines, conflicts);
    for (unsigned i = 0; i < 4; ++i) REQUIRE(conflicts[i] == 4);
}

TEST_CASE("a remembered access gives what looking at every lane gives") {
    std::mt19937 random(7);
    AccessPattern pattern;
    CoalescedAccess remembered, computed;
    for (unsigned turn = 0; turn < 2000; ++turn) {
        const unsigned bytes = 1u << random() % 5;
        const std::uint64_t base = 0x7f0000000000u + random() % 64 * bytes;
        // Now and then so far apart that distances in lines take more than 32 bits.
        const std::uint64_t stride =
            random() % 16 == 0 ? std::uint64_t{random() % 256} << 40 : random() % 40 * bytes;
        const std::uint32_t lanes = random() % 4 == 0 ? random() | 1u : ~0u;
        const unsigned swizzle = random() % 2 * 7;
        // The same pattern a few times, elsewhere each time, by a whole warp or parts of it.
        for (unsigned repeat = 0; repeat < 8; ++repeat) {
            const std::uint64_t start = base + random() % 8 * kLineBytes + random() % 8 * std::max(bytes, 8u);
            ptx::MemoryAccess access = make(bytes, lanes, [&](unsigned lane) {
                return start + lane * stride + ((lane / 8) ^ (lane & swizzle)) * bytes;
            });
            for (unsigned lane = 0; lane < 32; ++lane)
                access.shared_address[lane] = static_cast<std::uint32_t>(access.address[lane] % 65536);
            access.zero_filled_lanes = 0;
            REQUIRE(pattern.shared_wavefronts(access) == wavefronts_by_definition(access));
            REQUIRE(pattern.shared_wavefronts_of_copy(access) == shared_wavefronts_of_copy(access));
            pattern.coalesce(access, remembered);
            coalesce(access, computed);
            REQUIRE(remembered.count == computed.count);
            for (unsigned i = 0; i < computed.count; ++i) {
                REQUIRE(remembered.lines[i].line == computed.lines[i].line);
                REQUIRE(remembered.lines[i].sectors == computed.lines[i].sectors);
            }
            REQUIRE(pattern.wavefronts_of_coalesced(access) == shared_wavefronts(access));
        }
    }
}
