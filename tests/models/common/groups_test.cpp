// Blocks in groups: one thread or several, every block is told the same things in the same order.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "isa/common/error.h"
#include "models/common/clock_domain.h"

using namespace heddle::models;

namespace {

/// Takes what others tell it, in an order that its state remembers for ever, and tells others: any block
/// through post(), those of its group directly. In each cycle, what came to an inbox first comes first.
struct Gossip : Block {
    Gossip(const char* name, ClockDomain& clock, std::uint64_t seed)
        : Block(name, clock), first_state(seed), state(seed) {}

    using Inbox = std::vector<std::pair<std::uint64_t, Cycle>>;
    void hear(Inbox& inbox, std::uint64_t word, Cycle at) {
        inbox.emplace_back(word, at);
        wake(at);
    }
    void take(Inbox& inbox, Cycle now) {
        Inbox later;
        for (const auto& [word, at] : inbox) {
            if (at <= now)
                state = (state ^ word) * 0x9E3779B97F4A7C15ull + at;
            else
                later.emplace_back(word, at);
        }
        inbox = std::move(later);
    }
    void tell(Gossip& other, Cycle at) {
        if (!clock().apart()) return other.hear(other.from_all, state, at);
        const auto deliver = [](void* receiver, void* word, Cycle when) {
            auto* const block = static_cast<Gossip*>(receiver);
            block->hear(block->from_all, reinterpret_cast<std::uintptr_t>(word), when);
        };
        post(&other, deliver, &other, reinterpret_cast<void*>(static_cast<std::uintptr_t>(state)), at);
    }
    Cycle tick(Cycle now) override {
        take(from_neighbour, now);
        take(from_all, now);
        state = state * 6364136223846793005ull + now;
        ++ticks;
        if (fails_at == now) throw heddle::Error(std::string(name()) + " failed");
        if (now > 1500) return kNever;  // the village goes to sleep
        for (unsigned i = 0; i < 2; ++i) {
            Gossip& other = *(*all)[(state >> (8 + 16 * i)) % all->size()];
            if (&other != this && (other.group() != group() || group() == kAlone))
                tell(other, now + 1 + (state >> 40) % 2000);
        }
        if (neighbour != nullptr)
            neighbour->hear(neighbour->from_neighbour, state, now + 1 + (state >> 50) % 7);
        return next(now);
    }
    // Of what it knows of; sometimes the cycle after without any need.
    Cycle next(Cycle now) const {
        Cycle first = (state >> 60) < 3 ? now + 1 : kNever;
        for (const Inbox* inbox : {&from_neighbour, &from_all})
            for (const auto& message : *inbox) first = std::min(first, message.second);
        return first;
    }
    bool can_act(Cycle) const override { return false; }
    void reset() override {
        state = first_state;
        ticks = 0;
        from_neighbour.clear();
        from_all.clear();
    }
    const std::uint64_t first_state;
    std::uint64_t state;
    std::uint64_t ticks = 0;
    Inbox from_neighbour, from_all;
    Cycle fails_at = kNever;
    Gossip* neighbour = nullptr;  // of the same group
    const std::vector<std::unique_ptr<Gossip>>* all = nullptr;
};

struct Village {
    ClockDomain clock{"clock", 1e9};
    std::vector<std::unique_ptr<Gossip>> all;

    /// The first and the last live alone; a third of the groups acts in a later phase.
    Village() {
        constexpr unsigned kBlocks = 90, kGroups = 11;
        for (unsigned i = 0; i < kBlocks; ++i)
            all.push_back(
                std::make_unique<Gossip>(("gossip_" + std::to_string(i)).c_str(), clock, i * 77 + 5));
        std::vector<Gossip*> last(kGroups, nullptr);
        for (unsigned i = 0; i < kBlocks; ++i) {
            all[i]->all = &all;
            if (i == 0 || i + 1 == kBlocks) continue;
            const unsigned phase = i < 60 ? 0 : 1;
            const unsigned group = phase == 0 ? (i - 1) / 8 : 8 + (i - 60) / 10;
            all[i]->join_group(group, phase);
            all[i]->neighbour = last[group];
            last[group] = all[i].get();
        }
    }
    std::vector<std::uint64_t> run(unsigned threads) {
        clock.set_threads(threads);
        clock.restart();
        for (const auto& one : all) {
            one->reset();
            one->wake(1);
        }
        std::vector<std::uint64_t> result{clock.run()};
        for (const auto& one : all) {
            result.push_back(one->state);
            result.push_back(one->ticks);
        }
        return result;
    }
};

}  // namespace

TEST_CASE("several threads give every block the same messages in the same order as one") {
    Village village;
    const std::vector<std::uint64_t> one = village.run(1);
    std::uint64_t ticks = 0;
    for (const auto& block : village.all) ticks += block->ticks;
    REQUIRE(ticks > 50000);
    for (const unsigned threads : {2u, 3u, 4u, 8u, 1u}) {
        CAPTURE(threads);
        CHECK(village.run(threads) == one);
    }
}

TEST_CASE("of blocks that fail in one cycle, the first is told, as with one thread") {
    Village village;
    for (const unsigned i : {17u, 30u, 41u}) village.all[i]->fails_at = 1;
    for (const unsigned threads : {1u, 4u}) {
        CAPTURE(threads);
        REQUIRE_THROWS_WITH(village.run(threads), Catch::Contains("gossip_17 failed"));
    }
    for (const auto& one : village.all) one->fails_at = kNever;
    REQUIRE(village.run(4) == village.run(1));
}
