#include "models/memory/sectored_cache.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <list>
#include <random>
#include <utility>
#include <vector>

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

TEST_CASE("replacement by priority, then by time: sets of every size against a list of uses") {
    struct Line {
        std::uint64_t key;
        int priority;  // 0: first, 1: normal, 2: last
        int time;
    };
    std::mt19937 random(7);
    for (unsigned ways = 1; ways <= SectoredCache::kMostWays; ++ways) {
        SectoredCache cache(ways * kLineBytes, ways, true);
        const unsigned most_last = ways / 2;
        cache.limit_last(most_last);
        std::vector<Line> lines;
        for (int time = 0; time < 4000; ++time) {
            const std::uint64_t key = random() % (ways + 3);
            const EvictionPolicy policies[] = {EvictionPolicy::none,   EvictionPolicy::none,
                                               EvictionPolicy::normal, EvictionPolicy::first,
                                               EvictionPolicy::last,   EvictionPolicy::unchanged};
            const EvictionPolicy policy = policies[random() % 6];
            SectoredCache::Index index = cache.find(key);
            auto place =
                std::find_if(lines.begin(), lines.end(), [=](const Line& l) { return l.key == key; });
            REQUIRE((index != SectoredCache::kNone) == (place != lines.end()));
            const bool hit = place != lines.end();
            if (!hit) {
                index = cache.victim(key);
                if (lines.size() == ways) {
                    place = std::min_element(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
                        return std::pair(a.priority, a.time) < std::pair(b.priority, b.time);
                    });
                    REQUIRE(cache.key(index) == place->key);
                    lines.erase(place);
                }
                cache.assign(index, key, policy);
                cache.set_slot(index, static_cast<unsigned>(key) * 100);
                lines.push_back({key, 1, time});
                place = std::prev(lines.end());
            } else {
                cache.touch(index, policy);
                REQUIRE(cache.slot(index) == key * 100);
                if (policy == EvictionPolicy::unchanged) continue;
            }
            const auto others = std::count_if(
                lines.begin(), lines.end(), [&](const Line& l) { return &l != &*place && l.priority == 2; });
            if (policy == EvictionPolicy::last)
                place->priority = others < most_last ? 2 : 1;
            else if (policy == EvictionPolicy::first)
                place->priority = 0;
            else if (policy == EvictionPolicy::normal || place->priority != 2)
                place->priority = 1;
            place->time = time;
        }
    }
}

TEST_CASE("a cache that was used and cleared or resized is as a new one") {
    std::mt19937 random(3);
    const auto use = [](SectoredCache& cache, unsigned seed) {
        std::mt19937 keys(seed);
        std::vector<SectoredCache::Index> places;
        for (int i = 0; i < 600; ++i) {
            const std::uint64_t key = keys() % 900;
            const auto policy = static_cast<EvictionPolicy>(keys() % 4);
            SectoredCache::Index index = cache.find(key);
            if (index == SectoredCache::kNone) {
                index = cache.victim(key);
                cache.assign(index, key, policy);
                cache.sectors(index).valid = 3;
            } else {
                cache.touch(index, policy);
            }
            places.push_back(index);
        }
        return places;
    };
    SectoredCache cache;
    std::uint64_t bytes = 0;
    unsigned ways = 0;
    bool slots = false;
    for (unsigned turn = 0; turn < 40; ++turn) {
        // Sizes go up and down, layouts change; little and much of it was used before.
        if (turn != 0 && random() % 4 == 0) {
            cache.clear();
        } else {
            bytes = std::uint64_t{16} << (10 + random() % 4);
            ways = random() % 3 == 0 ? 8 : 16;
            slots = random() % 4 == 0;
            cache.resize(bytes, ways, slots);
        }
        SectoredCache fresh(bytes, ways, slots);
        CHECK(cache.lines() == fresh.lines());
        CHECK(use(cache, turn) == use(fresh, turn));
    }
}
