#include "models/common/clock_domain.h"

#include <catch2/catch.hpp>
#include <vector>

#include "isa/common/error.h"

using namespace heddle::models;

namespace {

/// Acts at the cycles it is given, and tells its partner `delay` cycles later.
struct Sleeper : Block {
    Sleeper(const char* name, ClockDomain& clock) : Block(name, clock) {}
    Cycle tick(Cycle now) override {
        log.push_back(now);
        if (!todo.empty() && todo.front() == now) todo.erase(todo.begin());
        if (partner != nullptr) {
            partner->todo.push_back(now + delay);
            partner->wake(now + delay);
        }
        return todo.empty() ? kNever : todo.front();
    }
    bool can_act(Cycle now) const override { return !todo.empty() && todo.front() <= now; }
    void reset() override {
        todo.clear();
        log.clear();
    }
    std::vector<Cycle> todo, log;
    Sleeper* partner = nullptr;
    Cycle delay = 1;
};

}  // namespace

TEST_CASE("blocks are called exactly in the cycles they are due, near and far") {
    ClockDomain clock("clock", 1e9);
    Sleeper a("a", clock), b("b", clock);
    a.partner = &b;
    a.delay = 700;
    for (const bool every_cycle : {false, true}) {
        clock.set_tick_every_cycle(every_cycle);
        clock.restart();
        a.reset();
        b.reset();
        a.todo = {3, 4, 1024, 1027, 5000, 123456};
        a.wake(3);
        REQUIRE(clock.run() == 123456 + 700);
        REQUIRE(a.log == std::vector<Cycle>{3, 4, 1024, 1027, 5000, 123456});
        REQUIRE(b.log == std::vector<Cycle>{703, 704, 1724, 1727, 5700, 124156});
    }
}

TEST_CASE("cycles become picoseconds without drift") {
    ClockDomain clock("clock", 1.98e9);
    REQUIRE(clock.time_of(1'980'000'000) == sc_core::sc_time(1, sc_core::SC_SEC));
    Sleeper a("a", clock);
    clock.restart();
    a.todo = {1980};
    a.wake(1980);
    const sc_core::sc_time before = sc_core::sc_time_stamp();
    clock.run();
    REQUIRE(sc_core::sc_time_stamp() - before == sc_core::sc_time(1, sc_core::SC_US));
}

TEST_CASE("looking at every cycle catches a block that sleeps too long") {
    ClockDomain clock("clock", 1e9);
    struct Late : Sleeper {
        using Sleeper::Sleeper;
        bool can_act(Cycle now) const override { return now == 5; }
    } late("late", clock);
    clock.restart();
    late.todo = {2, 9};
    late.wake(2);
    clock.set_tick_every_cycle(true);
    REQUIRE_THROWS_WITH(clock.run(), Catch::Contains("could act in cycle 5"));
}

TEST_CASE("an endless run ends at its limit") {
    ClockDomain clock("clock", 1e9);
    struct Endless : Sleeper {
        using Sleeper::Sleeper;
        Cycle tick(Cycle now) override { return now + 1; }
    } endless("endless", clock);
    clock.restart();
    endless.wake(1);
    REQUIRE_THROWS_AS(clock.run(1000), heddle::Error);
}
