#include "isa/tpu/core_state.h"

#include <algorithm>
#include <cstring>

#include "isa/common/error.h"
#include "isa/tpu/vector_execution.h"

namespace heddle::tpu {

CoreState::CoreState(const Limits& limits) : vmem_(limits.vmem_bytes) {
    for (unsigned unit = 0; unit < limits.matrix_units; ++unit) matrix_units_.emplace_back(limits);
}

void CoreState::reset() {
    std::fill(vmem_.begin(), vmem_.end(), std::byte{0});
    for (MatrixState& unit : matrix_units_) unit.reset();
}

void CoreState::perform(const Instruction& instruction, const LoopCounters& counters, Memory& memory) {
    const Operation& operation = instruction.operation;
    if (const auto* dma = std::get_if<Dma>(&operation)) {
        copy(*dma, counters, memory);
    } else if (const auto* push = std::get_if<PushWeights>(&operation)) {
        matrix_units_[push->unit].push(*push, counters, vmem_);
    } else if (const auto* matmul = std::get_if<Matmul>(&operation)) {
        matrix_units_[matmul->unit].matmul(*matmul, counters, vmem_);
    } else if (const auto* pop = std::get_if<Pop>(&operation)) {
        matrix_units_[pop->unit].pop(*pop, counters, vmem_);
    } else if (const auto* vector = std::get_if<Vector>(&operation)) {
        execute(*vector, counters, vmem_);
    } else if (const auto* transpose = std::get_if<Transpose>(&operation)) {
        execute(*transpose, counters, vmem_);
    } else {
        throw Error(std::string("internal: ") + mnemonic(operation) + " belongs to the sequencer");
    }
}

void CoreState::copy(const Dma& dma, const LoopCounters& counters, Memory& memory) {
    const auto hbm = static_cast<std::uint64_t>(dma.hbm.at(counters));
    std::byte* const vmem = vmem_.data() + dma.vmem.at(counters);
    const bool indexed = dma.kind != DmaKind::load && dma.kind != DmaKind::store;
    const std::byte* const indices = indexed ? vmem_.data() + dma.indices.at(counters) : nullptr;
    for (std::uint32_t row = 0; row < dma.rows; ++row) {
        std::uint64_t hbm_row = row;
        if (indexed) {
            std::int32_t index;
            std::memcpy(&index, indices + std::size_t{row} * 4, 4);
            if (index < 0 || static_cast<std::uint32_t>(index) >= dma.table_rows) {
                throw Error("gather or scatter: index " + std::to_string(index) + " in row " +
                            std::to_string(row) + " is outside the table of " +
                            std::to_string(dma.table_rows) + " rows");
            }
            hbm_row = static_cast<std::uint64_t>(index);
        }
        std::byte* const far = memory.at(hbm + hbm_row * dma.hbm_stride, dma.row_bytes);
        std::byte* const near = vmem + row * dma.vmem_stride;
        switch (dma.kind) {
            case DmaKind::load:
            case DmaKind::gather:
                std::memcpy(near, far, dma.row_bytes);
                break;
            case DmaKind::store:
            case DmaKind::scatter:
                std::memcpy(far, near, dma.row_bytes);
                break;
            case DmaKind::scatter_add:
                for (std::uint32_t i = 0; i < dma.row_bytes; i += 4) {
                    float sum, addend;
                    std::memcpy(&sum, far + i, 4);
                    std::memcpy(&addend, near + i, 4);
                    sum += addend;
                    std::memcpy(far + i, &sum, 4);
                }
                break;
        }
    }
}

}  // namespace heddle::tpu
