#include "isa/tpu/execute.h"

#include <algorithm>
#include <deque>

#include "isa/common/error.h"
#include "isa/tpu/core_state.h"

namespace heddle::tpu {
namespace {

/// How far the sequencer may run ahead of a unit.
constexpr std::size_t kQueueDepth = 64;

struct Issued {
    const Instruction* instruction = nullptr;
    LoopCounters counters{};
    std::uint64_t sequence = 0;
};

struct Core {
    Core(const CoreProgram& program, const Limits& limits)
        : cursor(program), state(limits), queues(unit_count(limits) - 1), flags(limits.sync_flags, 0) {}
    ProgramCursor cursor;
    CoreState state;
    std::vector<std::deque<Issued>> queues;
    std::vector<std::uint64_t> flags;
    std::uint64_t sequence = 0;
};

class Machine {
  public:
    Machine(const Program& program, Memory& memory, const Limits& limits, ExecutionListener* listener)
        : program_(program), memory_(memory), limits_(limits), listener_(listener) {
        for (const CoreProgram& core : program.cores) cores_.emplace_back(core, limits);
    }

    ExecutionCounts run() {
        while (true) {
            bool progress = false, finished = true;
            for (Core& core : cores_) {
                while (issue(core)) progress = true;
                for (std::size_t queue = 0; queue < core.queues.size(); ++queue) {
                    while (step(core, queue)) progress = true;
                }
                finished = finished && is_done(core);
            }
            if (finished) return counts_;
            if (!progress) report_deadlock();
        }
    }

  private:
    std::size_t index_of(const Core& core) const {
        std::size_t index = 0;
        while (&cores_[index] != &core) ++index;
        return index;
    }
    void tell(Core& core, const Issued& issued) {
        if (listener_ == nullptr) return;
        listener_->performs(index_of(core), *issued.instruction, issued.counters, issued.sequence,
                            core.state.vmem());
    }

    static bool is_done(const Core& core) {
        const bool halted = std::holds_alternative<Halt>(core.cursor.instruction()->operation);
        return halted &&
               std::all_of(core.queues.begin(), core.queues.end(), [](const auto& q) { return q.empty(); });
    }

    static bool flags_ready(const Core& core, const Instruction& instruction) {
        return std::all_of(instruction.waits.begin(), instruction.waits.end(),
                           [&](const FlagWait& wait) { return core.flags[wait.flag] >= wait.count; });
    }
    static void take_flags(Core& core, const Instruction& instruction) {
        for (const FlagWait& wait : instruction.waits) core.flags[wait.flag] -= wait.count;
    }
    void signal(Core& core, const Instruction& instruction) {
        for (const FlagSignal& signal : instruction.signals) {
            Core& target = signal.core < 0 ? core : cores_[static_cast<std::size_t>(signal.core)];
            ++target.flags[signal.flag];
        }
    }

    bool issue(Core& core) {
        const Instruction& instruction = *core.cursor.instruction();
        if (std::holds_alternative<Halt>(instruction.operation)) return false;
        if (unit_of(instruction.operation) == UnitKind::sequencer) {
            if (!flags_ready(core, instruction)) return false;
            take_flags(core, instruction);
            tell(core, {&instruction, core.cursor.counters(), 0});
            signal(core, instruction);
        } else {
            std::deque<Issued>& queue = core.queues[unit_number(instruction.operation, limits_)];
            if (queue.size() >= kQueueDepth) return false;
            if (listener_ != nullptr) listener_->issued(index_of(core), core.sequence);
            queue.push_back({&instruction, core.cursor.counters(), core.sequence++});
        }
        ++counts_.instructions;
        core.cursor.advance();
        return true;
    }

    /// Inside a matrix unit: results before their pop, pops before their rows are written again.
    static bool matrix_ready(const Core& core, std::size_t queue, const Issued& issued) {
        const auto earlier_overlap = [&](std::size_t other, std::uint32_t first, std::uint32_t rows) {
            for (const Issued& waiting : core.queues[other]) {
                if (waiting.sequence > issued.sequence) return false;
                const Operation& operation = waiting.instruction->operation;
                std::uint32_t begin = 0, count = 0;
                if (const auto* matmul = std::get_if<Matmul>(&operation)) {
                    begin = matmul->accumulator;
                    count = matmul->rows;
                } else if (const auto* pop = std::get_if<Pop>(&operation)) {
                    begin = pop->accumulator;
                    count = pop->rows;
                }
                if (begin < first + rows && first < begin + count) return true;
            }
            return false;
        };
        const Operation& operation = issued.instruction->operation;
        if (const auto* matmul = std::get_if<Matmul>(&operation)) {
            if (matmul->next_weights && core.state.matrix(matmul->unit).pushed_tiles() == 0) return false;
            return !earlier_overlap(queue + 1, matmul->accumulator, matmul->rows);
        }
        if (const auto* pop = std::get_if<Pop>(&operation)) {
            return !earlier_overlap(queue - 1, pop->accumulator, pop->rows);
        }
        return true;
    }

    bool step(Core& core, std::size_t queue) {
        if (core.queues[queue].empty()) return false;
        const Issued issued = core.queues[queue].front();
        const Instruction& instruction = *issued.instruction;
        if (!flags_ready(core, instruction) || !matrix_ready(core, queue, issued)) return false;
        take_flags(core, instruction);
        tell(core, issued);
        core.state.perform(instruction, issued.counters, memory_);
        count(instruction);
        core.queues[queue].pop_front();
        signal(core, instruction);
        return true;
    }

    void count(const Instruction& instruction) {
        if (const auto* dma = std::get_if<Dma>(&instruction.operation)) {
            const std::uint64_t bytes = std::uint64_t{dma->rows} * dma->row_bytes;
            (unit_of(instruction.operation) == UnitKind::dma_load ? counts_.bytes_loaded
                                                                  : counts_.bytes_stored) += bytes;
        } else if (const auto* matmul = std::get_if<Matmul>(&instruction.operation)) {
            counts_.macs += std::uint64_t{matmul->rows} * matmul->depth * matmul->columns;
        }
    }

    [[noreturn]] void report_deadlock() const {
        std::string waiting;
        for (std::size_t index = 0; index < cores_.size(); ++index) {
            const Core& core = cores_[index];
            const auto describe = [&](const Instruction& instruction) {
                waiting += "\n  core " + std::to_string(index) + ": " + mnemonic(instruction.operation);
                if (instruction.line > 0) waiting += " (line " + std::to_string(instruction.line) + ")";
                for (const FlagWait& wait : instruction.waits) {
                    waiting += " needs flag " + std::to_string(wait.flag) +
                               " >= " + std::to_string(wait.count) + ", which is " +
                               std::to_string(core.flags[wait.flag]);
                }
            };
            const Instruction& next = *core.cursor.instruction();
            if (!std::holds_alternative<Halt>(next.operation)) describe(next);
            for (const auto& queue : core.queues) {
                if (!queue.empty()) describe(*queue.front().instruction);
            }
        }
        throw Error("program " + program_.name + " is deadlocked; waiting are:" + waiting);
    }

    const Program& program_;
    Memory& memory_;
    const Limits& limits_;
    ExecutionListener* listener_;
    std::deque<Core> cores_;
    ExecutionCounts counts_;
};

}  // namespace

std::size_t unit_number(const Operation& operation, const Limits& limits) {
    switch (unit_of(operation)) {
        case UnitKind::dma_load:
            return 0;
        case UnitKind::dma_store:
            return 1;
        case UnitKind::vector:
            return 2;
        case UnitKind::transpose:
            return 3;
        case UnitKind::push:
            return 4 + 3 * std::size_t{std::get<PushWeights>(operation).unit};
        case UnitKind::matmul:
            return 5 + 3 * std::size_t{std::get<Matmul>(operation).unit};
        case UnitKind::pop:
            return 6 + 3 * std::size_t{std::get<Pop>(operation).unit};
        case UnitKind::sequencer:
            break;
    }
    return unit_count(limits) - 1;
}

ExecutionCounts execute(const Program& program, Memory& memory, const Limits& limits,
                        ExecutionListener* listener) {
    validate(program, limits);
    return Machine(program, memory, limits, listener).run();
}

}  // namespace heddle::tpu
