// How much arithmetic and how many bytes an op is, by the textbook.
#include <set>

#include "workloads/expression/expression.h"
#include "workloads/trace/sliding_window.h"
#include "workloads/trace/trace.h"

namespace heddle::trace {
namespace {

/// 2 per multiply-add of the two products (softmax not counted, half when causal), as in Dao,
/// FlashAttention-2, section 4.1: forward 4 s^2 d per head, backward 2.5 times that.
double attention_operations(const Trace& trace, const Op& op) {
    const bool backward = op.kind == OpKind::attention_grad;
    const Tensor& q = trace.tensor(op.inputs.at(backward ? 1 : 0));
    const Tensor& k = trace.tensor(op.inputs.at(backward ? 2 : 1));
    const double pairs = static_cast<double>(q.elements()) * static_cast<double>(k.shape.at(2));
    return pairs * (backward ? 10.0 : 4.0) * (op.integer("causal", 0) != 0 ? 0.5 : 1.0);
}

/// 2 for each pair of an output and a position of the window, in the padding or not: as vendors count.
double convolution_operations(const ConvolutionSizes& sizes) {
    return 2.0 * static_cast<double>(sizes.batch * sizes.space.outputs()) *
           static_cast<double>(sizes.filters * sizes.group_channels() * sizes.space.positions());
}

double matmul_operations(const Trace& trace, const Op& op) {
    const Tensor& a = trace.tensor(op.inputs.at(0));
    const double k = static_cast<double>(op.integer("transpose_a", 0) != 0 ? a.shape.at(a.shape.size() - 2)
                                                                           : a.shape.at(a.shape.size() - 1));
    return 2.0 * k * static_cast<double>(trace.tensor(op.outputs.at(0)).elements());
}

}  // namespace

double floating_point_operations(const Trace& trace, const Op& op) {
    const auto input_elements = [&](std::size_t i) {
        return static_cast<double>(trace.tensor(op.inputs.at(i)).elements());
    };
    switch (op.kind) {
        case OpKind::matmul:
            return matmul_operations(trace, op);
        case OpKind::attention:
        case OpKind::attention_grad:
            return attention_operations(trace, op);
        case OpKind::convolution:
        case OpKind::convolution_data_grad:
        case OpKind::convolution_weight_grad:
            return convolution_operations(convolution_sizes(trace, op));
        // One comparison or addition per position of the window; a gradient goes to one position of it or to
        // each.
        case OpKind::pooling:
        case OpKind::pooling_grad: {
            const PoolingSizes sizes = pooling_sizes(trace, op);
            const bool each = op.kind == OpKind::pooling || !sizes.maximum;
            return static_cast<double>(sizes.batch * sizes.channels * sizes.space.outputs()) *
                   static_cast<double>(each ? sizes.space.positions() : 1);
        }
        // Per cell four additions of the products (and of each bias), three sigmoids, two tanh, and
        // c' = f c + i g, h' = o tanh(c'): 3 + 1.
        case OpKind::lstm_cell:
            return input_elements(2) * (4.0 * static_cast<double>(op.inputs.size() - 2) + 9);
        // tanh(c'); do, dc' + dh o (1 - tanh^2): 1 + 4; di, dg, df, dc: 4; derivatives of three sigmoids (3)
        // and a tanh (3).
        case OpKind::lstm_cell_grad:
            return input_elements(2) * 22;
        case OpKind::elementwise:
            return static_cast<double>(trace.tensor(op.outputs.at(0)).elements()) *
                   expression::operations_per_element(expression::parse(op.text("expression")));
        case OpKind::reduce:
            return input_elements(0);
        // maximum, subtract, exponential, sum, divide
        case OpKind::softmax:
        case OpKind::softmax_cross_entropy:
            return 5 * input_elements(0);
        case OpKind::softmax_cross_entropy_grad:
            return 2 * input_elements(0);
        case OpKind::softmax_grad:
            return 4 * input_elements(0);
        // mean (1), variance (3), normalise (2), scale and shift (2)
        case OpKind::layer_norm:
            return 8 * input_elements(0);
        // x hat (2), two row sums (4), d x (5), d gamma and d beta (3)
        case OpKind::layer_norm_grad:
            return 14 * input_elements(0);
        // mean of squares (2), normalise and scale (2)
        case OpKind::rms_norm:
            return 4 * input_elements(0);
        // x hat (1), row sum (3), dx (4), d gamma (2)
        case OpKind::rms_norm_grad:
            return 10 * input_elements(0);
        case OpKind::group_norm:
        case OpKind::batch_norm:
            return 8 * input_elements(0);
        case OpKind::group_norm_grad:
        case OpKind::batch_norm_grad:
            return 14 * input_elements(0);
        case OpKind::dropout:
            return input_elements(0);
        // scale, limit, absolute value, maximum
        case OpKind::quantise:
            return 4 * input_elements(0);
        case OpKind::embedding_grad:
        case OpKind::expert_slots:
        case OpKind::cumulative_sum:
            return input_elements(0);
        default:
            return 0;
    }
}

double bytes_moved(const Trace& trace, const Op& op) {
    if (op.kind == OpKind::collective) return op.real("bytes", 0);
    const auto bytes = [&](const std::vector<TensorId>& operands) {
        double sum = 0;
        for (const TensorId id : std::set<TensorId>(operands.begin(), operands.end())) {
            sum += static_cast<double>(trace.tensor(id).bytes());
        }
        return sum;
    };
    if ((op.kind == OpKind::embedding || op.kind == OpKind::gather) && op.inputs.size() >= 2) {
        // Only the rows that are looked up: as much is read from the table as is written.
        return static_cast<double>(trace.tensor(op.inputs[1]).bytes()) + 2 * bytes(op.outputs);
    }
    const auto operand = [&](std::size_t i) {
        return static_cast<double>(trace.tensor(op.inputs[i]).bytes());
    };
    if (op.kind == OpKind::embedding_grad && op.integer("accumulate", 0) != 0 && op.inputs.size() >= 2) {
        // Adds rows to a table that is there already: gradient and indices read, as much of the table read
        // and written.
        return 3 * operand(0) + operand(1);
    }
    const bool in_place = op.kind == OpKind::scatter && op.inputs.size() >= 3 && op.outputs.size() == 1 &&
                          (op.inputs[0] == op.outputs[0] ||
                           (trace.tensor(op.inputs[0]).storage != 0 &&
                            trace.tensor(op.inputs[0]).storage == trace.tensor(op.outputs[0]).storage));
    if (in_place) {
        const std::size_t updates = op.inputs.size() - 1;
        double sum = operand(updates) * (op.integer("accumulate", 0) != 0 ? 3 : 2);
        for (std::size_t i = 1; i < updates; ++i) sum += operand(i);
        return sum;
    }
    return bytes(op.inputs) + bytes(op.outputs);
}

}  // namespace heddle::trace
