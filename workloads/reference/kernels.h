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

struct Context {
    const trace::Trace& trace;
    const Op& op;
    TensorValues& values;

    const Tensor& in(std::size_t i) const { return trace.tensor(op.inputs.at(i)); }
    const Tensor& out(std::size_t i) const { return trace.tensor(op.outputs.at(i)); }
    std::span<const double> input(std::size_t i) const { return values[op.inputs.at(i)]; }
    std::span<double> output(std::size_t i) const { return values[op.outputs.at(i)]; }

    /// Where element `index` (row-major position in the operand's shape) of an operand lies in its storage;
    /// follows "input<i>_strides" and "input<i>_offset".
    std::vector<double> gathered_input(std::size_t i) const;
    void scatter_output(std::size_t i, std::span<const double> result) const;
    [[noreturn]] void fail(const std::string& problem) const;
};

/// Position of row-major element `element` of `shape` in an operand with these strides (0 where it repeats).
std::size_t broadcast_position(std::size_t element, const Shape& shape, const Shape& strides);

/// An index read from a tensor; throws when it is not in [0, count).
std::size_t checked_index(const Context& context, double value, std::int64_t count);

void run_matmul(const Context& context);
void run_elementwise(const Context& context);
void run_reduce(const Context& context);
void run_softmax(const Context& context);
void run_softmax_grad(const Context& context);
void run_cross_entropy(const Context& context);
void run_cross_entropy_grad(const Context& context);
void run_layer_norm(const Context& context);
void run_layer_norm_grad(const Context& context);
void run_rms_norm(const Context& context);
void run_rms_norm_grad(const Context& context);
void run_channel_norm(const Context& context);       ///< group and batch norm
void run_channel_norm_grad(const Context& context);  ///< group and batch norm
void run_dropout(const Context& context);
void run_quantise(const Context& context);
void run_top_k(const Context& context);
void run_expert_slots(const Context& context);
void run_cumulative_sum(const Context& context);
void run_attention(const Context& context);
void run_attention_grad(const Context& context);
void run_convolution(const Context& context);
void run_convolution_data_grad(const Context& context);
void run_convolution_weight_grad(const Context& context);
void run_pooling(const Context& context);
void run_pooling_grad(const Context& context);
void run_lstm_cell(const Context& context);
void run_lstm_cell_grad(const Context& context);
void run_embedding(const Context& context);
void run_embedding_grad(const Context& context);
void run_copy(const Context& context);
void run_concat(const Context& context);
void run_fill(const Context& context);
void run_gather(const Context& context);
void run_scatter(const Context& context);
void run_random(const Context& context);
void run_host_copy(const Context& context);
void run_collective(const Context& context);

}  // namespace heddle::reference
