// The operands of a matrix product, and the epilogue on its results.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "workloads/lowering/tpu/matmul_plan.h"
#include "workloads/lowering/tpu/program_builder.h"

namespace heddle::lowering::on_tpu {

/// Element strides of a matrix operand and of its batches.
struct Matrix {
    HbmView view;
    std::int64_t row_stride = 0, column_stride = 0;  ///< along m, k of a; k, n of b; m, n of y
    std::vector<std::int64_t> batch_strides;         ///< one per batch axis of y
};

/// The operands of one product.
class MatmulOperands {
  public:
    /// Reads the operands of the program's op. Throws Unsupported for types and layouts that no program
    /// takes.
    MatmulOperands(ProgramBuilder& program, const TpuLoweringOptions& options);

    /// The bytes of an element in HBM.
    std::uint64_t address(const Matrix& matrix, std::uint64_t batch, std::uint64_t row,
                          std::uint64_t column) const;

    MatmulShape shape;
    Matrix a, b;
    bool b_turned = false;  ///< b lies along k: its tiles are pushed transposed
    std::vector<std::pair<tpu::Bf16Part, tpu::Bf16Part>> passes;
    tpu::ElementType popped = tpu::ElementType::fp32;   ///< as results leave the matrix units
    std::vector<Matrix> results, operands;              ///< of the epilogue, the first result always there
    std::shared_ptr<const tpu::VectorKernel> epilogue;  ///< nullptr: results leave as they are popped
    std::vector<float> scalars;                         ///< of the epilogue

  private:
    Matrix matrix(HbmView view, bool transposed) const;
    void check_types(const TpuLoweringOptions& options);
    void prepare_results();
    void fold_batches();

    ProgramBuilder& program_;
    std::vector<std::int64_t> batch_;
};

}  // namespace heddle::lowering::on_tpu
