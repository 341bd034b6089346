// What the warps of a CTA wait for, in words: for deadlock reports.
#include <bit>

#include "isa/common/hexadecimal.h"
#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {
namespace {

std::string describe_lanes(std::uint32_t lanes) {
    std::string text = std::popcount(lanes) == 1 ? "lane " : "lanes ";
    bool first = true;
    while (lanes != 0) {
        const auto low = static_cast<unsigned>(std::countr_zero(lanes));
        const auto length = static_cast<unsigned>(std::countr_one(lanes >> low));
        if (!first) text += ", ";
        first = false;
        text += std::to_string(low);
        if (length > 1) text += "-" + std::to_string(low + length - 1);
        lanes = length == 32 ? 0 : lanes & ~(((1u << length) - 1) << low);
    }
    return text;
}

std::string line_of(const Warp::State& warp, std::uint32_t instruction) {
    return "line " + std::to_string(warp.information[instruction].line);
}

std::string describe_barrier(const Warp::State& warp, std::uint64_t number) {
    const Cta::Implementation& cta = *warp.cta;
    const Barrier& barrier = cta.barriers[number];
    const std::string name = number < kBarrierCount
                                 ? "barrier " + std::to_string(number)
                                 : "wgmma.wait_group of warpgroup " + std::to_string(number - kBarrierCount);
    return "at " + name + ": " + std::to_string(barrier.arrived_warps) + " of " +
           std::to_string(barrier.expected_warps != 0 ? barrier.expected_warps : cta.unfinished) +
           " warps have arrived";
}

std::string describe_wait(const Warp::State& warp, const Path& path) {
    switch (path.wait) {
        case PathWait::lanes:
            return "for the other lanes of member mask " + hexadecimal(path.key) + " (" +
                   line_of(warp, path.pc) + ")";
        case PathWait::cta_barrier:
            return describe_barrier(warp, path.key) + " (" + line_of(warp, path.pc - 1) + ")";
        case PathWait::cluster_barrier:
            return "at the cluster's barrier: " + std::to_string(warp.cta->own_cluster().arrived_threads) +
                   " of " + std::to_string(warp.cta->own_cluster().live_threads) + " threads have arrived (" +
                   line_of(warp, path.pc - 1) + ")";
        case PathWait::memory_barrier:
            return "for the mbarrier at shared address " + hexadecimal(path.key) + ": " +
                   describe_memory_barrier(*warp.cta, path.key) + " (" + line_of(warp, path.pc) + ")";
        case PathWait::tensor_memory:
            return "for " + std::to_string(path.key) + " columns of tensor memory: " +
                   (warp.cta->tensor_permits.wanted != 0 ? std::string("the other CTA of the pair has not asked for as many, or they are not free")
                                                         : std::to_string(warp.cta->tensor_memory->free_columns()) + " of 512 are free") +
                   " (" + line_of(warp, path.pc) + ")";
        case PathWait::none:
            break;
    }
    return "for nothing (" + line_of(warp, path.pc) + ")";
}

}  // namespace

std::string Cta::describe_waiting() const {
    const Implementation& cta = *implementation_;
    const Dim3& p = cta.position;
    std::string text;
    const auto add = [&](const Warp::State& warp, std::uint32_t lanes, const std::string& what) {
        if (!text.empty()) text += "\n";
        text += "CTA (" + std::to_string(p.x) + ", " + std::to_string(p.y) + ", " + std::to_string(p.z) +
                ") warp " + std::to_string(warp.index);
        if (lanes != warp.live) text += " " + describe_lanes(lanes);
        text += what;
    };
    for (const Warp::State& warp : cta.states) {
        if (warp.finished) continue;
        if (!warp.blocked) add(warp, warp.active, " is at " + line_of(warp, warp.pc));
        for (const Path& path : warp.paths) add(warp, path.lanes, " waits " + describe_wait(warp, path));
        for (const Meeting& meeting : warp.meetings) {
            if (!meeting.used || meeting.arrived == 0) continue;
            add(warp, meeting.arrived,
                " waits at " + line_of(warp, meeting.pc) + " for " +
                    describe_lanes(meeting.members & warp.live & ~meeting.arrived));
        }
    }
    return text;
}

}  // namespace heddle::ptx
