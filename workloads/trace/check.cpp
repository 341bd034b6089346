// Whether a Trace is well formed: every reference exists and every shape fits its op.
#include <algorithm>

#include "isa/common/error.h"
#include "workloads/trace/op_check.h"
#include "workloads/trace/possible_shape.h"

namespace heddle::trace {

void OpCheck::run() const {
    references();
    switch (op_.kind) {
        case OpKind::matmul:
            matmul();
            break;
        case OpKind::elementwise:
            elementwise();
            break;
        case OpKind::reduce:
            reduce();
            break;
        case OpKind::softmax_cross_entropy:
            operands(2, 2, 1, 2);
            same_count("labels", in(1), in(0).elements() / last(in(0)));
            same_count("loss", out(0), in(0).elements() / last(in(0)));
            if (op_.outputs.size() > 1) same_count("probabilities", out(1), in(0).elements());
            break;
        case OpKind::softmax_cross_entropy_grad:
            operands(2, 3, 1, 1);
            same_count("labels", in(1), in(0).elements() / last(in(0)));
            same_count("gradient", out(0), in(0).elements());
            break;
        case OpKind::softmax:
            operands(1, 1, 1, 1);
            last(in(0));
            if (op_.attributes.count("axis") != 0) axis(in(0));
            same_count("result", out(0), in(0).elements());
            break;
        case OpKind::softmax_grad:
            operands(2, 2, 1, 1);
            last(in(0));
            if (op_.attributes.count("axis") != 0) axis(in(0));
            same_count("dy", in(1), in(0).elements());
            same_count("dx", out(0), in(0).elements());
            break;
        case OpKind::layer_norm:
            layer_norm();
            break;
        case OpKind::layer_norm_grad:
            layer_norm_grad();
            break;
        case OpKind::rms_norm:
            operands(2, 2, 1, 2);
            same_count("gamma", in(1), last(in(0)));
            same_count("result", out(0), in(0).elements());
            if (op_.outputs.size() > 1) same_count("rstd", out(1), in(0).elements() / last(in(0)));
            break;
        case OpKind::rms_norm_grad:
            operands(4, 4, 1, 2);
            same_count("x", in(1), in(0).elements());
            same_count("rstd", in(2), in(0).elements() / last(in(0)));
            same_count("gamma", in(3), last(in(0)));
            same_count("dx", out(0), in(0).elements());
            if (op_.outputs.size() > 1) same_count("d gamma", out(1), last(in(0)));
            break;
        case OpKind::group_norm:
            operands(3, 3, 1, 3);
            channel_norm(groups(in(0)) * in(0).shape[0]);
            break;
        case OpKind::group_norm_grad:
            operands(5, 5, 1, 3);
            channel_norm_grad(groups(in(1)) * in(1).shape[0]);
            break;
        case OpKind::batch_norm:
            operands(3, 5, 1, 5);
            if (op_.inputs.size() == 4) fail("running mean and variance come together");
            channel_norm(channels(in(0)));
            break;
        case OpKind::batch_norm_grad:
            operands(5, 5, 1, 3);
            channel_norm_grad(channels(in(1)));
            break;
        case OpKind::dropout:
            operands(1, 1, 1, 2);
            if (const double p = op_.real("probability", 0.5); !(p >= 0 && p < 1))
                fail("the probability of a zero is not in [0, 1)");
            for (std::size_t i = 0; i < op_.outputs.size(); ++i)
                same_count("result", out(i), in(0).elements());
            break;
        case OpKind::quantise:
            operands(1, 2, 1, 2);
            same_count("result", out(0), in(0).elements());
            if (out(0).type != ElementType::e4m3 && out(0).type != ElementType::e5m2)
                fail("the result is " + name_of(out(0).type) + " and not e4m3 or e5m2");
            if (op_.inputs.size() > 1) same_count("scale", in(1), 1);
            if (op_.outputs.size() > 1) same_count("amax", out(1), 1);
            break;
        case OpKind::top_k:
            top_k();
            break;
        case OpKind::expert_slots:
            operands(1, 1, 1, 1);
            same_count("slots", out(0), in(0).elements());
            if (op_.integer("experts", 0) < 1 || op_.integer("capacity", 0) < 1)
                fail("experts and capacity must be at least 1");
            break;
        case OpKind::cumulative_sum:
            operands(1, 1, 1, 1);
            same_count("sums", out(0), in(0).elements());
            cumulative_sum();
            break;
        case OpKind::attention:
            operands(3, 3, 1, 2);
            attention(in(0), in(1), in(2));
            same_count("out", out(0), in(0).elements() / last(in(0)) * last(in(2)));
            break;
        case OpKind::attention_grad:
            operands(6, 6, 3, 3);
            attention(in(1), in(2), in(3));
            for (std::size_t i = 0; i < 3; ++i) same_count("gradient", out(i), in(i + 1).elements());
            break;
        case OpKind::convolution:
            operands(2, 3, 1, 1);
            filters(convolution_sizes(trace_, op_), op_.inputs.size() > 2 ? &in(2) : nullptr);
            break;
        case OpKind::convolution_data_grad:
            operands(2, 2, 1, 1);
            convolution_sizes(trace_, op_);
            break;
        case OpKind::convolution_weight_grad:
            operands(2, 2, 1, 2);
            filters(convolution_sizes(trace_, op_), op_.outputs.size() > 1 ? &out(1) : nullptr);
            break;
        case OpKind::pooling:
            operands(1, 1, 1, 2);
            pooling_sizes(trace_, op_);
            if (op_.outputs.size() > 1) positions(out(1), out(0));
            break;
        case OpKind::pooling_grad:
            pooling_grad();
            break;
        case OpKind::lstm_cell:
            lstm_cell();
            break;
        case OpKind::lstm_cell_grad:
            lstm_cell_grad();
            break;
        case OpKind::embedding:
            operands(2, 2, 1, 1);
            rank(in(0), 2, "the table");
            same_count("result", out(0), in(1).elements() * last(in(0)));
            break;
        case OpKind::embedding_grad:
            operands(2, 2, 1, 1);
            rank(out(0), 2, "the table");
            same_count("d out", in(0), in(1).elements() * last(out(0)));
            break;
        case OpKind::copy:
            copy();
            break;
        case OpKind::concat:
            concat();
            break;
        case OpKind::fill:
        case OpKind::random:
            operands(0, many, 1, many);
            break;
        case OpKind::gather:
            operands(2, many, 1, 1);
            axis(in(0));
            indices(op_.inputs.size() - 1, out(0));
            break;
        case OpKind::scatter:
            operands(3, many, 1, 1);
            axis(in(0));
            same_count("result", out(0), in(0).elements());
            indices(op_.inputs.size() - 2, in(op_.inputs.size() - 1));
            break;
        case OpKind::host_copy:
        case OpKind::collective:
        case OpKind::unknown:
            break;
    }
}

void OpCheck::fail(const std::string& problem) const {
    throw Error(problem,
                {.key = "op " + std::to_string(index_) + " (" + name_of(op_.kind) + " " + op_.name + ")"});
}

std::int64_t OpCheck::last(const Tensor& tensor) const {
    if (tensor.shape.empty()) fail("tensor " + tensor.name + " is a scalar where a row was expected");
    return std::max<std::int64_t>(tensor.shape.back(), 1);
}

void OpCheck::references() const {
    for (const auto* operands : {&op_.inputs, &op_.outputs}) {
        for (const TensorId id : *operands) {
            if (id >= trace_.tensors.size())
                fail("refers to tensor " + std::to_string(id) + ", which does not exist");
        }
    }
    for (const OpId id : op_.dependencies) {
        if (id >= index_) fail("depends on op " + std::to_string(id) + ", which is not earlier");
    }
}

void OpCheck::operands(std::size_t least_in, std::size_t most_in, std::size_t least_out,
                       std::size_t most_out) const {
    const auto range = [](std::size_t least, std::size_t most) {
        return most == many ? "at least " + std::to_string(least)
                            : std::to_string(least) + (most > least ? " to " + std::to_string(most) : "");
    };
    if (op_.inputs.size() < least_in || op_.inputs.size() > most_in) {
        fail("has " + std::to_string(op_.inputs.size()) + " inputs instead of " + range(least_in, most_in));
    }
    if (op_.outputs.size() < least_out || op_.outputs.size() > most_out) {
        fail("has " + std::to_string(op_.outputs.size()) + " outputs instead of " +
             range(least_out, most_out));
    }
}

void OpCheck::same_count(const std::string& what, const Tensor& tensor, std::int64_t elements) const {
    if (tensor.elements() != elements) {
        fail(what + " " + tensor.name + " " + to_text(tensor.shape) + " does not have " +
             std::to_string(elements) + " elements");
    }
}

void OpCheck::rank(const Tensor& tensor, std::size_t axes, const std::string& what) const {
    if (tensor.shape.size() != axes) {
        fail(what + " " + tensor.name + " " + to_text(tensor.shape) + " does not have " +
             std::to_string(axes) + " axes");
    }
}

std::int64_t OpCheck::axis(const Tensor& tensor) const {
    const std::int64_t value = op_.integer("axis", 0);
    if (value < 0 || value >= static_cast<std::int64_t>(tensor.shape.size())) {
        fail("axis " + std::to_string(value) + " is not an axis of " + to_text(tensor.shape));
    }
    return value;
}

expression::Expression OpCheck::parsed(const std::string& key) const {
    try {
        return expression::parse(op_.text(key));
    } catch (const Error& error) {
        fail(key + " " + error.what());
    }
}

void OpCheck::broadcast(const Tensor& tensor, const Shape& to) const {
    if (!broadcasts_to(tensor.shape, to)) {
        fail("tensor " + tensor.name + " " + to_text(tensor.shape) + " does not broadcast to " + to_text(to));
    }
}

void Trace::check_op(OpId id) const {
    OpCheck(*this, ops.at(id), id).run();
}

void Trace::check() const {
    for (const Tensor& tensor : tensors) {
        if (!is_possible(tensor.shape))
            throw Error("impossible shape " + to_text(tensor.shape), {.key = "tensor " + tensor.name});
    }
    for (std::size_t i = 0; i < ops.size(); ++i) OpCheck(*this, ops[i], i).run();
}

}  // namespace heddle::trace
