// Whether one op of a Trace is well formed. Internal to Trace::check().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "workloads/expression/expression.h"
#include "workloads/trace/shape.h"
#include "workloads/trace/sliding_window.h"
#include "workloads/trace/trace.h"

namespace heddle::trace {

/// Checks one op. The trace must outlive it.
class OpCheck {
  public:
    OpCheck(const Trace& trace, const Op& op, std::size_t index) : trace_(trace), op_(op), index_(index) {}

    /// Throws heddle::Error that names the op.
    void run() const;

  private:
    static constexpr std::size_t many = 1u << 20;

    const Tensor& in(std::size_t i) const { return trace_.tensors[op_.inputs[i]]; }
    const Tensor& out(std::size_t i) const { return trace_.tensors[op_.outputs[i]]; }
    std::string place() const;  ///< "op 3 (matmul qkv)"
    [[noreturn]] void fail(const std::string& problem) const;
    std::int64_t last(const Tensor& tensor) const;
    void references() const;
    void operands(std::size_t least_in, std::size_t most_in, std::size_t least_out,
                  std::size_t most_out) const;
    void same_count(const std::string& what, const Tensor& tensor, std::int64_t elements) const;
    void rank(const Tensor& tensor, std::size_t axes, const std::string& what) const;
    std::int64_t axis(const Tensor& tensor) const;
    expression::Expression parsed(Text key) const;
    void broadcast(const Tensor& tensor, const Shape& to) const;

    // Sizes and counts: check_numbers.cpp.
    /// The product, which there must be room for.
    std::int64_t times(std::int64_t a, std::int64_t b) const;
    void counts() const;
    void places() const;

    // Of each kind: its operands and attributes. Products, elements, indices are in check_tensors.cpp; norms,
    // attention, convolutions, cells in check_layers.cpp.
#define HEDDLE_ROW(kind, ...) void kind() const;
    HEDDLE_OP_KINDS(HEDDLE_ROW)
#undef HEDDLE_ROW

    /// Index tensors of gather and scatter against the tensor of looked-up elements.
    void indices(std::size_t count, const Tensor& looked_up) const;
    std::int64_t channels(const Tensor& x) const;
    std::int64_t groups(const Tensor& x) const;
    void channel_norm(std::int64_t statistics) const;
    void channel_norm_grad(std::int64_t statistics) const;
    void attention_operands(const Tensor& q, const Tensor& k, const Tensor& v) const;
    void filters(const ConvolutionSizes& sizes, const Tensor* bias) const;
    void positions(const Tensor& tensor, const Tensor& y) const;

    const Trace& trace_;
    const Op& op_;
    std::size_t index_;
};

/// Check a whole Trace and throw heddle::Error that names the tensor or the op. check_shapes() must come
/// before any size is computed.
void check_shapes(const Trace& trace);
/// Checks that recorded times are finite, not negative, and not absurdly long.
void check_times(const Trace& trace);
/// Checks that the sum of the operands' bytes does not overflow.
void check_memory(const Trace& trace);

}  // namespace heddle::trace
