#include "models/tpu/tpu_sequencer.h"

namespace heddle::models {

TpuSequencer::TpuSequencer(const sc_core::sc_module_name& name, ClockDomain& clock,
                           const SequencerConfig& config, bool has_sparse_cores)
    : Block(name, clock),
      flags("flags"),
      dma("dma"),
      sparse_cores("sparse_cores"),
      vector("vector"),
      transpose("transpose"),
      matrix("matrix"),
      config_(config),
      has_sparse_cores_(has_sparse_cores) {}

void TpuSequencer::reset() {
    cursor_ = {};
    halted_ = true;
    sequence_ = 0;
    times_.reset();
    statistics_ = {};
}

void TpuSequencer::start(const tpu::CoreProgram* program) {
    if (program == nullptr) return;
    cursor_ = tpu::ProgramCursor(*program);
    halted_ = false;
    wake(0);
}

const SequencerStatistics& TpuSequencer::statistics() {
    statistics_.times = times_.times();
    return statistics_;
}

InstructionSink& TpuSequencer::sink_for(const tpu::Operation& operation) {
    switch (tpu::unit_of(operation)) {
        case tpu::UnitKind::push:
            return *matrix[std::get<tpu::PushWeights>(operation).unit];
        case tpu::UnitKind::matmul:
            return *matrix[std::get<tpu::Matmul>(operation).unit];
        case tpu::UnitKind::pop:
            return *matrix[std::get<tpu::Pop>(operation).unit];
        case tpu::UnitKind::vector:
            return *vector.operator->();
        case tpu::UnitKind::transpose:
            return *transpose.operator->();
        default:
            if (has_sparse_cores_ && is_indexed(std::get<tpu::Dma>(operation)))
                return *sparse_cores.operator->();
            return *dma.operator->();
    }
}

UnitState TpuSequencer::obstacle(Cycle now) const {
    if (halted_) return UnitState::empty;
    const tpu::Instruction& instruction = *cursor_.instruction();
    if (std::holds_alternative<tpu::Halt>(instruction.operation)) return UnitState::working;
    if (tpu::unit_of(instruction.operation) == tpu::UnitKind::sequencer) {
        return flags->obstacle(instruction, now);
    }
    InstructionSink& sink = const_cast<TpuSequencer*>(this)->sink_for(instruction.operation);
    return sink.queue_for(instruction.operation).has_room(now) ? UnitState::working : UnitState::queue_full;
}

Cycle TpuSequencer::tick(Cycle now) {
    for (unsigned slot = 0; slot < config_.issue_width; ++slot) {
        const UnitState state = obstacle(now);
        if (slot == 0) times_.enter(state, now);
        if (state == UnitState::empty) return kNever;
        const tpu::Instruction& instruction = *cursor_.instruction();
        const tpu::Operation& operation = instruction.operation;
        if (waits_for_flag(state)) {
            flags->tell_of_signals(instruction, *this, now);
            return slot == 0 ? kNever : now + 1;
        }
        if (state == UnitState::queue_full) {
            sink_for(operation).queue_for(operation).tell_of_room(*this, now);
            return slot == 0 ? kNever : now + 1;
        }
        statistics_.last_cycle = now;
        if (std::holds_alternative<tpu::Halt>(operation)) {
            halted_ = true;
            times_.enter(UnitState::empty, now + 1);
            return kNever;
        }
        ++statistics_.instructions;
        if (probe() != nullptr) probe()->add(1, now, 1);
        if (tpu::unit_of(operation) == tpu::UnitKind::sequencer) {
            flags->take(instruction, now);
            flags->signal(instruction, now);
        } else {
            sink_for(operation).issue(now, {&instruction, cursor_.counters(), sequence_++});
        }
        cursor_.advance();
    }
    return now + 1;
}

std::vector<SignalDeclaration> TpuSequencer::signals() const {
    return {state_signal("state", "the sequencer"),
            {"issued", 8, "instructions", "Instructions that are issued.", SignalKind::amount}};
}

void TpuSequencer::set_probe(SignalProbe* probe) {
    Block::set_probe(probe);
    times_.watch(probe, 0);
}

bool TpuSequencer::can_act(Cycle now) const {
    return obstacle(now) == UnitState::working;
}

}  // namespace heddle::models
