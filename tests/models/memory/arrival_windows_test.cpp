// Arrivals by windows against a list that is searched.
#include "models/memory/arrival_windows.h"

#include <catch2/catch.hpp>
#include <random>
#include <utility>
#include <vector>

using namespace heddle::models;

TEST_CASE("every arrival comes out at the end of its window, by cycle and then in the order of pushing") {
    for (const Cycle lookahead : {1, 3, 8, 100}) {
        ArrivalWindows windows(lookahead);
        const Cycle length = windows.end_of(0) + 1;
        REQUIRE(length <= lookahead);
        REQUIRE(2 * length > std::min(lookahead, ArrivalWindows::kLongest));
        std::mt19937 random(3);
        std::vector<MemoryRequest> requests(5000);
        std::vector<std::pair<Cycle, std::size_t>> waiting;  // arrival, number
        std::size_t pushed = 0, taken = 0;
        for (Cycle now = 0; taken < requests.size(); ++now) {
            REQUIRE(now < 1'000'000);
            const bool due = windows.due(now);
            const auto arrivals = windows.take(now);
            REQUIRE(due == !arrivals.empty());
            std::stable_sort(waiting.begin(), waiting.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; });
            std::size_t expected = 0;
            if (windows.end_of(now) == now)
                while (expected < waiting.size() && waiting[expected].first <= now) ++expected;
            REQUIRE(arrivals.size() == expected);
            for (std::size_t i = 0; i < expected; ++i) {
                REQUIRE(arrivals[i].at == waiting[i].first);
                REQUIRE(arrivals[i].request == &requests[waiting[i].second]);
                REQUIRE(arrivals[i].hint == waiting[i].second);
            }
            waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(expected));
            taken += expected;
            if (windows.end_of(now) == now) {
                const Cycle next = windows.next(now);
                REQUIRE(next > now);
                if (waiting.empty())
                    REQUIRE(next == kNever);
                else
                    REQUIRE(next <= windows.end_of(waiting.front().first));
            }
            for (unsigned count = random() % 4; count > 0 && pushed < requests.size(); --count) {
                // Near, and beyond the turn of the wheel.
                const Cycle arrival = windows.end_of(now) + 1 + random() % (random() % 50 == 0 ? 5000 : 300);
                const Cycle told =
                    windows.push(requests[pushed], arrival, static_cast<std::uint32_t>(pushed));
                REQUIRE(told == windows.end_of(arrival));
                waiting.emplace_back(arrival, pushed++);
            }
        }
    }
}
