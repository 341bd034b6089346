// Convolutions and pooling, lowered to PTX and executed, beside the double-precision reference.
#include <catch2/catch.hpp>

#include "gpu_op_check.h"

using namespace heddle;
using namespace heddle::lowering::test;
using trace::ElementType;
using trace::Op;
using trace::OpKind;
using trace::TensorId;
using trace::TensorRole;

TEST_CASE("convolutions, forward and both gradients, match the reference") {
    const auto convolution = [](ElementType type, bool last, std::int64_t groups, unsigned capability,
                                std::int64_t channels = 12, const std::string& compute = "") {
        Builder b;
        const auto shape = [&](std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
            return last ? std::vector<std::int64_t>{n, h, w, c} : std::vector<std::int64_t>{n, c, h, w};
        };
        trace::Attributes attributes{{keys::convolution.strides, std::vector<std::int64_t>{2, 1}},
                                     {keys::convolution.padding, std::vector<std::int64_t>{1, 0, 1, 2}},
                                     {keys::convolution.dilation, std::vector<std::int64_t>{1, 2}},
                                     {keys::convolution.groups, groups}};
        if (last) attributes.set(keys::convolution.layout, "nhwc");
        if (!compute.empty()) attributes.set(keys::any.compute_type, compute);
        const TensorId x = b.tensor(shape(5, channels, 19, 17), type),
                       w = b.tensor(shape(18, channels / groups, 3, 2), type, TensorRole::parameter),
                       bias = b.tensor({18}, type), y = b.tensor(shape(5, 18, 9, 18), type),
                       dy = b.tensor(shape(5, 18, 9, 18), type),
                       dx = b.tensor(shape(5, channels, 19, 17), type),
                       dw = b.tensor(shape(18, channels / groups, 3, 2), type);
        b.op(OpKind::convolution, {x, w, bias}, {y}).attributes = attributes;
        b.op(OpKind::convolution_data_grad, {dy, w}, {dx}).attributes = attributes;
        b.op(OpKind::convolution_weight_grad, {dy, x}, {dw}).attributes = attributes;
        return worst_error(b.trace, capability);
    };
    CHECK(convolution(ElementType::f32, false, 1, 70) < 1e-5);
    CHECK(convolution(ElementType::f32, true, 3, 86) < 1e-5);
    CHECK(convolution(ElementType::f16, true, 1, 80) < 0x1p-10);
    CHECK(convolution(ElementType::bf16, false, 2, 90) < 0x1p-7);
    CHECK(convolution(ElementType::bf16, true, 2, 90) < 0x1p-7);
    for (const std::int64_t odd : {1, 3, 5}) {  // padded to 4 and 8
        CHECK(convolution(ElementType::f16, true, 1, 80, odd) < 0x1p-10);
        CHECK(convolution(ElementType::bf16, true, 1, 90, odd) < 0x1p-7);
        CHECK(convolution(ElementType::f32, true, 1, 80, odd, "tf32") < 0x1p-9);
    }
}

TEST_CASE("pooling and its gradient match the reference") {
    for (const bool last : {false, true}) {
        Builder b;
        const auto tensor = [&](std::int64_t h, std::int64_t w, ElementType type = ElementType::f32) {
            return last ? b.tensor({2, h, w, 5}, type) : b.tensor({2, 5, h, w}, type);
        };
        const auto pool = [&](const std::string& kind, std::int64_t h, std::int64_t w, bool round_up,
                              bool positions) {
            trace::Attributes attributes{{keys::pooling.pooling, kind},
                                         {keys::pooling.window, std::vector<std::int64_t>{3, 2}},
                                         {keys::pooling.strides, std::vector<std::int64_t>{2, 3}},
                                         {keys::pooling.padding, std::vector<std::int64_t>{1, 0}},
                                         {keys::pooling.round_up, round_up},
                                         {keys::pooling.padding_counts, positions}};
            if (last) attributes.set(keys::convolution.layout, "nhwc");
            const TensorId x = tensor(12, 10), y = tensor(h, w), dy = tensor(h, w), dx = tensor(12, 10);
            if (kind == "mean") {
                b.op(OpKind::pooling, {x}, {y}).attributes = attributes;
                b.op(OpKind::pooling_grad, {dy}, {dx}).attributes = attributes;
                return;
            }
            const TensorId where = tensor(h, w, ElementType::i64);
            b.op(OpKind::pooling, {x}, {y, where}).attributes = attributes;
            Op& grad = positions ? b.op(OpKind::pooling_grad, {dy, x, where}, {dx})
                                 : b.op(OpKind::pooling_grad, {dy, x}, {dx});
            grad.attributes = attributes;
        };
        pool("max", 6, 3, false, true);
        pool("max", 7, 4, true, false);
        pool("mean", 6, 3, false, true);
        pool("mean", 7, 4, true, false);
        CHECK(worst_error(b.trace, 70) < 1e-6);
    }
}
