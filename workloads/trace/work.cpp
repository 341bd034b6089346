// How much arithmetic and how many bytes an op is, by the textbook.
#include <array>
#include <set>

#include "workloads/expression/expression.h"
#include "workloads/trace/sliding_window.h"
#include "workloads/trace/trace.h"

namespace heddle::trace {
namespace {

double input_elements(const Trace& trace, const Op& op, std::size_t i) {
    return static_cast<double>(trace.tensor(op.inputs.at(i)).elements());
}

double no_operations(const Trace&, const Op&) {
    return 0;
}

/// For each element of the first operand.
template <unsigned operations>
double per_input(const Trace& trace, const Op& op) {
    return operations * input_elements(trace, op, 0);
}

double matmul_operations(const Trace& trace, const Op& op) {
    const Tensor& a = trace.tensor(op.inputs.at(0));
    const double k =
        static_cast<double>(op.get(keys::matmul.transpose_a) != 0 ? a.shape.at(a.shape.size() - 2)
                                                                  : a.shape.at(a.shape.size() - 1));
    return 2.0 * k * static_cast<double>(trace.tensor(op.outputs.at(0)).elements());
}

/// 2 per multiply-add of the two products (softmax not counted, half when causal), as in Dao,
/// FlashAttention-2, section 4.1: forward 4 s^2 d per head, backward 2.5 times that.
double attention_operations(const Trace& trace, const Op& op, std::size_t q, double per_pair) {
    const double pairs =
        input_elements(trace, op, q) * static_cast<double>(trace.tensor(op.inputs.at(q + 1)).shape.at(2));
    return pairs * per_pair * (op.get(keys::attention.causal) != 0 ? 0.5 : 1.0);
}

double attention_operations(const Trace& trace, const Op& op) {
    return attention_operations(trace, op, 0, 4.0);
}

double attention_grad_operations(const Trace& trace, const Op& op) {
    return attention_operations(trace, op, 1, 10.0);
}

/// 2 for each pair of an output and a position of the window, in the padding or not: as vendors count.
double convolution_operations(const Trace& trace, const Op& op) {
    const ConvolutionSizes sizes = convolution_sizes(trace, op);
    return 2.0 * static_cast<double>(sizes.batch * sizes.space.outputs()) *
           static_cast<double>(sizes.filters * sizes.group_channels() * sizes.space.positions());
}

/// One comparison or addition per position of the window; a gradient goes to one position of it or to each.
double pooling_operations(const Trace& trace, const Op& op) {
    const PoolingSizes sizes = pooling_sizes(trace, op);
    const bool each = op.kind == OpKind::pooling || !sizes.maximum;
    return static_cast<double>(sizes.batch * sizes.channels * sizes.space.outputs()) *
           static_cast<double>(each ? sizes.space.positions() : 1);
}

/// Per cell four additions of the products (and of each bias), three sigmoids, two tanh, and c' = f c + i g,
/// h' = o tanh(c'): 3 + 1.
double lstm_cell_operations(const Trace& trace, const Op& op) {
    return input_elements(trace, op, 2) * (4.0 * static_cast<double>(op.inputs.size() - 2) + 9);
}

/// tanh(c'); do, dc' + dh o (1 - tanh^2): 1 + 4; di, dg, df, dc: 4; derivatives of three sigmoids (3) and a
/// tanh (3).
double lstm_cell_grad_operations(const Trace& trace, const Op& op) {
    return input_elements(trace, op, 2) * 22;
}

double elementwise_operations(const Trace& trace, const Op& op) {
    return static_cast<double>(trace.tensor(op.outputs.at(0)).elements()) *
           expression::operations_per_element(expression::parse(op.get(keys::elementwise.expression)));
}

double operand_bytes(const Trace& trace, const std::vector<TensorId>& operands) {
    double sum = 0;
    for (const TensorId id : std::set<TensorId>(operands.begin(), operands.end()))
        sum += static_cast<double>(trace.tensor(id).bytes());
    return sum;
}

double operand_bytes(const Trace& trace, const Op& op) {
    return operand_bytes(trace, op.inputs) + operand_bytes(trace, op.outputs);
}

double input_bytes(const Trace& trace, const Op& op, std::size_t i) {
    return static_cast<double>(trace.tensor(op.inputs[i]).bytes());
}

/// Only the rows that are looked up: as much is read from the table as is written.
double looked_up_bytes(const Trace& trace, const Op& op) {
    if (op.inputs.size() < 2) return operand_bytes(trace, op);
    return input_bytes(trace, op, 1) + 2 * operand_bytes(trace, op.outputs);
}

/// Where it adds rows to a table that is there already: gradient and indices read, as much of the table read
/// and written.
double embedding_grad_bytes(const Trace& trace, const Op& op) {
    if (op.get(keys::embedding.accumulate) == 0 || op.inputs.size() < 2) return operand_bytes(trace, op);
    return 3 * input_bytes(trace, op, 0) + input_bytes(trace, op, 1);
}

double scatter_bytes(const Trace& trace, const Op& op) {
    const bool in_place = op.inputs.size() >= 3 && op.outputs.size() == 1 &&
                          (op.inputs[0] == op.outputs[0] ||
                           (trace.tensor(op.inputs[0]).storage != 0 &&
                            trace.tensor(op.inputs[0]).storage == trace.tensor(op.outputs[0]).storage));
    if (!in_place) return operand_bytes(trace, op);
    const std::size_t updates = op.inputs.size() - 1;
    double sum = input_bytes(trace, op, updates) * (op.get(keys::scatter.accumulate) != 0 ? 3 : 2);
    for (std::size_t i = 1; i < updates; ++i) sum += input_bytes(trace, op, i);
    return sum;
}

double collective_bytes(const Trace&, const Op& op) {
    return op.real(keys::collective.bytes);
}

struct Work {
    double (*operations)(const Trace&, const Op&);
    double (*bytes)(const Trace&, const Op&);
};
#define HEDDLE_ROW(kind, Keys, operations, bytes, matrix) {operations, bytes},
constexpr std::array<Work, kOpKinds> kWork{{HEDDLE_OP_KINDS(HEDDLE_ROW)}};
#undef HEDDLE_ROW

const Work& work_of(const Op& op) {
    return kWork.at(static_cast<std::size_t>(op.kind));
}

}  // namespace

double floating_point_operations(const Trace& trace, const Op& op) {
    return work_of(op).operations(trace, op);
}

double bytes_moved(const Trace& trace, const Op& op) {
    return work_of(op).bytes(trace, op);
}

}  // namespace heddle::trace
