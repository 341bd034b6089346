// Runs ops on the virtual TPU and compares with the double-precision executor.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/tpu/tpu.h"
#include "workloads/lowering/tpu/tpu_lowering.h"
#include "workloads/trace/trace.h"

namespace heddle::test {

/// A machine small enough that every op is cut into many tiles: VMEM of 256 KiB, arrays of 16 x 16.
models::TpuConfig small_tpu();

/// Adds tensors and an op to a trace.
struct OpBuilder {
    trace::Trace trace;
    trace::Op op;

    explicit OpBuilder(trace::OpKind kind) { op.kind = kind; }
    OpBuilder& input(std::vector<std::int64_t> shape, trace::ElementType type = trace::ElementType::f32);
    OpBuilder& output(std::vector<std::int64_t> shape, trace::ElementType type = trace::ElementType::f32);
    OpBuilder& with(const std::string& key, trace::Attribute value);
    /// The op is complete.
    OpBuilder& done();
};

struct OpCheck {
    /// Largest error allowed, relative to the largest magnitude of the expected output.
    double tolerance = 1e-6;
    /// Indices and labels are uniform in [0, classes).
    std::int64_t classes = 0;
    /// Inputs are positive: logarithms, square roots.
    bool positive = false;
    unsigned seed = 1;
    /// Every other tensor lies in CMEM, whose transfers overtake those of HBM.
    bool common_memory = false;
    lowering::TpuLoweringOptions options;
};

/// Fills the inputs with random numbers (rounded to their types), runs the trace's ops one after the other on
/// the TPU in functional mode, and requires: outputs near the double-precision executor's; the same bits from
/// the untimed interpreter, in which no two accesses are unordered; the same cycles in timing mode and when
/// looking at every cycle; text form and back gives the same program. Returns the total cycles.
models::Cycle check_ops(models::Tpu& tpu, const trace::Trace& trace, const OpCheck& check = {});

}  // namespace heddle::test
