#include "isa/tpu/footprint.h"

#include <algorithm>

namespace heddle::tpu {
namespace {

class Walk {
  public:
    Footprint result;

    void visit(const Operation& operation, const LoopCounters& counters) {
        counters_ = counters;
        std::visit([this](const auto& instruction) { touch(instruction); }, operation);
    }

  private:
    static std::uint64_t span(std::uint64_t rows, std::uint64_t row_bytes, std::uint64_t stride) {
        return rows == 0 ? 0 : (rows - 1) * stride + row_bytes;
    }
    void vmem(const Affine& address, std::uint64_t rows, std::uint64_t row_bytes, std::uint64_t stride) {
        const auto begin = static_cast<std::uint64_t>(address.at(counters_));
        result.vmem_bytes = std::max(result.vmem_bytes, begin + span(rows, row_bytes, stride));
        result.accessed += rows * row_bytes;
    }
    void touch(const Dma& dma) {
        vmem(dma.vmem, dma.rows, dma.row_bytes, dma.vmem_stride);
        const bool indexed = dma.kind != DmaKind::load && dma.kind != DmaKind::store;
        if (indexed) vmem(dma.indices, 1, std::uint64_t{dma.rows} * 4, 0);
        const std::uint64_t rows = indexed ? dma.table_rows : dma.rows;
        const auto begin = static_cast<std::uint64_t>(dma.hbm.at(counters_));
        const std::uint64_t end = begin + span(rows, dma.row_bytes, dma.hbm_stride);
        if (begin >= kCommonMemoryBase) {
            result.common_bytes = std::max(result.common_bytes, end - kCommonMemoryBase);
        } else {
            result.hbm_bytes = std::max(result.hbm_bytes, end);
        }
        result.accessed += std::uint64_t{dma.rows} * dma.row_bytes;
    }
    void touch(const PushWeights& push) {
        const std::uint64_t size = bytes_of(push.type);
        if (push.transposed) {
            vmem(push.vmem, push.columns, push.rows * size, push.stride);
        } else {
            vmem(push.vmem, push.rows, push.columns * size, push.stride);
        }
    }
    void touch(const Matmul& matmul) {
        vmem(matmul.vmem, matmul.rows, matmul.depth * std::uint64_t{bytes_of(matmul.type)}, matmul.stride);
    }
    void touch(const Pop& pop) {
        vmem(pop.vmem, pop.rows, pop.columns * std::uint64_t{bytes_of(pop.type)}, pop.stride);
    }
    void touch(const Vector& vector) {
        for (const auto* operands : {&vector.inputs, &vector.outputs})
            for (const VectorOperand& operand : *operands)
                vmem(operand.vmem, operand.row_stride == 0 ? 1 : vector.rows,
                     (operand.broadcast_columns ? 1 : vector.columns) * std::uint64_t{bytes_of(operand.type)},
                     operand.row_stride);
    }
    void touch(const Transpose& transpose) {
        const std::uint64_t size = bytes_of(transpose.type);
        vmem(transpose.source, transpose.rows, transpose.columns * size, transpose.source_stride);
        vmem(transpose.destination, transpose.columns, transpose.rows * size, transpose.destination_stride);
    }
    template <class Other>
    void touch(const Other&) {}

    LoopCounters counters_{};
};

}  // namespace

Footprint footprint(const Program& program) {
    Walk walk;
    for (const CoreProgram& core : program.cores) {
        for (ProgramCursor cursor(core); cursor.instruction() != nullptr; cursor.advance()) {
            if (std::holds_alternative<Halt>(cursor.instruction()->operation)) break;
            walk.visit(cursor.instruction()->operation, cursor.counters());
        }
    }
    return walk.result;
}

}  // namespace heddle::tpu
