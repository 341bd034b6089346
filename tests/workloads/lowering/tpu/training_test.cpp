// Forward, backward and update of a small multi-layer perceptron, op by op on one memory.
#include <catch2/catch.hpp>

#include "op_check.h"

using namespace heddle;
using namespace heddle::test;
using trace::ElementType;
using trace::OpKind;

namespace {

struct Step {
    trace::Trace trace;
    trace::TensorId tensor(const std::string& name, std::vector<std::int64_t> shape,
                           std::uint64_t storage = 0, ElementType type = ElementType::f32) {
        trace::Tensor one;
        one.name = name;
        one.shape = std::move(shape);
        one.storage = storage;
        one.type = type;
        return trace.add(std::move(one));
    }
    void op(OpKind kind, std::vector<trace::TensorId> inputs, std::vector<trace::TensorId> outputs,
            trace::Attributes attributes = {}) {
        trace::Op one;
        one.name = "op" + std::to_string(trace.ops.size());
        one.kind = kind;
        one.inputs = std::move(inputs);
        one.outputs = std::move(outputs);
        one.attributes = std::move(attributes);
        trace.add(std::move(one));
    }
};

}  // namespace

TEST_CASE("a training step of a perceptron") {
    constexpr std::int64_t batch = 50, inputs = 70, hidden = 90, classes = 11;
    Step step;
    const auto x = step.tensor("x", {batch, inputs});
    const auto labels = step.tensor("labels", {batch}, 0, ElementType::i64);
    const auto w1 = step.tensor("w1", {inputs, hidden}, 1), b1 = step.tensor("b1", {hidden}, 2);
    const auto w2 = step.tensor("w2", {hidden, classes}, 3), b2 = step.tensor("b2", {classes}, 4);
    const auto z = step.tensor("z", {batch, hidden}), h = step.tensor("h", {batch, hidden});
    const auto logits = step.tensor("logits", {batch, classes});
    const auto loss = step.tensor("loss", {batch}), p = step.tensor("p", {batch, classes});
    const auto mean = step.tensor("mean", {});
    const auto d_logits = step.tensor("d_logits", {batch, classes}), dh = step.tensor("dh", {batch, hidden});
    const auto dz = step.tensor("dz", {batch, hidden});
    const auto dw1 = step.tensor("dw1", {inputs, hidden}), db1 = step.tensor("db1", {hidden});
    const auto dw2 = step.tensor("dw2", {hidden, classes}), db2 = step.tensor("db2", {classes});
    const std::int64_t yes = 1;
    const std::vector<std::int64_t> rows{0};
    step.op(OpKind::matmul, {x, w1, b1}, {z});
    step.op(OpKind::elementwise, {z}, {h}, {{keys::elementwise.expression, "y0 = max(x0, 0)"}});
    step.op(OpKind::matmul, {h, w2, b2}, {logits});
    step.op(OpKind::softmax_cross_entropy, {logits, labels}, {loss, p});
    step.op(OpKind::reduce, {loss}, {mean}, {{keys::reduce.reduction, "mean"}});
    step.op(OpKind::softmax_cross_entropy_grad, {p, labels}, {d_logits},
            {{keys::softmax_cross_entropy.scale, 1.0 / batch}});
    step.op(OpKind::matmul, {h, d_logits}, {dw2}, {{keys::matmul.transpose_a, yes}});
    step.op(OpKind::reduce, {d_logits}, {db2}, {{keys::reduce.reduction, "sum"}, {keys::reduce.axes, rows}});
    step.op(OpKind::matmul, {d_logits, w2}, {dh}, {{keys::matmul.transpose_b, yes}});
    step.op(OpKind::elementwise, {dh, z}, {dz}, {{keys::elementwise.expression, "y0 = x1 > 0 ? x0 : 0"}});
    step.op(OpKind::matmul, {x, dz}, {dw1}, {{keys::matmul.transpose_a, yes}});
    step.op(OpKind::reduce, {dz}, {db1}, {{keys::reduce.reduction, "sum"}, {keys::reduce.axes, rows}});
    const trace::Attributes update{{keys::reduce.expression, "y0 = x0 - s0 * x1"},
                                   {keys::reduce.scalars, std::vector<double>{0.1}}};
    const auto sgd = [&](trace::TensorId parameter, trace::TensorId gradient) {
        trace::Tensor updated = step.trace.tensor(parameter);
        updated.name += "'";
        step.op(OpKind::elementwise, {parameter, gradient}, {step.trace.add(updated)}, update);
    };
    sgd(w1, dw1);
    sgd(b1, db1);
    sgd(w2, dw2);
    sgd(b2, db2);
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.classes = classes;
    // Every product rounds its operands to 8 bits (2^-9 each); four products lie between the input and dw1,
    // and where z is near zero the rounding may switch a unit on or off.
    check.tolerance = 0.03;
    check_ops(tpu, step.trace, check);
}
