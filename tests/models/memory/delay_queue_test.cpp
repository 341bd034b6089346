#include "models/memory/delay_queue.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <vector>

using namespace heddle::models;

TEST_CASE("a delay queue gives requests out in order of arrival, then of pushing, near and far ahead") {
    std::mt19937 random(7);
    std::vector<MemoryRequest> requests(5000);
    DelayQueue queue;
    std::multimap<Cycle, std::size_t> expected;  // the slow reference
    std::size_t pushed = 0;
    Cycle now = 0;
    while (pushed < requests.size() || !expected.empty()) {
        for (unsigned i = random() % 4; i > 0 && pushed < requests.size(); --i) {
            const Cycle arrival = now + 1 + (random() % 10 == 0 ? random() % 5000 : random() % 300);
            requests[pushed].tag = static_cast<std::uint32_t>(pushed);
            queue.push(requests[pushed], arrival);
            expected.emplace(arrival, pushed++);
        }
        ++now;
        REQUIRE(queue.size() == expected.size());
        REQUIRE(queue.due(now) == (!expected.empty() && expected.begin()->first == now));
        if (expected.empty()) {
            REQUIRE(queue.next(now) == kNever);
        } else {
            const Cycle first = expected.begin()->first;
            REQUIRE(queue.next(now) >= now);
            REQUIRE(queue.next(now) <= first);
            if (expected.rbegin()->first < now + 256) REQUIRE(queue.next(now) == first);
        }
        for (MemoryRequest* request = queue.pop(now); request != nullptr; request = request->next) {
            REQUIRE(expected.begin()->first == now);
            REQUIRE(expected.begin()->second == request->tag);
            expected.erase(expected.begin());
        }
    }
    REQUIRE(queue.empty());
}
