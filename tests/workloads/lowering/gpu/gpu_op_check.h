// Ops of a trace on the functional PTX machine, beside the reference.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::lowering::test {

/// A trace under construction: tensors by shape and type, one op.
struct Builder {
    trace::Trace trace;

    trace::TensorId tensor(std::vector<std::int64_t> shape, trace::ElementType type = trace::ElementType::f32,
                           trace::TensorRole role = trace::TensorRole::activation) {
        trace::Tensor t;
        t.name = "t" + std::to_string(trace.tensors.size());
        t.shape = std::move(shape);
        t.type = type;
        t.role = role;
        return trace.add(t);
    }
    trace::Op& op(trace::OpKind kind, std::vector<trace::TensorId> inputs,
                  std::vector<trace::TensorId> outputs) {
        trace::Op op;
        op.name = trace::name_of(kind);
        op.kind = kind;
        op.inputs = std::move(inputs);
        op.outputs = std::move(outputs);
        return trace.ops[trace.add(op)];
    }
};

/// Runs every launch functionally and returns the largest |device - reference| / max(1, |reference|) over the
/// outputs of all ops. Fails the test where an op has no kernel.
double worst_error(const trace::Trace& trace, unsigned compute_capability = 90);

}  // namespace heddle::lowering::test
