#include "models/gpu/sm_audit.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "isa/common/error.h"

namespace heddle::models::gpu {
namespace {

std::uint64_t whole_units(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

}  // namespace

SmAudit::SmAudit(std::string name, const GpuConfig& config, const LaunchPlan& plan)
    : name_(std::move(name)), sm_(config.sm), shared_limit_(config.shared.bytes) {
    for (const RunLaunch& launch : plan.launches) {
        const LaunchSource& source = *launch.source;
        launches_.push_back(
            {static_cast<unsigned>((source.launch().block.count() + ptx::kWarpSize - 1) / ptx::kWarpSize),
             whole_units(std::uint64_t{source.registers_per_thread()} * ptx::kWarpSize, sm_.register_unit),
             whole_units(source.shared_bytes() + config.shared.reserved_per_cta, config.shared.unit)});
    }
}

void SmAudit::cta_started(std::uint32_t launch) {
    started_ = launches_.at(launch);
    check("thread blocks", ++ctas_, sm_.ctas);
    check("bytes of shared memory", shared_ += started_.shared_per_cta, shared_limit_);
}

void SmAudit::warp_started(unsigned slot) {
    if (slot >= kSlots || held_[slot]) fail("slot " + std::to_string(slot) + " was given out twice");
    held_.set(slot);
    const unsigned sub_core = slot % kSubCores;
    check("warps on a sub-core", ++warps_[sub_core], sm_.warps / kSubCores);
    registers_[sub_core] += started_.registers_per_warp;
    // Where kernels share an SM, which of its sub-cores has a warp is not known when its thread block is placed.
    if (launches_.size() == 1) check("registers on a sub-core", registers_[sub_core], sm_.registers / kSubCores);
    check("registers", std::accumulate(registers_.begin(), registers_.end(), std::uint64_t{0}), sm_.registers);
}

void SmAudit::cta_ended(std::span<const std::uint8_t> slots, std::uint32_t launch) {
    const Needs& needs = launches_.at(launch);
    if (ctas_-- == 0) fail("a thread block ended that had not begun");
    shared_ -= needs.shared_per_cta;
    if (slots.size() != needs.warps_per_cta)
        fail("a thread block of " + std::to_string(needs.warps_per_cta) + " warps had " +
             std::to_string(slots.size()));
    for (const std::uint8_t slot : slots) {
        if (slot >= kSlots || !held_[slot]) fail("slot " + std::to_string(slot) + " was given back twice");
        held_.reset(slot);
        --warps_[slot % kSubCores];
        registers_[slot % kSubCores] -= needs.registers_per_warp;
    }
}

void SmAudit::issued(unsigned slot, const ptx::InstructionInfo* chosen, const ptx::InstructionInfo* performed,
                     Cycle now) {
    const auto warp = [slot] { return "the warp in slot " + std::to_string(slot); };
    if (slot >= kSlots || !held_[slot]) fail(warp() + " issued without being there");
    if (chosen != performed)
        fail(warp() + " was to issue line " + std::to_string(chosen->line) + " and performed line " +
             (performed == nullptr ? "none" : std::to_string(performed->line)));
    Cycle& last = last_issue_[slot % kSubCores];
    if (last > now) fail(warp() + " issued in a cycle in which its sub-core had issued already");
    last = now + 1;
}

void SmAudit::registers_moved(std::uint32_t together, std::uint32_t launch) const {
    const Needs& needs = launches_.at(launch);
    const std::uint64_t at_start = needs.registers_per_warp / ptx::kWarpSize;
    if (together == at_start * needs.warps_per_cta) return;
    fail("setmaxnreg left " + std::to_string(together) + " registers per thread to " +
         std::to_string(needs.warps_per_cta) + " warps that began with " + std::to_string(at_start));
}

void SmAudit::check(const char* what, std::uint64_t used, std::uint64_t limit) const {
    if (used > limit) fail(std::to_string(used) + " " + what + ", it has " + std::to_string(limit));
}

void SmAudit::fail(const std::string& what) const {
    throw Error("internal: " + name_ + ": " + what);
}

}  // namespace heddle::models::gpu
