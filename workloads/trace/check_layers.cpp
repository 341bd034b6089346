// Shapes of norms, attention, convolutions, pooling and LSTM cells.
#include "workloads/trace/op_check.h"

namespace heddle::trace {

void OpCheck::layer_norm() const {
    operands(1, 3, 1, 3);
    if (op_.inputs.size() == 2) fail("gamma and beta come together");
    const std::int64_t rows = in(0).elements() / last(in(0));
    for (std::size_t i = 1; i < op_.inputs.size(); ++i)
        same_count(i == 1 ? "gamma" : "beta", in(i), last(in(0)));
    same_count("result", out(0), in(0).elements());
    for (std::size_t i = 1; i < op_.outputs.size(); ++i) same_count("statistic", out(i), rows);
}

void OpCheck::layer_norm_grad() const {
    operands(5, 5, 1, 3);
    const std::int64_t rows = in(0).elements() / last(in(0));
    same_count("x", in(1), in(0).elements());
    same_count("mean", in(2), rows);
    same_count("rstd", in(3), rows);
    same_count("gamma", in(4), last(in(0)));
    same_count("dx", out(0), in(0).elements());
    for (std::size_t i = 1; i < op_.outputs.size(); ++i) {
        if (out(i).elements() % last(in(0)) != 0)
            fail("parameter gradient " + out(i).name + " does not fit the columns");
    }
}

std::int64_t OpCheck::channels(const Tensor& x) const {
    if (x.shape.size() < 2) fail("a norm of channels takes [N, C, ...], not " + to_text(x.shape));
    return x.shape[1];
}

std::int64_t OpCheck::groups(const Tensor& x) const {
    const std::int64_t count = op_.get(keys::group_norm.groups), all = channels(x);
    if (count < 1 || all % count != 0)
        fail(std::to_string(all) + " channels do not fall into " + std::to_string(count) + " groups");
    return count;
}

void OpCheck::channel_norm(std::int64_t statistics) const {
    for (std::size_t i = 1; i < op_.inputs.size(); ++i) same_count("parameter", in(i), channels(in(0)));
    same_count("result", out(0), in(0).elements());
    for (std::size_t i = 1; i < op_.outputs.size(); ++i) same_count("statistic", out(i), statistics);
}

void OpCheck::channel_norm_grad(std::int64_t statistics) const {
    same_count("x", in(1), in(0).elements());
    same_count("mean", in(2), statistics);
    same_count("rstd", in(3), statistics);
    same_count("gamma", in(4), channels(in(1)));
    same_count("dx", out(0), in(0).elements());
    for (std::size_t i = 1; i < op_.outputs.size(); ++i)
        same_count("parameter gradient", out(i), channels(in(1)));
}

void OpCheck::top_k() const {
    operands(1, 1, 2, 2);
    const std::int64_t columns = last(in(0)), k = last(out(0));
    if (k > columns)
        fail("a row of " + std::to_string(columns) + " has no " + std::to_string(k) + " largest");
    for (std::size_t i = 0; i < 2; ++i) same_count("result", out(i), in(0).elements() / columns * k);
}

void OpCheck::cumulative_sum() const {
    operands(1, 1, 1, 1);
    same_count("sums", out(0), in(0).elements());
    const auto rank = static_cast<std::int64_t>(in(0).shape.size());
    const std::int64_t axis = op_.get(keys::cumulative_sum.axis, rank - 1);
    if (axis < 0 || axis >= rank)
        fail("a tensor of " + std::to_string(rank) + " axes has no axis " + std::to_string(axis));
}

void OpCheck::attention_operands(const Tensor& q, const Tensor& k, const Tensor& v) const {
    for (const Tensor* operand : {&q, &k, &v}) rank(*operand, 4, "operand");
    if (k.shape[3] != q.shape[3]) fail("q and k have different head dimensions");
    if (k.shape[2] != v.shape[2] || k.shape[1] != v.shape[1]) fail("k and v do not fit each other");
    if (k.shape[0] != q.shape[0] || v.shape[0] != q.shape[0]) fail("q, k and v have different batches");
    if (k.shape[1] == 0 || q.shape[1] % k.shape[1] != 0)
        fail("heads of q are not a multiple of the heads of k");
    const double dropout = op_.get(keys::attention.dropout);
    if (!(dropout >= 0 && dropout < 1)) fail("dropout is not a probability below 1");
}

void OpCheck::filters(const ConvolutionSizes& sizes, const Tensor* bias) const {
    if (bias != nullptr) same_count("bias", *bias, sizes.filters);
}

void OpCheck::positions(const Tensor& tensor, const Tensor& y) const {
    if (!op_.has(keys::pooling.pooling) || op_.get(keys::pooling.pooling) != "max")
        fail("only the maximum has a position");
    same_count("positions", tensor, y.elements());
}

void OpCheck::pooling_grad() const {
    operands(1, 3, 1, 1);
    if (pooling_sizes(trace_, op_).maximum && op_.inputs.size() < 2)
        fail("the gradient of a maximum needs x");
    if (op_.inputs.size() > 1) same_count("x", in(1), out(0).elements());
    if (op_.inputs.size() > 2) positions(in(2), in(0));
}

void OpCheck::lstm_cell() const {
    operands(3, 5, 2, 3);
    const std::int64_t cells = in(2).elements(), columns = last(in(2));
    same_count("gates", in(0), 4 * cells);
    same_count("gates", in(1), 4 * cells);
    for (std::size_t i = 3; i < op_.inputs.size(); ++i) same_count("bias", in(i), 4 * columns);
    for (std::size_t i = 0; i < op_.outputs.size(); ++i)
        same_count("result", out(i), i == 2 ? 4 * cells : cells);
}

void OpCheck::lstm_cell_grad() const {
    operands(5, 5, 2, 2);
    const std::int64_t cells = in(2).elements();
    last(in(2));
    for (const std::size_t i : {0u, 1u, 3u}) same_count("operand", in(i), cells);
    same_count("gates", in(4), 4 * cells);
    same_count("d gates", out(0), 4 * cells);
    same_count("dc", out(1), cells);
}

void OpCheck::softmax() const {
    operands(1, 1, 1, 1);
    last(in(0));
    if (op_.has(keys::softmax.axis)) axis(in(0));
    same_count("result", out(0), in(0).elements());
}

void OpCheck::softmax_grad() const {
    operands(2, 2, 1, 1);
    last(in(0));
    if (op_.has(keys::softmax.axis)) axis(in(0));
    same_count("dy", in(1), in(0).elements());
    same_count("dx", out(0), in(0).elements());
}

void OpCheck::rms_norm() const {
    operands(2, 2, 1, 2);
    same_count("gamma", in(1), last(in(0)));
    same_count("result", out(0), in(0).elements());
    if (op_.outputs.size() > 1) same_count("rstd", out(1), in(0).elements() / last(in(0)));
}

void OpCheck::rms_norm_grad() const {
    operands(4, 4, 1, 2);
    same_count("x", in(1), in(0).elements());
    same_count("rstd", in(2), in(0).elements() / last(in(0)));
    same_count("gamma", in(3), last(in(0)));
    same_count("dx", out(0), in(0).elements());
    if (op_.outputs.size() > 1) same_count("d gamma", out(1), last(in(0)));
}

void OpCheck::group_norm() const {
    operands(3, 3, 1, 3);
    channel_norm(groups(in(0)) * in(0).shape[0]);
}

void OpCheck::group_norm_grad() const {
    operands(5, 5, 1, 3);
    channel_norm_grad(groups(in(1)) * in(1).shape[0]);
}

void OpCheck::batch_norm() const {
    operands(3, 5, 1, 5);
    if (op_.inputs.size() == 4) fail("running mean and variance come together");
    channel_norm(channels(in(0)));
}

void OpCheck::batch_norm_grad() const {
    operands(5, 5, 1, 3);
    channel_norm_grad(channels(in(1)));
}

void OpCheck::attention() const {
    operands(3, 3, 1, 2);
    attention_operands(in(0), in(1), in(2));
    same_count("out", out(0), times(in(0).elements() / last(in(0)), last(in(2))));
}

void OpCheck::attention_grad() const {
    operands(6, 6, 3, 3);
    attention_operands(in(1), in(2), in(3));
    for (std::size_t i = 0; i < 3; ++i) same_count("gradient", out(i), in(i + 1).elements());
}

void OpCheck::convolution() const {
    operands(2, 3, 1, 1);
    filters(convolution_sizes(trace_, op_), op_.inputs.size() > 2 ? &in(2) : nullptr);
}

void OpCheck::convolution_data_grad() const {
    operands(2, 2, 1, 1);
    convolution_sizes(trace_, op_);
}

void OpCheck::convolution_weight_grad() const {
    operands(2, 2, 1, 2);
    filters(convolution_sizes(trace_, op_), op_.outputs.size() > 1 ? &out(1) : nullptr);
}

void OpCheck::pooling() const {
    operands(1, 1, 1, 2);
    pooling_sizes(trace_, op_);
    if (op_.outputs.size() > 1) positions(out(1), out(0));
}

}  // namespace heddle::trace
