#include "models/gpu/sm_audit.h"

#include <algorithm>
#include <utility>

#include "isa/common/error.h"

namespace heddle::models::gpu {
namespace {

std::uint64_t whole_units(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

}  // namespace

SmAudit::SmAudit(std::string name, const GpuConfig& config, const LaunchSource& source)
    : name_(std::move(name)), sm_(config.sm), shared_limit_(config.shared.bytes) {
    warps_per_cta_ =
        static_cast<unsigned>((source.launch().block.count() + ptx::kWarpSize - 1) / ptx::kWarpSize);
    registers_per_warp_ =
        whole_units(std::uint64_t{source.registers_per_thread()} * ptx::kWarpSize, sm_.register_unit);
    shared_per_cta_ = whole_units(source.shared_bytes() + config.shared.reserved_per_cta, config.shared.unit);
}

void SmAudit::cta_started() {
    check("thread blocks", ++ctas_, sm_.ctas);
    check("bytes of shared memory", ctas_ * shared_per_cta_, shared_limit_);
}

void SmAudit::warp_started(unsigned slot) {
    if (slot >= kSlots || held_[slot]) fail("slot " + std::to_string(slot) + " was given out twice");
    held_.set(slot);
    const unsigned sub_core = slot % kSubCores;
    check("warps on a sub-core", ++warps_[sub_core], sm_.warps / kSubCores);
    registers_[sub_core] += registers_per_warp_;
    check("registers on a sub-core", registers_[sub_core], sm_.registers / kSubCores);
}

void SmAudit::cta_ended(std::span<const std::uint8_t> slots) {
    if (ctas_-- == 0) fail("a thread block ended that had not begun");
    if (slots.size() != warps_per_cta_)
        fail("a thread block of " + std::to_string(warps_per_cta_) + " warps had " +
             std::to_string(slots.size()));
    for (const std::uint8_t slot : slots) {
        if (slot >= kSlots || !held_[slot]) fail("slot " + std::to_string(slot) + " was given back twice");
        held_.reset(slot);
        --warps_[slot % kSubCores];
        registers_[slot % kSubCores] -= registers_per_warp_;
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

void SmAudit::registers_moved(std::uint32_t together) const {
    const std::uint64_t at_start = registers_per_warp_ / ptx::kWarpSize;
    if (together == at_start * warps_per_cta_) return;
    fail("setmaxnreg left " + std::to_string(together) + " registers per thread to " +
         std::to_string(warps_per_cta_) + " warps that began with " + std::to_string(at_start));
}

void SmAudit::check(const char* what, std::uint64_t used, std::uint64_t limit) const {
    if (used > limit) fail(std::to_string(used) + " " + what + ", it has " + std::to_string(limit));
}

void SmAudit::fail(const std::string& what) const {
    throw Error("internal: " + name_ + ": " + what);
}

}  // namespace heddle::models::gpu
