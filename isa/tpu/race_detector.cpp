#include "isa/tpu/race_detector.h"

#include <algorithm>
#include <cstring>

#include "isa/common/error.h"
#include "isa/tpu/assembler.h"

namespace heddle::tpu {
namespace {

void join(std::vector<std::uint32_t>& into, const std::vector<std::uint32_t>& other) {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], other[i]);
}

}  // namespace

RaceDetector::RaceDetector(const Program& program, const Limits& limits, bool strict)
    : limits_(limits),
      strict_(strict),
      units_per_core_(unit_count(limits) + 2 * (kDmaPaths - 1)),
      units_(program.cores.size() * units_per_core_),
      known_(units_, Clock(units_, 0)),
      done_(units_, 0),
      at_issue_(program.cores.size()),
      vmem_(program.cores.size(), std::vector<Cell>((limits.vmem_bytes + 3) / 4)) {}

void RaceDetector::issued(std::size_t core, std::uint64_t sequence) {
    at_issue_[core][sequence] = known_[core * units_per_core_ + unit_count(limits_) - 1];
}

std::size_t RaceDetector::unit_of_core(const Operation& operation) const {
    const std::size_t unit = unit_number(operation, limits_);
    const auto* dma = std::get_if<Dma>(&operation);
    const DmaPath path = dma != nullptr ? path_of(*dma) : DmaPath::device;
    // Loads and stores are units 0 and 1.
    return path == DmaPath::device ? unit
                                   : unit_count(limits_) + 2 * (static_cast<std::size_t>(path) - 1) + unit;
}

void RaceDetector::learn(Clock& clock, std::size_t core, const FlagWait& wait) {
    std::deque<Token>& tokens = tokens_[{core, wait.flag}];
    const bool one_signaller = std::all_of(
        tokens.begin(), tokens.end(), [&](const Token& token) { return token.unit == tokens.front().unit; });
    const bool all = tokens.size() == wait.count;
    for (std::uint32_t i = 0; i < wait.count; ++i) {
        if (one_signaller || all) join(clock, tokens.front().known);
        tokens.pop_front();
    }
}

void RaceDetector::performs(std::size_t core, const Instruction& instruction, const LoopCounters& counters,
                            std::uint64_t sequence, std::span<const std::byte> vmem) {
    core_ = core;
    unit_ = core * units_per_core_ + unit_of_core(instruction.operation);
    const bool sequencer = unit_of(instruction.operation) == UnitKind::sequencer;
    const bool dma = unit_of(instruction.operation) == UnitKind::dma_load ||
                     unit_of(instruction.operation) == UnitKind::dma_store;
    before_ = known_[unit_];
    // Transfers overlap: that the one before is done is not known at the start of this one, only at its end.
    if (dma) before_[unit_] = 0;
    if (!sequencer) {
        const auto found = at_issue_[core].find(sequence);
        join(before_, found->second);
        at_issue_[core].erase(found);
    }
    for (const FlagWait& wait : instruction.waits) learn(before_, core, wait);
    present_ = {unit_, ++done_[unit_], &instruction};
    visit_operands(instruction, counters, vmem);
    Clock& after = known_[unit_];
    join(after, before_);
    after[unit_] = present_.ordinal;
    for (const FlagSignal& signal : instruction.signals) {
        const std::size_t target = signal.core < 0 ? core : static_cast<std::size_t>(signal.core);
        tokens_[{target, signal.flag}].push_back({unit_, after});
    }
}

bool RaceDetector::is_before(const Mark& earlier, Access access) const {
    if (earlier.instruction == nullptr) return true;
    if (earlier.unit == unit_ && !access.early) return true;  // units are done in the order of their starts
    return before_[earlier.unit] >= earlier.ordinal;
}

void RaceDetector::visit(Cell& cell, Access access, const char* memory, std::uint64_t address) {
    const auto fail = [&](const Mark& earlier) {
        throw Error(std::string("race: nothing puts these two in order at ") + memory + " byte " +
                        std::to_string(address) + " of core " + std::to_string(core_) + ":\n  " +
                        disassemble(*earlier.instruction) + "\n  " + disassemble(*present_.instruction),
                    {"", present_.instruction->line, ""}, "let one wait for a flag of the other");
    };
    if (!is_before(cell.writer, access)) fail(cell.writer);
    if (!access.write) {
        for (Mark& reader : cell.readers) {
            if (reader.unit != unit_) continue;
            reader = present_;
            return;
        }
        cell.readers.push_back(present_);
        return;
    }
    for (const Mark& reader : cell.readers) {
        if (reader.instruction != present_.instruction && !is_before(reader, access)) fail(reader);
    }
    cell.writer = present_;
    cell.readers.clear();
}

void RaceDetector::visit_vmem(std::uint64_t address, std::uint64_t rows, std::uint64_t row_bytes,
                              std::uint64_t stride, Access access) {
    for (std::uint64_t row = 0; row < rows; ++row) {
        const std::uint64_t begin = address + row * stride;
        for (std::uint64_t cell = begin / 4; cell <= (begin + row_bytes - 1) / 4; ++cell) {
            Cell& seen = vmem_[core_][cell];
            if (strict_ && !access.write && seen.writer.instruction == nullptr)
                throw Error("use before load: nothing has written VMEM byte " + std::to_string(cell * 4) +
                                " of core " + std::to_string(core_) + ":\n  " +
                                disassemble(*present_.instruction),
                            {"", present_.instruction->line, ""}, "load or compute it first");
            visit(seen, access, "VMEM", cell * 4);
        }
    }
}

void RaceDetector::visit_hbm(std::uint64_t address, std::uint64_t bytes, Access access) {
    for (std::uint64_t cell = address / 4; cell <= (address + bytes - 1) / 4; ++cell) {
        visit(hbm_[cell], access, "HBM", cell * 4);
    }
}

void RaceDetector::visit_operands(const Instruction& instruction, const LoopCounters& counters,
                                  std::span<const std::byte> vmem) {
    const Operation& operation = instruction.operation;
    const auto at = [&](const Affine& address) { return static_cast<std::uint64_t>(address.at(counters)); };
    constexpr Access read{false, false}, write{true, false};
    if (const auto* dma = std::get_if<Dma>(&operation)) {
        const bool load = dma->kind == DmaKind::load || dma->kind == DmaKind::gather;
        const bool indexed = dma->kind != DmaKind::load && dma->kind != DmaKind::store;
        if (indexed) visit_vmem(at(dma->indices), 1, std::uint64_t{dma->rows} * 4, 0, {false, true});
        visit_vmem(at(dma->vmem), dma->rows, dma->row_bytes, dma->vmem_stride, load ? write : read);
        for (std::uint32_t row = 0; row < dma->rows; ++row) {
            std::uint64_t hbm_row = row;
            if (indexed) {
                std::int32_t index;
                std::memcpy(&index, vmem.data() + at(dma->indices) + std::size_t{row} * 4, 4);
                hbm_row = static_cast<std::uint64_t>(index);
            }
            visit_hbm(at(dma->hbm) + hbm_row * dma->hbm_stride, dma->row_bytes, load ? read : write);
        }
    } else if (const auto* push = std::get_if<PushWeights>(&operation)) {
        const std::uint64_t rows = push->transposed ? push->columns : push->rows;
        const std::uint64_t columns = push->transposed ? push->rows : push->columns;
        visit_vmem(at(push->vmem), rows, columns * bytes_of(push->type), push->stride, read);
    } else if (const auto* matmul = std::get_if<Matmul>(&operation)) {
        visit_vmem(at(matmul->vmem), matmul->rows, std::uint64_t{matmul->depth} * bytes_of(matmul->type),
                   matmul->stride, read);
    } else if (const auto* pop = std::get_if<Pop>(&operation)) {
        visit_vmem(at(pop->vmem), pop->rows, std::uint64_t{pop->columns} * bytes_of(pop->type), pop->stride,
                   write);
    } else if (const auto* transpose = std::get_if<Transpose>(&operation)) {
        const unsigned size = bytes_of(transpose->type);
        visit_vmem(at(transpose->source), transpose->rows, std::uint64_t{transpose->columns} * size,
                   transpose->source_stride, read);
        visit_vmem(at(transpose->destination), transpose->columns, std::uint64_t{transpose->rows} * size,
                   transpose->destination_stride, write);
    } else if (const auto* vector = std::get_if<Vector>(&operation)) {
        for (const VectorOperand& operand : vector->inputs) {
            const std::uint64_t columns = operand.broadcast_columns ? 1 : vector->columns;
            visit_vmem(at(operand.vmem), vector->rows, columns * bytes_of(operand.type), operand.row_stride,
                       read);
        }
        for (std::size_t i = 0; i < vector->outputs.size(); ++i) {
            const VectorOperand& operand = vector->outputs[i];
            const Reduction reduction = vector->kernel->outputs[i].reduction;
            const std::uint64_t rows = over_sublanes(reduction) ? 1 : vector->rows;
            const std::uint64_t columns = over_lanes(reduction) ? 1 : vector->columns;
            visit_vmem(at(operand.vmem), rows, columns * bytes_of(operand.type), operand.row_stride, write);
        }
    }
}

}  // namespace heddle::tpu
