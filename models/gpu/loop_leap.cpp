#include "models/gpu/loop_leap.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace heddle::models::gpu {
namespace {

/// Turns after which barriers and phases repeat, at most: twice the stages of any ring in shared memory.
constexpr std::uint64_t kLongestRing = 64;
/// Instructions of one warp in one leap, at most.
constexpr std::uint64_t kMostSteps = 8'000'000;

/// The smallest distance at which all signatures repeat; 0: none up to kLongestRing.
std::uint64_t ring_of(const std::vector<std::uint64_t>& signatures) {
    for (std::uint64_t ring = 1; ring <= kLongestRing && 2 * ring <= signatures.size(); ++ring) {
        bool repeats = true;
        for (std::size_t i = ring; repeats && i < signatures.size(); ++i)
            repeats = signatures[i] == signatures[i - ring];
        if (repeats) return ring;
    }
    return 0;
}

struct Rehearsal {
    std::uint64_t turns = 0, ring = 1;
    double accesses = 0;  // in a turn, of all blocks
};

/// Turns of the mean block in which this warp makes `own`.
std::uint64_t turns_for(const LeapingWarp& warp, std::uint64_t own) {
    if (warp.rate == 1) return own;
    auto turns = static_cast<std::uint64_t>(static_cast<double>(own) / warp.rate);
    while (turns != 0 && warp.turns_of(turns) > own) --turns;
    return turns;
}

/// How far the warps of the first block get.
Rehearsal rehearse(const ptx::LeapProgram& program, const std::vector<LeapingWarp>& warps, std::uint64_t most,
                   LeftOutTraffic& traffic) {
    constexpr std::uint64_t kObserved = 4;  // turns
    double in_block = 0;                    // warps

    Rehearsal result{most, program.waits_for_states() ? 2u : 1u};
    for (const LeapingWarp& one : warps) {
        if (one.block != warps.front().block) continue;
        ptx::WarpLeap leap(program, *one.warp);
        std::vector<std::uint64_t> signatures;
        const std::uint64_t steps = one.steps();
        const std::uint64_t most_own = one.turns_of(result.turns);
        traffic.begin(kObserved, 0);
        traffic.begin_warp(one.sm(), kObserved);
        while (signatures.size() < most_own && (signatures.size() + 1) * steps <= kMostSteps) {
            const std::uint64_t own = signatures.size();
            if (!leap.turn(steps, own < kObserved && traffic.begin_turn(own) ? &traffic : nullptr)) break;
            signatures.push_back(leap.signature());
        }
        ++in_block;
        result.accesses += static_cast<double>(traffic.accesses()) /
                           static_cast<double>(std::clamp<std::size_t>(signatures.size(), 1, kObserved));
        leap.undo();
        result.turns = std::min(result.turns, turns_for(one, signatures.size()));
        const std::uint64_t ring = ring_of(signatures);
        if (ring == 0) return {};
        result.ring = std::lcm(result.ring, program.waits_for_states() ? 2 * ring : ring);
        if (result.ring > 2 * kLongestRing) return {};
    }
    result.accesses *= static_cast<double>(warps.size()) / in_block;
    return result;
}

/// Performs `turns` turns of every warp. Returns the fewest that one of them got to; when that is less, no
/// warp has moved.
std::uint64_t perform(const ptx::LeapProgram& program, const std::vector<LeapingWarp>& warps,
                      std::uint64_t turns, std::uint64_t ring, std::vector<std::uint64_t>& performed,
                      LeftOutTraffic& traffic) {
    performed.assign(program.actions().size(), 0);
    std::vector<ptx::WarpLeap> leaps;
    leaps.reserve(warps.size());
    std::vector<std::uint64_t> first(ring);
    std::uint64_t fewest = turns;
    for (const LeapingWarp& one : warps) {
        leaps.emplace_back(program, *one.warp, performed);
        const std::uint64_t steps = one.steps();
        const std::uint64_t wanted = one.turns_of(fewest);
        std::uint64_t done = 0;
        traffic.begin_warp(one.sm(), one.turns_of(turns));
        for (; done < wanted; ++done) {
            if (!leaps.back().turn(steps, traffic.begin_turn(done) ? &traffic : nullptr)) break;
            std::uint64_t& expected = first[done % ring];
            if (done < ring) expected = leaps.back().signature();
            if (expected != leaps.back().signature()) break;
        }
        if (done < wanted) fewest = turns_for(one, done);
    }
    for (ptx::WarpLeap& leap : leaps) fewest < turns ? leap.undo() : leap.restore_states();
    return fewest;
}

}  // namespace

std::uint64_t LeapingWarp::turns_of(std::uint64_t turns) const {
    if (rate == 1) return turns;
    return static_cast<std::uint64_t>(
        std::max(0LL, std::llround(rate * static_cast<double>(turns) + behind)));
}

Leap leap_together(const ptx::LeapProgram& program, const std::vector<LeapingWarp>& warps,
                   const LeapLimits& limits, LeftOutTraffic& traffic) {
    Leap leap;
    if (warps.empty()) return leap;
    // Far enough for the ring to be seen.
    const Rehearsal rehearsal = rehearse(program, warps, std::max(limits.most, 2 * kLongestRing), traffic);
    const auto differs = [](const LeapingWarp& one) { return one.rate != 1; };
    if (rehearsal.ring > 1 && std::any_of(warps.begin(), warps.end(), differs)) {
        leap.obstacle = "its thread blocks go at different rates";
        return leap;
    }
    std::uint64_t possible = std::min(rehearsal.turns, limits.most + limits.margin);
    for (unsigned attempt = 0; attempt < 3; ++attempt) {
        const std::uint64_t turns =
            possible <= limits.margin ? 0 : (possible - limits.margin) / rehearsal.ring * rehearsal.ring;
        if (turns == 0 || turns < limits.least) {
            leap.obstacle = "its loops have few turns left, or no two of them are alike";
            return leap;
        }
        const double remembered = static_cast<double>(limits.accesses) / std::max(1.0, rehearsal.accesses);
        traffic.begin(turns, turns - std::min(turns, static_cast<std::uint64_t>(remembered)));
        possible = perform(program, warps, turns, rehearsal.ring, leap.performed, traffic);
        if (possible != turns) continue;
        leap.turns = turns;
        return leap;
    }
    leap.obstacle = "its thread blocks go round different numbers of times";
    return leap;
}

}  // namespace heddle::models::gpu
