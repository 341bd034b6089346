// What every family of ops needs to put launches into a GPU program: buffers of tensors, workspaces, kernel
// texts.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "isa/program/program.h"
#include "isa/target/generation.h"
#include "isa/target/target.h"
#include "workloads/kernels/kernel.h"
#include "workloads/lowering/gpu/gpu_lowering.h"
#include "workloads/trace/trace.h"

namespace heddle::lowering {

/// Thrown inside the lowering when no kernel fits; the op is then marked unsupported with this reason.
struct Unsupported {
    std::string reason;
};

/// Collects the launches of a step. The trace and the target must outlive it.
class GpuProgramBuilder {
  public:
    GpuProgramBuilder(const trace::Trace& trace, const target::GpuTarget& target, GemmPicker pick_gemm = {});

    const trace::Trace& trace() const { return trace_; }
    const target::GpuTarget& target() const { return target_; }
    unsigned compute_capability() const { return target_.compute_capability; }
    const target::Generation& generation() const {
        return target::nearest_generation(target_.compute_capability);
    }
    const GemmPicker& pick_gemm() const { return pick_gemm_; }  ///< may be empty

    /// Assigns later launches to this op.
    void begin_op(trace::OpId op);
    const trace::Op& op() const { return trace_.ops[op_]; }
    const trace::Tensor& input(std::size_t i) const { return trace_.tensor(op().inputs.at(i)); }
    const trace::Tensor& output(std::size_t i) const { return trace_.tensor(op().outputs.at(i)); }
    bool has_input(std::size_t i) const { return i < op().inputs.size(); }
    bool has_output(std::size_t i) const { return i < op().outputs.size(); }

    program::BufferId buffer_of(trace::TensorId id) const { return buffer_of_tensor_[id]; }
    /// Pointer arguments to operands, honouring "input<i>_offset" and "output<i>_offset" (elements).
    kernels::KernelArgument input_pointer(std::string parameter, std::size_t i) const;
    kernels::KernelArgument output_pointer(std::string parameter, std::size_t i) const;
    /// Adds a buffer that belongs to no tensor of the trace.
    program::BufferId add_buffer(std::string name, std::uint64_t bytes);
    /// Returns scratch memory for this op. Ops share one buffer per `purpose`, as the workspace of a library
    /// is reused.
    program::BufferId workspace(const std::string& purpose, std::uint64_t bytes);
    /// Declares that values of this input determine addresses or branches: in timing mode it holds seeded
    /// uniform integers in [low, high).
    void steer_by_input(std::size_t i, std::int64_t low, std::int64_t high);
    void steer_by_buffer(program::BufferId buffer, unsigned element_bytes, std::int64_t low,
                         std::int64_t high);

    /// Arguments are matched to parameters by name; their `buffer` is a program::BufferId.
    void launch(const kernels::GeneratedKernel& kernel, const kernels::Extent3& grid,
                const std::vector<kernels::KernelArgument>& arguments);

    std::uint32_t launches() const { return static_cast<std::uint32_t>(program_.launches.size()); }
    /// Removes the launches of an op that turned out not to be supported.
    void drop_launches(std::uint32_t first) { program_.launches.resize(first); }
    program::GpuProgram take_program() { return std::move(program_); }
    const std::vector<program::BufferId>& buffers_of_tensors() const { return buffer_of_tensor_; }

    /// Returns the strides in elements if they differ from those of a dense tensor, else an empty list.
    std::vector<std::int64_t> input_strides(std::size_t i) const;
    /// Throws Unsupported when an output is not dense.
    void require_dense_outputs() const;
    /// Throws Unsupported when the input is not dense.
    void require_dense_input(std::size_t i) const;
    /// Checks both for all outputs and inputs.
    void require_dense() const;

  private:
    void assign_buffers();

    const trace::Trace& trace_;
    target::GpuTarget target_;
    GemmPicker pick_gemm_;
    trace::OpId op_ = 0;
    program::GpuProgram program_;
    std::vector<program::BufferId> buffer_of_tensor_;
    std::map<std::string, program::BufferId> workspaces_;
    std::map<std::string, std::shared_ptr<const program::KernelText>> texts_;
};

/// The kernel library's name for an element type. Throws Unsupported for types that it does not have.
kernels::ElementType kernel_type(trace::ElementType type);
/// True when strides are those of a dense row-major tensor (axes of extent 1 do not matter).
bool is_dense(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides);

/// Makes a launch of the kernel with this text; arguments may be in any order.
program::KernelLaunch launch_of(const kernels::GeneratedKernel& kernel,
                                std::shared_ptr<const program::KernelText> text, const kernels::Extent3& grid,
                                const std::vector<kernels::KernelArgument>& arguments);

// One function per family, each in its own file. They throw Unsupported.
/// Lower an op of each kind; the functions are called lower_NAME.
#define HEDDLE_ROW(kind, ...) void lower_##kind(GpuProgramBuilder& builder);
HEDDLE_OP_KINDS(HEDDLE_ROW)
#undef HEDDLE_ROW
/// y = sum over the last axis of x0 * x1, for [batch, heads, sequence, head_dim] in 16 bits: the head of an
/// attention gradient. False when the operands are of another kind.
bool lower_row_products(GpuProgramBuilder& builder);

}  // namespace heddle::lowering
