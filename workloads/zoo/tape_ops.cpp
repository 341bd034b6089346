// One method for each kind of op that models record.
#include <algorithm>

#include "isa/common/error.h"
#include "workloads/trace/sliding_window.h"
#include "workloads/zoo/tape.h"

namespace heddle::zoo {
namespace {

Shape broadcast(const Shape& a, const Shape& b) {
    Shape result(std::max(a.size(), b.size()), 1);
    for (const Shape* shape : {&a, &b}) {
        const std::size_t missing = result.size() - shape->size();
        for (std::size_t i = 0; i < shape->size(); ++i) {
            if ((*shape)[i] != 1) result[missing + i] = (*shape)[i];
        }
    }
    return result;
}

}  // namespace

TensorId Tape::matmul(const std::string& name, TensorId a, TensorId b, const MatmulOptions& options) {
    const Shape& left = tensor(a).shape;
    const Shape& right = tensor(b).shape;
    if (left.size() < 2 || right.size() < 2)
        throw Error("a matmul takes tensors of two axes or more", {.key = name});
    Shape shape = broadcast(Shape(left.begin(), left.end() - 2), Shape(right.begin(), right.end() - 2));
    shape.push_back(options.transpose_a ? left.back() : left[left.size() - 2]);
    shape.push_back(options.transpose_b ? right[right.size() - 2] : right.back());
    Op op;
    op.name = name;
    op.kind = OpKind::matmul;
    op.inputs = {a, b};
    if (options.bias) op.inputs.push_back(*options.bias);
    op.set(keys::matmul.transpose_a, options.transpose_a);
    op.set(keys::matmul.transpose_b, options.transpose_b);
    return record(std::move(op), {Tensor{name, options.type.value_or(tensor(a).type), shape}})[0];
}

TensorId Tape::elementwise(const std::string& name, const std::string& expression,
                           const std::vector<TensorId>& inputs, std::optional<ElementType> type,
                           const std::vector<double>& scalars) {
    Shape shape;
    for (const TensorId input : inputs) shape = broadcast(shape, tensor(input).shape);
    Op op;
    op.name = name;
    op.kind = OpKind::elementwise;
    op.inputs = inputs;
    op.set(keys::elementwise.expression, expression);
    if (!scalars.empty()) op.set(keys::elementwise.scalars, scalars);
    return record(std::move(op), {Tensor{name, type.value_or(tensor(inputs.at(0)).type), shape}})[0];
}

std::vector<TensorId> Tape::update_in_place(const std::string& name, const std::string& expression,
                                            const std::vector<TensorId>& inputs,
                                            const std::vector<TensorId>& targets,
                                            const std::vector<double>& scalars) {
    Op op;
    op.name = name;
    op.kind = OpKind::elementwise;
    op.inputs = inputs;
    op.set(keys::elementwise.expression, expression);
    if (!scalars.empty()) op.set(keys::elementwise.scalars, scalars);
    std::vector<Tensor> outputs;
    for (const TensorId target : targets) {
        Tensor output = tensor(target);
        output.name += ".updated";
        outputs.push_back(output);
    }
    return record(std::move(op), outputs);
}

TensorId Tape::cast(const std::string& name, TensorId x, ElementType type) {
    Op op;
    op.name = name;
    op.kind = OpKind::copy;
    op.inputs = {x};
    return record(std::move(op), {Tensor{name, type, tensor(x).shape}})[0];
}

TensorId Tape::transpose(const std::string& name, TensorId x, const std::vector<std::int64_t>& permutation) {
    Op op;
    op.name = name;
    op.kind = OpKind::copy;
    op.inputs = {x};
    op.set(keys::copy.permutation, permutation);
    Shape shape;
    for (const std::int64_t axis : permutation) shape.push_back(tensor(x).shape.at(axis));
    return record(std::move(op), {Tensor{name, tensor(x).type, shape}})[0];
}

TensorId Tape::concat(const std::string& name, const std::vector<TensorId>& inputs, std::int64_t axis) {
    Op op;
    op.name = name;
    op.kind = OpKind::concat;
    op.inputs = inputs;
    op.set(keys::concat.axis, axis);
    Shape shape = tensor(inputs.at(0)).shape;
    for (std::size_t i = 1; i < inputs.size(); ++i) shape.at(axis) += tensor(inputs[i]).shape.at(axis);
    return record(std::move(op), {Tensor{name, tensor(inputs[0]).type, shape}})[0];
}

TensorId Tape::reduce(const std::string& name, TensorId x, const std::string& reduction,
                      const std::vector<std::int64_t>& axes, Shape result_shape) {
    Op op;
    op.name = name;
    op.kind = OpKind::reduce;
    op.inputs = {x};
    op.set(keys::reduce.reduction, reduction);
    op.set(keys::reduce.axes, axes);
    return record(std::move(op), {Tensor{name, tensor(x).type, std::move(result_shape)}})[0];
}

Tape::CrossEntropy Tape::softmax_cross_entropy(const std::string& name, TensorId logits, TensorId labels) {
    Op op;
    op.name = name;
    op.kind = OpKind::softmax_cross_entropy;
    op.inputs = {logits, labels};
    const Tensor& x = tensor(logits);
    const auto results = record(std::move(op), {Tensor{name + ".loss", ElementType::f32, {x.shape.at(0)}},
                                                Tensor{name + ".probabilities", x.type, x.shape}});
    return {results[0], results[1]};
}

TensorId Tape::softmax(const std::string& name, TensorId x) {
    Op op;
    op.name = name;
    op.kind = OpKind::softmax;
    op.inputs = {x};
    return record(std::move(op), {Tensor{name, tensor(x).type, tensor(x).shape}})[0];
}

TensorId Tape::layer_norm(const std::string& name, TensorId x, TensorId gamma, TensorId beta,
                          double epsilon) {
    Op op;
    op.name = name;
    op.kind = OpKind::layer_norm;
    op.inputs = {x, gamma, beta};
    op.set(keys::layer_norm.epsilon, epsilon);
    const Tensor& source = tensor(x);
    const Shape rows(source.shape.begin(), source.shape.end() - 1);
    return record(std::move(op),
                  {Tensor{name, source.type, source.shape}, Tensor{name + ".mean", ElementType::f32, rows},
                   Tensor{name + ".rstd", ElementType::f32, rows}})[0];
}

TensorId Tape::attention(const std::string& name, TensorId q, TensorId k, TensorId v, bool causal) {
    Op op;
    op.name = name;
    op.kind = OpKind::attention;
    op.inputs = {q, k, v};
    op.set(keys::attention.causal, causal);
    Shape out = tensor(q).shape;
    out.back() = tensor(v).shape.back();
    const Shape rows(out.begin(), out.end() - 1);
    return record(std::move(op), {Tensor{name, tensor(q).type, out},
                                  Tensor{name + ".log_sum_exp", ElementType::f32, rows}})[0];
}

TensorId Tape::rms_norm(const std::string& name, TensorId x, TensorId gamma, double epsilon) {
    Op op;
    op.name = name;
    op.kind = OpKind::rms_norm;
    op.inputs = {x, gamma};
    op.set(keys::rms_norm.epsilon, epsilon);
    const Tensor& source = tensor(x);
    const Shape rows(source.shape.begin(), source.shape.end() - 1);
    return record(std::move(op), {Tensor{name, source.type, source.shape},
                                  Tensor{name + ".rstd", ElementType::f32, rows}})[0];
}

TensorId Tape::batch_norm(const std::string& name, TensorId x, TensorId gamma, TensorId beta,
                          const std::vector<TensorId>& running, double epsilon, double momentum) {
    Op op;
    op.name = name;
    op.kind = OpKind::batch_norm;
    op.inputs = {x, gamma, beta};
    op.set(keys::batch_norm.epsilon, epsilon);
    op.set(keys::batch_norm.momentum, momentum);
    const Tensor source = tensor(x);
    const Shape channels{source.shape.at(1)};
    std::vector<Tensor> outputs{Tensor{name, source.type, source.shape},
                                Tensor{name + ".mean", ElementType::f32, channels},
                                Tensor{name + ".rstd", ElementType::f32, channels}};
    for (const TensorId id : running) {
        op.inputs.push_back(id);
        outputs.push_back(tensor(id));
        outputs.back().name += ".updated";
    }
    return record(std::move(op), outputs)[0];
}

TensorId Tape::convolution(const std::string& name, TensorId x, TensorId w,
                           const ConvolutionOptions& options) {
    const Shape &from = tensor(x).shape, &window = tensor(w).shape;
    if (from.size() < 3 || window.size() != from.size())
        throw Error("a convolution takes x and w of as many axes, three or more", {.key = name});
    Op op;
    op.name = name;
    op.kind = OpKind::convolution;
    op.inputs = {x, w};
    if (options.bias) op.inputs.push_back(*options.bias);
    const std::size_t axes = from.size() - 2, first = options.channels_last ? 1 : 2;
    std::vector<std::int64_t> strides = options.strides, padding = options.padding,
                              dilation = options.dilation;
    strides.resize(axes, 1);
    padding.resize(axes, 0);
    dilation.resize(axes, 1);
    op.set(keys::convolution.strides, strides);
    op.set(keys::convolution.padding, padding);
    op.set(keys::convolution.dilation, dilation);
    op.set(keys::convolution.groups, options.groups);
    op.set(keys::convolution.layout, options.channels_last ? "nhwc" : "nchw");
    Shape shape = from;
    shape[options.channels_last ? axes + 1 : 1] = window[0];
    for (std::size_t i = 0; i < axes; ++i) {
        const std::int64_t reach = dilation[i] * (window[first + i] - 1) + 1;
        shape[first + i] = (from[first + i] + 2 * padding[i] - reach) / strides[i] + 1;
        if (from[first + i] + 2 * padding[i] < reach)
            throw Error("the window is larger than " + trace::to_text(from), {.key = name});
    }
    return record(std::move(op), {Tensor{name, tensor(x).type, shape}})[0];
}

TensorId Tape::pooling(const std::string& name, TensorId x, const PoolingOptions& options) {
    const Shape& from = tensor(x).shape;
    Op op;
    op.name = name;
    op.kind = OpKind::pooling;
    op.inputs = {x};
    const std::size_t axes = options.window.size(), first = options.channels_last ? 1 : 2;
    if (from.size() != axes + 2)
        throw Error("the window does not have the axes of " + trace::to_text(from), {.key = name});
    std::vector<std::int64_t> strides = options.strides, padding = options.padding;
    if (strides.empty()) strides = options.window;
    padding.resize(axes, 0);
    op.set(keys::pooling.pooling, options.maximum ? "max" : "mean");
    op.set(keys::pooling.window, options.window);
    op.set(keys::pooling.strides, strides);
    op.set(keys::pooling.padding, padding);
    op.set(keys::pooling.layout, options.channels_last ? "nhwc" : "nchw");
    Shape shape = from;
    for (std::size_t i = 0; i < axes; ++i) {
        const std::int64_t room = from[first + i] + 2 * padding[i] - options.window[i];
        if (room < 0) throw Error("the window is larger than " + trace::to_text(from), {.key = name});
        shape[first + i] = room / strides[i] + 1;
    }
    return record(std::move(op), {Tensor{name, tensor(x).type, shape}})[0];
}

TensorId Tape::dropout(const std::string& name, TensorId x, double probability, std::int64_t offset) {
    Op op;
    op.name = name;
    op.kind = OpKind::dropout;
    op.inputs = {x};
    op.set(keys::dropout.probability, probability);
    op.set(keys::dropout.offset, offset);
    const Tensor source = tensor(x);
    return record(std::move(op), {Tensor{name, source.type, source.shape},
                                  Tensor{name + ".mask", ElementType::boolean, source.shape}})[0];
}

Tape::LstmCell Tape::lstm_cell(const std::string& name, TensorId from_x, TensorId from_h, TensorId c,
                               TensorId bias) {
    Op op;
    op.name = name;
    op.kind = OpKind::lstm_cell;
    op.inputs = {from_x, from_h, c, bias};
    const Tensor gates = tensor(from_x), cells = tensor(c);
    const auto results = record(std::move(op), {Tensor{name + ".h", cells.type, cells.shape},
                                                Tensor{name + ".c", cells.type, cells.shape},
                                                Tensor{name + ".gates", gates.type, gates.shape}});
    return {results[0], results[1]};
}

Tape::TopK Tape::top_k(const std::string& name, TensorId x, std::int64_t k) {
    Op op;
    op.name = name;
    op.kind = OpKind::top_k;
    op.inputs = {x};
    Shape shape = tensor(x).shape;
    shape.back() = k;
    const auto results = record(std::move(op), {Tensor{name, tensor(x).type, shape},
                                                Tensor{name + ".indices", ElementType::i32, shape}});
    return {results[0], results[1]};
}

TensorId Tape::cumulative_sum(const std::string& name, TensorId x, std::int64_t axis) {
    Op op;
    op.name = name;
    op.kind = OpKind::cumulative_sum;
    op.inputs = {x};
    op.set(keys::cumulative_sum.axis, axis);
    return record(std::move(op), {Tensor{name, tensor(x).type, tensor(x).shape}})[0];
}

TensorId Tape::quantise(const std::string& name, TensorId x, ElementType type, TensorId scale) {
    Op op;
    op.name = name;
    op.kind = OpKind::quantise;
    op.inputs = {x, scale};
    return record(std::move(op), {Tensor{name, type, tensor(x).shape}})[0];
}

TensorId Tape::gather(const std::string& name, TensorId x, TensorId indices, bool distinct) {
    Op op;
    op.name = name;
    op.kind = OpKind::gather;
    op.inputs = {x, indices};
    op.set(keys::gather.axis, 0);
    if (distinct) op.set(keys::gather.distinct, 1);
    Shape shape = tensor(indices).shape;
    shape.insert(shape.end(), tensor(x).shape.begin() + 1, tensor(x).shape.end());
    return record(std::move(op), {Tensor{name, tensor(x).type, shape}})[0];
}

TensorId Tape::scatter(const std::string& name, TensorId x, TensorId indices, TensorId updates) {
    Op op;
    op.name = name;
    op.kind = OpKind::scatter;
    op.inputs = {x, indices, updates};
    op.set(keys::scatter.axis, 0);
    return record(std::move(op), {Tensor{name, tensor(x).type, tensor(x).shape}})[0];
}

TensorId Tape::embedding(const std::string& name, TensorId table, TensorId indices) {
    Op op;
    op.name = name;
    op.kind = OpKind::embedding;
    op.inputs = {table, indices};
    Shape shape = tensor(indices).shape;
    shape.push_back(tensor(table).shape.at(1));
    return record(std::move(op), {Tensor{name, tensor(table).type, shape}})[0];
}

TensorId Tape::fill(const std::string& name, ElementType type, Shape shape, double value) {
    Op op;
    op.name = name;
    op.kind = OpKind::fill;
    op.set(keys::fill.value, value);
    return record(std::move(op), {Tensor{name, type, std::move(shape)}})[0];
}

}  // namespace heddle::zoo
