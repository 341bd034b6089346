// Runs a launch in functional and in timing mode side by side and compares everything a timing model sees.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

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

inline bool same_operations(std::span<const AsyncOperation> a, std::span<const AsyncOperation> b) {
    const auto same_piece = [](const AsyncOperation::Piece& x, const AsyncOperation::Piece& y) {
        return x.address == y.address && x.bytes == y.bytes;
    };
    const auto same_signal = [](const AsyncOperation::Signal& x, const AsyncOperation::Signal& y) {
        return x.rank == y.rank && x.address == y.address && x.arrivals == y.arrivals &&
               x.transaction_bytes == y.transaction_bytes;
    };
    const auto same = [&](const AsyncOperation& x, const AsyncOperation& y) {
        return x.kind == y.kind && x.reduces == y.reduces && x.in_bulk_group == y.in_bulk_group &&
               x.warp == y.warp && x.bytes == y.bytes && x.destinations == y.destinations &&
               std::equal(x.pieces.begin(), x.pieces.end(), y.pieces.begin(), y.pieces.end(), same_piece) &&
               std::equal(x.signals.begin(), x.signals.end(), y.signals.begin(), y.signals.end(),
                          same_signal);
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

/// Ends what the last step began. Returns the warps that this releases.
inline std::uint32_t complete_started(Cta& cta, const StepResult& step) {
    struct Released : CtaObserver {
        std::uint32_t warps = 0;
        void warps_released(std::uint32_t, std::uint32_t released) override { warps |= released; }
    } released;
    if (step.started_operations == 0) return 0;
    cta.set_observer(&released, 0);
    const std::vector<AsyncOperation> operations(cta.started().begin(), cta.started().end());
    for (const AsyncOperation& operation : operations) cta.complete(operation);
    cta.set_observer(nullptr, 0);
    return released.warps;
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
                    const bool same =
                        x.info == y.info && x.active_lanes == y.active_lanes && x.finished == y.finished &&
                        x.released_warps == y.released_warps && same_access(x.access, y.access) &&
                        x.started_operations == y.started_operations &&
                        (x.started_operations == 0 || same_operations(a.started(), b.started())) &&
                        complete_started(a, x) == complete_started(b, y);
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
