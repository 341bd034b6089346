// The executor's ops, one group per file. Each reads and writes `Context`; shapes were checked by
// Trace::check().
#pragma once

#include <span>

#include "workloads/reference/values.h"
#include "workloads/trace/shape.h"
#include "workloads/trace/trace.h"

namespace heddle::reference {

using trace::Op;
using trace::OpKind;
using trace::Shape;
using trace::Tensor;

/// An op with the values of its operands. The trace and the values must outlive it.
struct Context {
    const trace::Trace& trace;
    const Op& op;
    TensorValues& values;

    const Tensor& in(std::size_t i) const { return trace.tensor(op.inputs.at(i)); }
    const Tensor& out(std::size_t i) const { return trace.tensor(op.outputs.at(i)); }
    std::span<const double> input(std::size_t i) const { return values[op.inputs.at(i)]; }
    std::span<double> output(std::size_t i) const { return values[op.outputs.at(i)]; }

    /// Return the elements of input i in row-major order, and write `result` in that order to output i.
    /// They follow the attributes "input<i>_strides", "input<i>_offset", "output<i>_strides" and
    /// "output<i>_offset".
    std::vector<double> gathered_input(std::size_t i) const;
    void scatter_output(std::size_t i, std::span<const double> result) const;
    [[noreturn]] void fail(const std::string& problem) const;
};

/// Returns the position of row-major element `element` of `shape` in an operand with these strides (0 where
/// it is repeated).
std::size_t broadcast_position(std::size_t element, const Shape& shape, const Shape& strides);

/// Returns an index read from a tensor; throws heddle::Error when it is not in [0, count).
std::size_t checked_index(const Context& context, double value, std::int64_t count);

/// Compute an op of each kind; the functions are called run_NAME.
#define HEDDLE_ROW(kind, ...) void run_##kind(const Context& context);
HEDDLE_OP_KINDS(HEDDLE_ROW)
#undef HEDDLE_ROW

}  // namespace heddle::reference
