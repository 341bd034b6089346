#include "workloads/reference/execute.h"

#include <cmath>

#include "isa/common/error.h"
#include "workloads/reference/kernels.h"
#include "workloads/trace/turns.h"

namespace heddle::reference {
namespace {

/// Positions in storage of every element of an operand, in row-major order of its shape.
template <class Visit>
void for_each_position(const Op& op, const std::string& operand, const Shape& shape, Visit visit) {
    Shape strides = op.integers(operand + "_strides");
    const std::int64_t offset = op.integer(operand + "_offset", 0);
    if (strides.empty()) strides = trace::broadcast_strides(shape, shape);
    const std::int64_t count = trace::element_count(shape);
    Shape index(shape.size(), 0);
    for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t position = offset;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) position += index[axis] * strides[axis];
        visit(static_cast<std::size_t>(i), static_cast<std::size_t>(position));
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            if (++index[axis] < shape[axis]) break;
            index[axis] = 0;
        }
    }
}

}  // namespace

std::vector<double> Context::gathered_input(std::size_t i) const {
    const std::string name = "input" + std::to_string(i);
    const std::span<double> storage = values.storage(op.inputs.at(i));
    std::vector<double> result(static_cast<std::size_t>(in(i).elements()));
    for_each_position(op, name, in(i).shape, [&](std::size_t element, std::size_t position) {
        result[element] = storage[position];
    });
    return result;
}

void Context::scatter_output(std::size_t i, std::span<const double> result) const {
    const std::string name = "output" + std::to_string(i);
    const std::span<double> storage = values.storage(op.outputs.at(i));
    for_each_position(op, name, out(i).shape, [&](std::size_t element, std::size_t position) {
        storage[position] = result[element];
    });
}

void Context::fail(const std::string& problem) const {
    throw Error(problem, {.key = "op " + op.name + " (" + name_of(op.kind) + ")"});
}

std::size_t broadcast_position(std::size_t element, const Shape& shape, const Shape& strides) {
    std::int64_t position = 0;
    auto rest = static_cast<std::int64_t>(element);
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
        position += rest % shape[axis] * strides[axis];
    return static_cast<std::size_t>(position);
}

std::size_t checked_index(const Context& context, double value, std::int64_t count) {
    if (!(value >= 0 && value < static_cast<double>(count))) {
        context.fail("index " + std::to_string(value) + " is outside 0 to " + std::to_string(count - 1));
    }
    return static_cast<std::size_t>(value);
}

void execute_op(const trace::Trace& trace, const trace::Op& op, TensorValues& values) {
    const Context context{trace, op, values};
    switch (op.kind) {
        case OpKind::matmul:
            run_matmul(context);
            break;
        case OpKind::elementwise:
            run_elementwise(context);
            break;
        case OpKind::reduce:
            run_reduce(context);
            break;
        case OpKind::softmax_cross_entropy:
            run_cross_entropy(context);
            break;
        case OpKind::softmax_cross_entropy_grad:
            run_cross_entropy_grad(context);
            break;
        case OpKind::softmax:
            run_softmax(context);
            break;
        case OpKind::softmax_grad:
            run_softmax_grad(context);
            break;
        case OpKind::layer_norm:
            run_layer_norm(context);
            break;
        case OpKind::layer_norm_grad:
            run_layer_norm_grad(context);
            break;
        case OpKind::rms_norm:
            run_rms_norm(context);
            break;
        case OpKind::rms_norm_grad:
            run_rms_norm_grad(context);
            break;
        case OpKind::group_norm:
        case OpKind::batch_norm:
            run_channel_norm(context);
            break;
        case OpKind::group_norm_grad:
        case OpKind::batch_norm_grad:
            run_channel_norm_grad(context);
            break;
        case OpKind::dropout:
            run_dropout(context);
            break;
        case OpKind::quantise:
            run_quantise(context);
            break;
        case OpKind::top_k:
            run_top_k(context);
            break;
        case OpKind::expert_slots:
            run_expert_slots(context);
            break;
        case OpKind::cumulative_sum:
            run_cumulative_sum(context);
            break;
        case OpKind::attention:
            run_attention(context);
            break;
        case OpKind::attention_grad:
            run_attention_grad(context);
            break;
        case OpKind::convolution:
            run_convolution(context);
            break;
        case OpKind::convolution_data_grad:
            run_convolution_data_grad(context);
            break;
        case OpKind::convolution_weight_grad:
            run_convolution_weight_grad(context);
            break;
        case OpKind::pooling:
            run_pooling(context);
            break;
        case OpKind::pooling_grad:
            run_pooling_grad(context);
            break;
        case OpKind::lstm_cell:
            run_lstm_cell(context);
            break;
        case OpKind::lstm_cell_grad:
            run_lstm_cell_grad(context);
            break;
        case OpKind::embedding:
            run_embedding(context);
            break;
        case OpKind::embedding_grad:
            run_embedding_grad(context);
            break;
        case OpKind::copy:
            run_copy(context);
            break;
        case OpKind::concat:
            run_concat(context);
            break;
        case OpKind::fill:
            run_fill(context);
            break;
        case OpKind::gather:
            run_gather(context);
            break;
        case OpKind::scatter:
            run_scatter(context);
            break;
        case OpKind::random:
            run_random(context);
            break;
        case OpKind::host_copy:
            run_host_copy(context);
            break;
        case OpKind::collective:
            run_collective(context);
            break;
        case OpKind::unknown:
            context.fail("nobody knows what this op computes");
    }
}

void execute(const trace::Trace& trace, TensorValues& values) {
    trace.check();
    for (std::size_t i = 0; i < trace.ops.size(); ++i)
        if (trace::turns_of(trace.ops[i]) != 1)
            throw Error("stands for several turns of a loop, each of which has values of its own",
                        {.key = "op " + std::to_string(i) + " (" + trace.ops[i].name + ")"},
                        "shorten the loop: short ones are written out");
    for (const trace::Op& op : trace.ops) execute_op(trace, op, values);
}

}  // namespace heddle::reference
