// Runs a launch in functional and in timing mode side by side and compares everything a timing model sees.
#pragma once

#include <catch2/catch.hpp>

#include "isa/ptx/execution.h"

namespace heddle::ptx::test {

inline bool same_access(const MemoryAccess* a, const MemoryAccess* b) {
    if ((a == nullptr) != (b == nullptr)) return false;
    if (a == nullptr) return true;
    if (a->space != b->space || a->write != b->write || a->atomic != b->atomic || a->lanes != b->lanes ||
        a->bytes_per_lane != b->bytes_per_lane || a->zero_filled_lanes != b->zero_filled_lanes) {
        return false;
    }
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        if ((a->lanes >> lane & 1u) != 0 && a->address[lane] != b->address[lane]) return false;
    }
    return true;
}

struct ModeComparison {
    std::uint64_t steps = 0, accesses = 0, differences = 0;
};

/// Both launches must describe the same kernel and equal memory layouts.
inline ModeComparison compare_modes(const LaunchContext& functional, const LaunchContext& timing) {
    ModeComparison comparison;
    Cta a(functional), b(timing);
    for (std::uint64_t index = 0; index < functional.grid.count(); ++index) {
        a.start(index);
        b.start(index);
        for (bool progress = true; progress;) {
            progress = false;
            for (unsigned w = 0; w < a.warp_count(); ++w) {
                Warp &left = a.warp(w), &right = b.warp(w);
                for (unsigned turn = 0; turn < 16 && !left.finished() && !left.blocked(); ++turn) {
                    if (right.finished() || right.blocked() || left.next() != right.next()) {
                        ++comparison.differences;
                        return comparison;
                    }
                    const StepResult x = left.step(comparison.steps), y = right.step(comparison.steps);
                    ++comparison.steps;
                    comparison.accesses += x.access != nullptr ? 1 : 0;
                    const bool same = x.info == y.info && x.active_lanes == y.active_lanes &&
                                      x.finished == y.finished && x.released_warps == y.released_warps &&
                                      same_access(x.access, y.access);
                    comparison.differences += same ? 0 : 1;
                    progress = true;
                }
            }
        }
        if (!a.finished() || !b.finished()) ++comparison.differences;
    }
    return comparison;
}

}  // namespace heddle::ptx::test
