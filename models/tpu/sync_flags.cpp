#include "models/tpu/sync_flags.h"

#include <algorithm>

namespace heddle::models {

SyncFlags::SyncFlags(const sc_core::sc_module_name& name, unsigned count, unsigned remote_cycles)
    : sc_module(name),
      flags_(count),
      meaning_(count, UnitState::sync_flag),
      remote_cycles_(remote_cycles),
      cores_{this} {}

void SyncFlags::name_signallers(const tpu::CoreProgram* program) {
    std::fill(meaning_.begin(), meaning_.end(), UnitState::sync_flag);
    if (program == nullptr) return;
    for (const tpu::Instruction& instruction : program->instructions) {
        UnitState meaning = UnitState::results;
        if (const auto* dma = std::get_if<tpu::Dma>(&instruction.operation)) {
            meaning = dma->host ? UnitState::input : UnitState::transfer;
        } else if (tpu::unit_of(instruction.operation) == tpu::UnitKind::sequencer) {
            continue;
        }
        for (const tpu::FlagSignal& signal : instruction.signals)
            if (signal.core < 0) meaning_[signal.flag] = meaning;
    }
}

UnitState SyncFlags::obstacle(const tpu::Instruction& instruction, Cycle now) const {
    for (const tpu::FlagWait& wait : instruction.waits)
        if (value(wait.flag, now) < wait.count) return meaning_[wait.flag];
    return UnitState::working;
}

void SyncFlags::reset() {
    for (Flag& flag : flags_) flag = {};
}

std::uint64_t SyncFlags::value(unsigned flag, Cycle now) const {
    const Flag& entry = flags_[flag];
    const auto hidden = std::upper_bound(entry.coming.begin(), entry.coming.end(), now);
    return entry.held + static_cast<std::uint64_t>(hidden - entry.coming.begin());
}

bool SyncFlags::ready(const tpu::Instruction& instruction, Cycle now) const {
    return std::all_of(instruction.waits.begin(), instruction.waits.end(),
                       [&](const tpu::FlagWait& wait) { return value(wait.flag, now) >= wait.count; });
}

void SyncFlags::take(const tpu::Instruction& instruction, Cycle now) {
    for (const tpu::FlagWait& wait : instruction.waits) {
        Flag& flag = flags_[wait.flag];
        while (!flag.coming.empty() && flag.coming.front() <= now) {
            flag.coming.pop_front();
            ++flag.held;
        }
        flag.held -= wait.count;
    }
}

void SyncFlags::tell_of_signals(const tpu::Instruction& instruction, Block& block, Cycle now) {
    for (const tpu::FlagWait& wait : instruction.waits) {
        Flag& flag = flags_[wait.flag];
        if (value(wait.flag, now) >= wait.count) continue;
        for (const Cycle visible : flag.coming) {
            if (visible > now) block.wake(visible);
        }
        if (std::find(flag.waiting.begin(), flag.waiting.end(), &block) == flag.waiting.end()) {
            flag.waiting.push_back(&block);
        }
    }
}

void SyncFlags::arrive(unsigned flag, Cycle visible) {
    Flag& entry = flags_[flag];
    entry.coming.insert(std::upper_bound(entry.coming.begin(), entry.coming.end(), visible), visible);
    for (Block* const block : entry.waiting) block->wake(visible);
    entry.waiting.clear();
}

void SyncFlags::signal(const tpu::Instruction& instruction, Cycle now) {
    for (const tpu::FlagSignal& signal : instruction.signals) {
        SyncFlags& target = signal.core < 0 ? *this : *cores_[static_cast<std::size_t>(signal.core)];
        target.arrive(signal.flag, now + (&target == this ? 1 : remote_cycles_));
    }
}

}  // namespace heddle::models
