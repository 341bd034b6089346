#include "models/gpu/loop_leap.h"

#include <algorithm>
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
};

/// How far the warps of the first block get.
Rehearsal rehearse(const ptx::LeapProgram& program, const std::vector<LeapingWarp>& warps,
                   std::uint64_t most) {
    Rehearsal result{most, program.waits_for_states() ? 2u : 1u};
    for (const LeapingWarp& one : warps) {
        if (one.block != warps.front().block) continue;
        ptx::WarpLeap leap(program, *one.warp);
        std::vector<std::uint64_t> signatures;
        const std::uint64_t steps = one.steps();
        while (signatures.size() < result.turns && (signatures.size() + 1) * steps <= kMostSteps &&
               leap.turn(steps))
            signatures.push_back(leap.signature());
        leap.undo();
        result.turns = signatures.size();
        const std::uint64_t ring = ring_of(signatures);
        if (ring == 0) return {0, 1};
        result.ring = std::lcm(result.ring, program.waits_for_states() ? 2 * ring : ring);
        if (result.ring > 2 * kLongestRing) return {0, 1};
    }
    return result;
}

/// Performs `turns` turns of every warp. Returns the fewest that one of them got to; when that is less, no
/// warp has moved.
std::uint64_t perform(const ptx::LeapProgram& program, const std::vector<LeapingWarp>& warps,
                      std::uint64_t turns, std::uint64_t ring, std::vector<std::uint64_t>& performed) {
    performed.assign(program.actions().size(), 0);
    std::vector<ptx::WarpLeap> leaps;
    leaps.reserve(warps.size());
    std::vector<std::uint64_t> first(ring);
    std::uint64_t fewest = turns;
    for (const LeapingWarp& one : warps) {
        leaps.emplace_back(program, *one.warp, performed);
        const std::uint64_t steps = one.steps();
        std::uint64_t done = 0;
        for (; done < fewest && leaps.back().turn(steps); ++done) {
            std::uint64_t& expected = first[done % ring];
            if (done < ring) expected = leaps.back().signature();
            if (expected != leaps.back().signature()) break;
        }
        fewest = std::min(fewest, done);
    }
    if (fewest < turns) {
        for (ptx::WarpLeap& leap : leaps) leap.undo();
    }
    return fewest;
}

}  // namespace

Leap leap_together(const ptx::LeapProgram& program, const std::vector<LeapingWarp>& warps,
                   const LeapLimits& limits) {
    Leap leap;
    if (warps.empty()) return leap;
    // Far enough for the ring to be seen.
    const Rehearsal rehearsal = rehearse(program, warps, std::max(limits.most, 2 * kLongestRing));
    std::uint64_t possible = std::min(rehearsal.turns, limits.most + limits.margin);
    for (unsigned attempt = 0; attempt < 3; ++attempt) {
        const std::uint64_t turns =
            possible <= limits.margin ? 0 : (possible - limits.margin) / rehearsal.ring * rehearsal.ring;
        if (turns == 0) {
            leap.obstacle = "its loops have few turns left, or no two of them are alike";
            return leap;
        }
        possible = perform(program, warps, turns, rehearsal.ring, leap.performed);
        if (possible != turns) continue;
        leap.turns = turns;
        return leap;
    }
    leap.obstacle = "its thread blocks go round different numbers of times";
    return leap;
}

}  // namespace heddle::models::gpu
