#include <catch2/catch.hpp>

#include "op_check.h"

using namespace heddle;
using namespace heddle::test;
using trace::ElementType;
using trace::OpKind;

namespace {

struct Shape {
    std::int64_t batch, heads, key_heads, queries, keys, depth, value_depth;
    bool causal;
};

const std::vector<Shape> kShapes{
    {2, 3, 3, 37, 37, 16, 16, false}, {2, 3, 3, 37, 37, 16, 16, true},    {1, 4, 2, 50, 50, 8, 8, true},
    {1, 2, 1, 20, 70, 24, 12, true},  {1, 2, 2, 70, 20, 24, 40, false},   {1, 1, 1, 300, 300, 20, 20, true},
    {3, 1, 1, 1, 90, 16, 16, true},   {1, 2, 2, 64, 1000, 16, 16, false}, {1, 2, 1, 600, 600, 16, 16, true},
};

}  // namespace

TEST_CASE("attention: all sizes, causal or not, grouped heads, keys in several chunks") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 1.0 / 128;  // queries, keys, values and weights are rounded to 8 bits on their way in
    for (const Shape& s : kShapes) {
        INFO(s.queries << " x " << s.keys);
        check_ops(tpu,
                  OpBuilder(OpKind::attention)
                      .input({s.batch, s.heads, s.queries, s.depth})
                      .input({s.batch, s.key_heads, s.keys, s.depth})
                      .input({s.batch, s.key_heads, s.keys, s.value_depth})
                      .output({s.batch, s.heads, s.queries, s.value_depth})
                      .output({s.batch, s.heads, s.queries})
                      .with("causal", std::int64_t{s.causal})
                      .done()
                      .trace,
                  check);
    }
}

TEST_CASE("gradient of attention, after the attention itself") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 1.0 / 64;
    for (const Shape& s : kShapes) {
        INFO(s.queries << " x " << s.keys);
        OpBuilder builder(OpKind::attention);
        builder.input({s.batch, s.heads, s.queries, s.depth})
            .input({s.batch, s.key_heads, s.keys, s.depth})
            .input({s.batch, s.key_heads, s.keys, s.value_depth})
            .output({s.batch, s.heads, s.queries, s.value_depth})
            .output({s.batch, s.heads, s.queries})
            .with("causal", std::int64_t{s.causal})
            .done();
        trace::Op grad;
        grad.kind = OpKind::attention_grad;
        grad.attributes = builder.op.attributes;
        grad.dependencies = {0};
        trace::Tensor d_out = builder.trace.tensor(builder.op.outputs[0]);
        d_out.name = "d_out";
        grad.inputs = {builder.trace.add(d_out), builder.op.inputs[0],  builder.op.inputs[1],
                       builder.op.inputs[2],     builder.op.outputs[0], builder.op.outputs[1]};
        for (const trace::TensorId id : builder.op.inputs) {
            trace::Tensor gradient = builder.trace.tensor(id);
            gradient.name = "d" + gradient.name;
            grad.outputs.push_back(builder.trace.add(gradient));
        }
        builder.trace.add(grad);
        check_ops(tpu, builder.trace, check);
    }
}

TEST_CASE("attention over heads that lie side by side in each row") {
    // [batch, sequence, heads, depth] seen as [batch, heads, sequence, depth].
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 1.0 / 128;
    const std::vector<std::int64_t> strides{3 * 40 * 16, 16, 3 * 16, 1};
    OpBuilder builder(OpKind::attention);
    builder.input({2, 3, 40, 16}).input({2, 3, 40, 16}).input({2, 3, 40, 16}).output({2, 3, 40, 16});
    for (const char* const operand : {"input0", "input1", "input2", "output0"})
        builder.with(std::string(operand) + "_strides", strides);
    check_ops(tpu, builder.done().trace, check);
}
