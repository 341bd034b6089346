#include "workloads/trace/turns.h"

#include <algorithm>
#include <set>

#include "isa/common/error.h"

namespace heddle::trace {
namespace {

constexpr std::int64_t kMostTurns = std::int64_t{1} << 53;  // as many as a double counts

using Turns = std::vector<std::int64_t>;

Turns attribute_of(const Op& op) {
    return op.get(keys::any.turns);
}

}  // namespace

double turns_of(const Op& op) {
    double product = 1;
    const Turns turns = attribute_of(op);
    for (std::size_t i = 1; i < turns.size(); i += 2) product *= static_cast<double>(turns[i]);
    return product;
}

std::uint64_t count_of_turns(const Op& op) {
    return static_cast<std::uint64_t>(std::min(turns_of(op), static_cast<double>(kMostTurns)));
}

bool are_in_one_turn(const Op& a, const Op& b) {
    return attribute_of(a) == attribute_of(b);
}

std::vector<HeldTurn> held_turns(const Trace& trace) {
    std::vector<HeldTurn> held;
    std::vector<std::size_t> open;  // places in `held`, outermost first
    Turns before;
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        const Turns turns = attribute_of(trace.ops[i]);
        std::size_t same = 0;
        while (same + 1 < turns.size() && same + 1 < before.size() && turns[same] == before[same] &&
               turns[same + 1] == before[same + 1])
            same += 2;
        open.resize(same / 2);
        for (std::size_t k = same; k + 1 < turns.size(); k += 2) {
            open.push_back(held.size());
            held.push_back({i, i, static_cast<double>(turns[k + 1])});
        }
        for (const std::size_t place : open) held[place].last = i + 1;
        before = turns;
    }
    return held;
}

void check_turns(const Trace& trace) {
    std::set<std::int64_t> seen;
    Turns before;
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        const Op& op = trace.ops[i];
        const Turns turns = attribute_of(op);
        const auto fail = [&](const char* problem) {
            throw Error(problem, {.key = "op " + std::to_string(i) + " (" + op.name + ")"},
                        "\"turns\" is a list of pairs: the number of a turn, and for how many it stands");
        };
        if (turns.size() % 2 != 0) fail("a number of a turn stands without how many it stands for");
        bool same = true;
        for (std::size_t k = 0; k < turns.size(); k += 2) {
            if (turns[k + 1] < 1 || turns[k + 1] > kMostTurns) fail("stands for no number of turns");
            same = same && k + 1 < before.size() && turns[k] == before[k] && turns[k + 1] == before[k + 1];
            if (!same && !seen.insert(turns[k]).second)
                fail("the ops of a turn are not one behind the other");
        }
        before = turns;
    }
}

}  // namespace heddle::trace
