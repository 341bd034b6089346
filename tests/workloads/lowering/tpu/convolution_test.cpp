// Convolutions, poolings and the cell of an LSTM, with their gradients, against their definitions in double
// precision.
#include <algorithm>
#include <catch2/catch.hpp>

#include "op_check.h"

using namespace heddle;
using namespace heddle::test;
using trace::ElementType;
using trace::OpKind;
using Shape = std::vector<std::int64_t>;

namespace {

struct Case {
    std::string layout;
    std::int64_t batch, channels, filters, groups;
    Shape input, window, strides, padding, dilation;
    ElementType type = ElementType::f32;

    Shape output() const {
        Shape result;
        for (std::size_t i = 0; i < input.size(); ++i)
            result.push_back((input[i] + 2 * padding[i] - dilation[i] * (window[i] - 1) - 1) / strides[i] +
                             1);
        return result;
    }
    Shape image(std::int64_t items, std::int64_t depth, const Shape& space) const {
        Shape shape{items};
        if (layout == "nchw") shape.push_back(depth);
        shape.insert(shape.end(), space.begin(), space.end());
        if (layout == "nhwc") shape.push_back(depth);
        return shape;
    }
    Shape x() const { return image(batch, channels, input); }
    Shape w() const { return image(filters, channels / groups, window); }
    Shape y() const { return image(batch, filters, output()); }
    OpBuilder& describe(OpBuilder& op) const {
        return op.with("layout", layout)
            .with("strides", strides)
            .with("padding", padding)
            .with("dilation", dilation)
            .with("groups", groups);
    }
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {"nhwc", 2, 5, 7, 1, {9, 11}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
        {"nhwc", 3, 20, 40, 1, {8, 6}, {3, 2}, {2, 2}, {1, 0}, {1, 1}},
        {"nchw", 2, 4, 18, 2, {7, 7}, {3, 3}, {1, 2}, {1, 1}, {1, 1}},
        {"nhwc", 1, 6, 9, 1, {12, 10}, {3, 3}, {1, 1}, {2, 2}, {2, 2}},
        {"nhwc", 5, 33, 17, 1, {4, 4}, {1, 1}, {1, 1}, {0, 0}, {1, 1}},
        {"nhwc", 2, 8, 8, 8, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
        {"nhwc", 2, 9, 12, 1, {13}, {4}, {3}, {2}, {1}},
        {"nhwc", 2, 16, 24, 1, {10, 10}, {1, 1}, {2, 2}, {0, 0}, {1, 1}, ElementType::bf16},
    };
    return all;
}

/// Products of bf16 (2^-9 each operand), summed in fp32, and results of bf16 tensors rounded once more.
OpCheck check_of(const Case& c) {
    OpCheck check;
    check.tolerance = c.type == ElementType::bf16 ? 0.02 : 0.012;
    return check;
}

}  // namespace

TEST_CASE("convolutions of every stride, padding, dilation, group and layout") {
    models::Tpu tpu("tpu", small_tpu());
    for (const Case& c : cases()) {
        INFO(c.layout << " " << c.channels << " to " << c.filters << ", case " << (&c - cases().data()));
        OpBuilder op(OpKind::convolution);
        op.input(c.x(), c.type).input(c.w(), c.type).input({c.filters}, c.type).output(c.y(), c.type);
        check_ops(tpu, c.describe(op).done().trace, check_of(c));
    }
}

TEST_CASE("int8 convolutions are exact, over several slabs whose borders are filled once") {
    models::Tpu tpu("tpu", small_tpu());
    const Case whole{"nhwc", 9, 5, 18, 1, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, ElementType::i8};
    const Case rows{"nhwc", 3, 4, 8, 1, {21, 13}, {3, 1}, {1, 1}, {1, 0}, {1, 1}, ElementType::i8};
    for (const Case& c : {whole, rows}) {
        OpBuilder op(OpKind::convolution);
        op.input(c.x(), c.type).input(c.w(), c.type).output(c.y(), c.type);
        OpCheck check;
        check.tolerance = 0;
        check_ops(tpu, c.describe(op).done().trace, check);
    }
    // Borders of all images at once, and only when they are new: each of two places is filled at most once
    // above, below and at the sides.
    OpBuilder op(OpKind::convolution);
    op.input(whole.x(), whole.type).input(whole.w(), whole.type).output(whole.y(), whole.type);
    const lowering::LoweredOp lowered =
        lowering::lower(whole.describe(op).done().trace, 0, target_of(tpu.config()));
    REQUIRE(lowered.supported);
    for (const tpu::CoreProgram& core : lowered.program.cores) {
        const auto fills = std::count_if(
            core.instructions.begin(), core.instructions.end(), [](const tpu::Instruction& instruction) {
                const auto* const vector = std::get_if<tpu::Vector>(&instruction.operation);
                return vector != nullptr && vector->inputs.empty();
            });
        CHECK(fills <= 6);
    }
}

TEST_CASE("gradients of convolutions by their data") {
    models::Tpu tpu("tpu", small_tpu());
    for (const Case& c : cases()) {
        INFO(c.layout << " " << c.channels << " to " << c.filters << ", case " << (&c - cases().data()));
        OpBuilder op(OpKind::convolution_data_grad);
        op.input(c.y(), c.type).input(c.w(), c.type).output(c.x(), c.type);
        check_ops(tpu, c.describe(op).done().trace, check_of(c));
    }
}

TEST_CASE("gradients of convolutions by their weights and biases") {
    models::Tpu tpu("tpu", small_tpu());
    for (const Case& c : cases()) {
        INFO(c.layout << " " << c.channels << " to " << c.filters << ", case " << (&c - cases().data()));
        OpBuilder op(OpKind::convolution_weight_grad);
        op.input(c.y(), c.type).input(c.x(), c.type).output(c.w(), c.type).output({c.filters}, c.type);
        check_ops(tpu, c.describe(op).done().trace, check_of(c));
    }
}

TEST_CASE("a convolution in six passes is as exact as fp32") {
    models::Tpu tpu("tpu", small_tpu());
    const Case& c = cases()[1];
    OpBuilder op(OpKind::convolution);
    op.input(c.x()).input(c.w()).output(c.y());
    OpCheck check;
    check.options.matmul_passes = 6;
    check.tolerance = 2e-6;
    check_ops(tpu, c.describe(op).done().trace, check);
}

TEST_CASE("poolings and their gradients") {
    models::Tpu tpu("tpu", small_tpu());
    for (const std::string layout : {"nhwc", "nchw"}) {
        for (const std::string kind : {"max", "mean"}) {
            for (const std::int64_t counts : {0, 1}) {
                INFO(layout << " " << kind << " " << counts);
                const Case c{layout, 2, 5, 5, 1, {9, 8}, {3, 2}, {2, 1}, {1, 0}, {1, 1}};
                const auto describe = [&](OpBuilder& op) -> OpBuilder& {
                    return op.with("layout", layout)
                        .with("pooling", kind)
                        .with("window", c.window)
                        .with("strides", c.strides)
                        .with("padding", c.padding)
                        .with("padding_counts", counts);
                };
                OpBuilder forward(OpKind::pooling);
                forward.input(c.x()).output(c.y());
                if (kind == "max") forward.output(c.y(), ElementType::i32);
                check_ops(tpu, describe(forward).done().trace);
                OpBuilder backward(OpKind::pooling_grad);
                backward.input(c.y()).input(c.x()).output(c.x());
                check_ops(tpu, describe(backward).done().trace);
            }
        }
    }
}

TEST_CASE("a pooling over a whole image takes its taps in turns") {
    models::Tpu tpu("tpu", small_tpu());
    OpBuilder op(OpKind::pooling);
    op.input({2, 7, 7, 24})
        .output({2, 1, 1, 24})
        .with("layout", std::string("nhwc"))
        .with("pooling", std::string("mean"));
    check_ops(tpu, op.with("window", Shape{7, 7}).done().trace);
}

TEST_CASE("the cell of an LSTM and its gradient") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 1e-5;
    OpBuilder forward(OpKind::lstm_cell);
    forward.input({6, 160}).input({6, 160}).input({6, 40}).input({160}).input({160});
    check_ops(tpu, forward.output({6, 40}).output({6, 40}).output({6, 160}).done().trace, check);
    OpBuilder backward(OpKind::lstm_cell_grad);
    backward.input({6, 40}).input({6, 40}).input({6, 40}).input({6, 40}).input({6, 160});
    check_ops(tpu, backward.output({6, 160}).output({6, 40}).done().trace, check);
}
