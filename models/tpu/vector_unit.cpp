#include "models/tpu/vector_unit.h"

#include <algorithm>

namespace heddle::models {

VectorUnit::VectorUnit(const sc_core::sc_module_name& name, ClockDomain& clock,
                       const VectorUnitConfig& config, unsigned queue_depth)
    : Block(name, clock),
      flags("flags"),
      memory("memory"),
      instructions("instructions"),
      config_(config),
      queue_(queue_depth) {
    instructions.bind(*this);
}

void VectorUnit::reset() {
    queue_.reset();
    active_ = false;
    present_ = {};
    timing_ = {};
    begin_ = end_ = free_at_ = 0;
    times_.reset();
    statistics_ = {};
}

void VectorUnit::issue(Cycle now, const IssuedInstruction& issued) {
    queue_.push(now, issued);
    wake(now + 1);
}

const VectorUnitStatistics& VectorUnit::statistics() {
    statistics_.times = times_.times();
    return statistics_;
}

VectorTiming VectorUnit::time_of_instruction(const tpu::Instruction& instruction) const {
    if (const auto* vector = std::get_if<tpu::Vector>(&instruction.operation))
        return time_of(*vector, config_);
    return time_of(std::get<tpu::Transpose>(instruction.operation), config_);
}

UnitState VectorUnit::obstacle(Cycle now) const {
    if (active_ || now < free_at_) return UnitState::empty;
    const IssuedInstruction* const next = queue_.front(now);
    if (next == nullptr) return UnitState::empty;
    if (const UnitState wait = flags->obstacle(*next->instruction, now); wait != UnitState::working)
        return wait;
    if (!memory->has_room(time_of_instruction(*next->instruction).rate, now))
        return UnitState::on_chip_memory;
    return UnitState::working;
}

Cycle VectorUnit::tick(Cycle now) {
    const UnitState state = obstacle(now);
    if (state == UnitState::working) {
        present_ = *queue_.front(now);
        queue_.pop(now);
        const tpu::Instruction& instruction = *present_.instruction;
        flags->take(instruction, now);
        timing_ = time_of_instruction(instruction);
        memory->claim(timing_.rate, now);
        active_ = true;
        begin_ = now;
        end_ = now + timing_.cycles - 1;
        ++statistics_.instructions;
        statistics_.operations += timing_.operations;
        times_.enter(UnitState::working, now);
    } else if (!active_ && now >= free_at_) {
        times_.enter(state, now);
        const IssuedInstruction* const next = queue_.front(now);
        if (waits_for_flag(state)) flags->tell_of_signals(*next->instruction, *this, now);
        if (state == UnitState::on_chip_memory) memory->tell_of_room(*this, now);
    }
    if (active_ && end_ <= now) {
        const tpu::Instruction& instruction = *present_.instruction;
        if (values_ != nullptr) values_->perform(instruction, present_.counters, *hbm_);
        flags->signal(instruction, now);
        memory->release(timing_.rate, now);
        if (observer_ != nullptr) observer_->finished(*this, present_, begin_, now);
        active_ = false;
        free_at_ = now + 1;
        statistics_.last_cycle = now;
        times_.enter(UnitState::empty, now + 1);
    }
    if (active_) return end_;
    if (queue_.empty()) return kNever;
    const Cycle next = std::max(free_at_, queue_.visible_from());
    return next > now ? next : kNever;
}

std::vector<SignalDeclaration> VectorUnit::signals() const {
    return {state_signal("state", "the unit"),
            {"queue", 8, "instructions", "Instructions that have not begun."}};
}

void VectorUnit::set_probe(SignalProbe* probe) {
    Block::set_probe(probe);
    times_.watch(probe, 0);
    queue_.watch(probe, 1);
}

bool VectorUnit::can_act(Cycle now) const {
    return (active_ && end_ <= now) || obstacle(now) == UnitState::working;
}

}  // namespace heddle::models
