#include <catch2/catch.hpp>

#include "workloads/trace/names.h"
#include "workloads/trace/trace.h"

using namespace heddle::trace;

namespace {

struct Specimen {
    Trace trace;
    Op op;
    TensorId add(ElementType type, std::vector<std::int64_t> shape, bool input) {
        const TensorId id = trace.add(Tensor{"t", type, std::move(shape)});
        (input ? op.inputs : op.outputs).push_back(id);
        return id;
    }
};

}  // namespace

TEST_CASE("matmul: 2 m n k and the three matrices") {
    // The GEMM of a 2048-token GPT block with hidden size 768: 2 * 2048 * 2304 * 768.
    Specimen s;
    s.op.kind = OpKind::matmul;
    s.op.set(keys::matmul.transpose_b, 1);
    s.add(ElementType::bf16, {2048, 768}, true);
    s.add(ElementType::bf16, {2304, 768}, true);
    s.add(ElementType::bf16, {2048, 2304}, false);
    CHECK(floating_point_operations(s.trace, s.op) == 7247757312.0);
    CHECK(bytes_moved(s.trace, s.op) == 2.0 * (2048 * 768 + 2304 * 768 + 2048 * 2304));
}

TEST_CASE("attention: FlashAttention-2's count, 4 s^2 d h, halved by a causal mask, 2.5 times backward") {
    Specimen s;
    s.op.kind = OpKind::attention;
    for (int i = 0; i < 3; ++i) s.add(ElementType::bf16, {1, 12, 2048, 64}, true);
    s.add(ElementType::bf16, {1, 12, 2048, 64}, false);
    CHECK(floating_point_operations(s.trace, s.op) == 4.0 * 2048 * 2048 * 64 * 12);
    s.op.set(keys::attention.causal, 1);
    CHECK(floating_point_operations(s.trace, s.op) == 2.0 * 2048 * 2048 * 64 * 12);
    s.op.kind = OpKind::attention_grad;
    s.op.inputs = {3, 0, 1, 2, 3, 3};
    CHECK(floating_point_operations(s.trace, s.op) == 5.0 * 2048 * 2048 * 64 * 12);
}

TEST_CASE("elementwise counts the nodes of the expression, lookups move rows, not tables") {
    Specimen s;
    s.op.kind = OpKind::elementwise;
    s.op.set(keys::elementwise.expression, "y0 = s1 * x0 + x1; y1 = x2 - s0 * y0");
    for (int i = 0; i < 3; ++i) s.add(ElementType::f32, {1000}, true);
    s.op.outputs = {0, 2};
    CHECK(floating_point_operations(s.trace, s.op) == 4000);
    CHECK(bytes_moved(s.trace, s.op) == 4.0 * 5 * 1000);  // reads three, writes two

    Specimen e;
    e.op.kind = OpKind::embedding;
    e.add(ElementType::bf16, {50304, 768}, true);
    e.add(ElementType::i64, {2048}, true);
    e.add(ElementType::bf16, {2048, 768}, false);
    CHECK(bytes_moved(e.trace, e.op) == 2 * 2.0 * 2048 * 768 + 8 * 2048);

    Specimen g;
    g.op.kind = OpKind::embedding_grad;
    g.add(ElementType::bf16, {2048, 768}, true);
    g.add(ElementType::i64, {2048}, true);
    g.add(ElementType::bf16, {50304, 768}, false);
    CHECK(bytes_moved(g.trace, g.op) == 2.0 * 2048 * 768 + 8 * 2048 + 2.0 * 50304 * 768);
    g.op.set(keys::embedding.accumulate, 1);
    CHECK(bytes_moved(g.trace, g.op) == 3 * 2.0 * 2048 * 768 + 8 * 2048);
}

TEST_CASE("element types have their sizes and names") {
    CHECK(bytes_of(ElementType::f64) == 8);
    CHECK(bytes_of(ElementType::tf32) == 4);
    CHECK(bytes_of(ElementType::e4m3) == 1);
    for (unsigned i = 0; i <= static_cast<unsigned>(ElementType::boolean); ++i) {
        const auto type = static_cast<ElementType>(i);
        CHECK(element_type_from_name(name_of(type)) == type);
    }
    for (unsigned i = 0; i <= static_cast<unsigned>(OpKind::unknown); ++i) {
        const auto kind = static_cast<OpKind>(i);
        CHECK(op_kind_from_name(name_of(kind)) == kind);
    }
}

TEST_CASE("convolution: the first layer of ResNet-50 as papers count it, the same for its gradients") {
    // 7 x 7 with stride 2 on 224 x 224: 118,013,952 multiply-adds (He et al. 2016 count 3.8e9 in all).
    Specimen s;
    s.op.kind = OpKind::convolution;
    s.op.set(keys::convolution.strides, {2});
    s.op.set(keys::convolution.padding, {3});
    s.add(ElementType::f16, {1, 3, 224, 224}, true);
    s.add(ElementType::f16, {64, 3, 7, 7}, true);
    s.add(ElementType::f16, {1, 64, 112, 112}, false);
    CHECK(floating_point_operations(s.trace, s.op) == 2.0 * 118013952);
    CHECK(bytes_moved(s.trace, s.op) == 2.0 * (3 * 224 * 224 + 64 * 3 * 49 + 64 * 112 * 112));
    s.op.kind = OpKind::convolution_data_grad;
    s.op.inputs = {2, 1};
    s.op.outputs = {0};
    CHECK(floating_point_operations(s.trace, s.op) == 2.0 * 118013952);
    s.op.kind = OpKind::convolution_weight_grad;
    s.op.inputs = {2, 0};
    s.op.outputs = {1};
    CHECK(floating_point_operations(s.trace, s.op) == 2.0 * 118013952);
}
