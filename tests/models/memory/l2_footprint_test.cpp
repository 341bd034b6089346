// What has_room_for() says, beside tags that are filled line by line.
#include "models/memory/l2_footprint.h"

#include <catch2/catch.hpp>
#include <random>

#include "models/memory/address_hash.h"
#include "models/memory/sectored_cache.h"

using namespace heddle::models;

namespace {

/// Whether tags of every slice ever have to give up a line for one of these, in both partitions.
bool replaces(const L2Config& config, const std::vector<LineRange>& ranges) {
    const PartitionedHash hash(config.slices, config.partitions, chunk_bits_of(config.interleave_bytes));
    std::vector<SectoredCache> slices;
    for (std::uint32_t i = 0; i < config.slices; ++i)
        slices.emplace_back(config.bytes / config.slices, config.ways, true);
    for (const LineRange& range : ranges) {
        for (std::uint64_t line = range.first; line < range.first + range.count; ++line) {
            const PartitionedHash::Place place = hash.place(line);
            for (std::uint32_t partition = 0; partition < config.partitions; ++partition) {
                SectoredCache& tags = slices[hash.slice(place.position, partition)];
                const std::uint32_t key = hash.key(place);
                if (tags.find(key) != SectoredCache::kNone) continue;
                const SectoredCache::Index victim = tags.victim(key);
                if (tags.sectors(victim).valid != 0) return true;
                tags.assign(victim, key);
                tags.sectors(victim).valid = kWholeLine;
            }
        }
    }
    return false;
}

}  // namespace

TEST_CASE("an L2 has room for lines exactly when its tags hold all of them") {
    std::mt19937 random(1);
    unsigned with_room = 0, without = 0;
    for (int i = 0; i < 300; ++i) {
        L2Config config;
        config.partitions = random() % 3 == 0 ? 1 : 2;
        config.slices = 4 * (1 + random() % 6);
        config.ways = random() % 2 == 0 ? 16 : 8;
        config.interleave_bytes = 128u << random() % 4;
        config.bytes = std::uint64_t{config.slices} * config.ways * kLineBytes * (8 + random() % 60);
        std::vector<LineRange> ranges;
        std::uint64_t first = random() % 100'000;
        const std::uint64_t whole = config.bytes / config.partitions / kLineBytes;
        for (std::uint64_t buffers = 1 + random() % 4, n = 0; n < buffers; ++n) {
            ranges.push_back({first, 1 + whole * (random() % 125) / 100 / buffers});
            first += ranges.back().count + random() % 1000;
        }
        CAPTURE(config.slices, config.partitions, config.ways, config.bytes, ranges.size());
        const bool room = has_room_for(config, ranges);
        REQUIRE(room == !replaces(config, ranges));
        ++(room ? with_room : without);
    }
    CHECK(with_room > 30);
    CHECK(without > 30);
}

TEST_CASE("contiguous memory as large as a partition of L2 has room, a line more has not") {
    L2Config config;
    config.bytes = std::uint64_t{256} * config.slices * config.ways * kLineBytes;
    const std::uint64_t lines = config.bytes_per_partition() / kLineBytes;
    CHECK(has_room_for(config, {{0, lines}}));
    CHECK_FALSE(has_room_for(config, {{0, lines + 1}}));
    CHECK(has_room_for(config, {{0, lines / 2}}, config.ways / 2));
    CHECK_FALSE(has_room_for(config, {{0, lines / 2 + 1}}, config.ways / 2));
}
