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

TEST_CASE("what is to go first goes first, what is to go last stays while other lines are there") {
    SectoredCache cache(8 * kLineBytes, 8);  // one set
    const auto load = [&cache](std::uint64_t key, EvictionPolicy policy) {
        SectoredCache::Index index = cache.find(key);
        const bool hit = index != SectoredCache::kNone;
        if (hit) {
            cache.touch(index, policy);
        } else {
            cache.assign(cache.victim(key), key, policy);
        }
        return hit;
    };
    cache.limit_last(6);
    // A working set of five lines, then a stream of a hundred.
    const auto kept = [&](EvictionPolicy working_set, EvictionPolicy stream) {
        cache.clear();
        for (std::uint64_t key = 0; key < 5; ++key) load(key, working_set);
        for (std::uint64_t key = 100; key < 200; ++key) load(key, stream);
        int hits = 0;
        for (std::uint64_t key = 0; key < 5; ++key) hits += load(key, working_set);
        return hits;
    };
    CHECK(kept(EvictionPolicy::none, EvictionPolicy::none) == 0);
    CHECK(kept(EvictionPolicy::none, EvictionPolicy::first) == 5);
    CHECK(kept(EvictionPolicy::last, EvictionPolicy::none) == 5);
    CHECK(kept(EvictionPolicy::normal, EvictionPolicy::normal) == 0);
    cache.limit_last(3);  // the other two are ordinary lines
    CHECK(kept(EvictionPolicy::last, EvictionPolicy::none) == 3);
    // Once `normal` is said of it, a line ages as others do.
    cache.limit_last(6);
    cache.clear();
    load(1, EvictionPolicy::last);
    load(1, EvictionPolicy::normal);
    for (std::uint64_t key = 100; key < 110; ++key) load(key, EvictionPolicy::none);
    CHECK(cache.find(1) == SectoredCache::kNone);
}
