#include "models/memory/sectored_cache.h"

#include <catch2/catch.hpp>
#include <list>
#include <random>

using namespace heddle::models;

TEST_CASE("replacement is least recently used: one set against a list") {
    constexpr unsigned kWays = 8;
    SectoredCache cache(kWays * kLineBytes, kWays);
    REQUIRE(cache.lines() == kWays);
    std::list<std::uint64_t> reference;  // most recent first
    std::mt19937 random(3);
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t key = random() % 12;
        const auto place = std::find(reference.begin(), reference.end(), key);
        const SectoredCache::Index index = cache.find(key);
        REQUIRE((index != SectoredCache::kNone) == (place != reference.end()));
        if (place != reference.end()) {
            cache.touch(index);
            reference.erase(place);
        } else {
            const SectoredCache::Index victim = cache.victim(key);
            if (reference.size() == kWays) {
                REQUIRE(cache.key(victim) == reference.back());
                reference.pop_back();
            }
            cache.assign(victim, key);
        }
        reference.push_front(key);
    }
}

TEST_CASE("a line with sectors under way is never replaced") {
    SectoredCache cache(2 * kLineBytes, 2);
    for (const std::uint64_t key : {1ull, 2ull}) {
        const SectoredCache::Index index = cache.victim(key);
        cache.assign(index, key);
    }
    cache.sectors(cache.find(1)).pending = 1;
    REQUIRE(cache.key(cache.victim(3)) == 2);
    cache.sectors(cache.find(2)).pending = 8;
    REQUIRE(cache.victim(3) == SectoredCache::kNone);
}

TEST_CASE("a key is known by its low 32 bits") {
    SectoredCache cache(1 << 20, 16);
    const std::uint64_t key = 0x7f00'1234'5678ull;
    const SectoredCache::Index index = cache.victim(key);
    cache.assign(index, key);
    REQUIRE(cache.find(key) == index);
    REQUIRE(cache.key(index) == 0x12345678u);
}
