// The program of one op: a CoreBuilder per core, shared kernels, and synchronisation of the cores.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "workloads/lowering/tpu/core_builder.h"
#include "workloads/lowering/tpu/kernel_builder.h"
#include "workloads/lowering/tpu/tensor_placement.h"

namespace heddle::lowering::on_tpu {

/// An operand in HBM: strides in elements, one per axis of the shape that the op works over.
struct HbmView {
    std::uint64_t address = 0;
    tpu::ElementType type = tpu::ElementType::fp32;
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    bool boolean = false;  ///< holds truth values
};

/// Collects the program of one op for all cores.
class ProgramBuilder {
  public:
    ProgramBuilder(const trace::Trace& trace, trace::OpId op, const target::TpuTarget& target,
                   const TensorPlacement& placement);

    const trace::Trace& trace() const { return *trace_; }
    const trace::Op& op() const { return *op_; }
    const target::TpuTarget& target() const { return target_; }
    const trace::Tensor& input(std::size_t i) const { return trace_->tensor(op_->inputs.at(i)); }
    const trace::Tensor& output(std::size_t i) const { return trace_->tensor(op_->outputs.at(i)); }

    /// Returns the operand with its place in HBM, following "input<i>_strides" and "input<i>_offset". Throws
    /// Unsupported for types that a TPU does not have.
    HbmView input_view(std::size_t i) const;
    HbmView output_view(std::size_t i) const;
    /// Returns the same, broadcast to a shape by NumPy rules.
    HbmView input_view(std::size_t i, const std::vector<std::int64_t>& shape) const;
    /// Throws Unsupported when the operand is not dense; returns it as one row-major run of elements.
    HbmView dense_input(std::size_t i) const;
    HbmView dense_output(std::size_t i) const;
    /// Allocates a dense area for intermediate results.
    HbmView workspace(const std::vector<std::int64_t>& shape, tpu::ElementType type = tpu::ElementType::fp32);
    /// Sets one line for people that describes how the work was divided.
    void set_schedule(std::string text) { schedule_ = std::move(text); }
    const std::string& schedule() const { return schedule_; }
    std::uint64_t workspace_bytes() const { return workspace_bytes_; }

    unsigned cores() const { return static_cast<unsigned>(cores_.size()); }
    CoreBuilder& core(unsigned index) { return cores_[index]; }

    /// Adds a kernel; kernels with the same contents are shared. Throws Unsupported when it needs too many
    /// registers.
    std::shared_ptr<const tpu::VectorKernel> kernel(tpu::VectorKernel kernel,
                                                    const std::vector<tpu::ElementType>& inputs);

    /// Synchronises the cores: no core continues before all have finished everything emitted so far.
    void meet();
    /// Emits an op of another trace as a part of this program: while `lower` runs, the operands are those of
    /// `op`, whose tensors lie at `addresses`, by number.
    void part(const trace::Trace& parts, trace::OpId op, const std::vector<std::uint64_t>& addresses,
              const std::function<void(ProgramBuilder&)>& lower);
    tpu::Program finish();

  private:
    HbmView view(trace::TensorId id, const std::string& operand) const;

    const trace::Trace* trace_;
    const trace::Op* op_;
    const std::vector<std::uint64_t>* addresses_ = nullptr;  ///< of a part's tensors; else `placement_` says
    target::TpuTarget target_;
    const TensorPlacement& placement_;
    std::deque<CoreBuilder> cores_;
    std::vector<std::vector<std::uint16_t>> meeting_flags_;  // [receiver][sender]
    std::vector<std::shared_ptr<const tpu::VectorKernel>> kernels_;
    std::uint64_t workspace_bytes_ = 0;
    std::string schedule_;
};

/// Calls load(0), then for every step load(step + 1 ... step + ahead) as far as not yet done, and
/// compute(step): loads run ahead of the work that needs them.
void pipeline(std::size_t steps, std::size_t ahead, const std::function<void(std::size_t)>& load,
              const std::function<void(std::size_t)>& compute);

/// Part `index` of `parts` nearly equal parts of [0, count).
struct Range {
    std::uint64_t begin = 0, end = 0;
    std::uint64_t size() const { return end - begin; }
};
Range part_of(std::uint64_t count, std::uint64_t parts, std::uint64_t index);

/// Divides and rounds up.
inline std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
    return (a + b - 1) / b;
}

}  // namespace heddle::lowering::on_tpu
