// Trace -> TPU programs: each op becomes a program of its own over tensors in HBM.
#pragma once

#include <string>
#include <vector>

#include "isa/target/target.h"
#include "isa/tpu/program.h"
#include "workloads/lowering/tpu/lowering_options.h"
#include "workloads/lowering/tpu/tensor_placement.h"
#include "workloads/trace/trace.h"

namespace heddle::lowering {

/// What became of one op.
struct LoweredOp {
    bool supported = false;
    std::string reason_if_not;
    tpu::Program program;  ///< one instruction list per core; nothing but halt when nothing is to be done
    std::string schedule;  ///< how the work was cut; empty where there was no choice
    std::uint64_t workspace_bytes = 0;  ///< behind the placement's tensors; see TensorPlacement::allocate()
};

/// Lowers one op onto tensors placed as `placement` says. Parameters and other fp32 tensors stay fp32 in HBM;
/// operands of matrix products are rounded to bf16 on their way into the matrix units and accumulated in
/// fp32. All cores and matrix units take part where the op is large enough. Nothing is skipped: an op that no
/// program carries out says why. Throws heddle::Error when the trace itself is malformed.
LoweredOp lower(const trace::Trace& trace, trace::OpId op, const target::TpuTarget& target,
                const TensorPlacement& placement, const TpuLoweringOptions& options = {});

/// Does the same with only the op's tensors in HBM, from address 512 on in the order of their first use, so
/// that equal ops give equal programs.
LoweredOp lower(const trace::Trace& trace, trace::OpId op, const target::TpuTarget& target,
                const TpuLoweringOptions& options = {});

}  // namespace heddle::lowering
