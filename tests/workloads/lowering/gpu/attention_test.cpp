// Attention, lowered to PTX and executed, beside the double-precision reference.
#include <catch2/catch.hpp>

#include "gpu_op_check.h"

using namespace heddle;
using namespace heddle::lowering::test;
using trace::ElementType;
using trace::Op;
using trace::OpKind;
using trace::TensorId;
using trace::TensorRole;

TEST_CASE("attention and its gradient, causal and not, ragged and strided") {
    for (const bool causal : {false, true}) {
        CAPTURE(causal);
        Builder b;
        const std::vector<std::int64_t> shape{2, 3, 70, 64};
        const auto tensor = [&] { return b.tensor(shape, ElementType::bf16); };
        const TensorId q = tensor(), k = tensor(), v = tensor(), out = tensor(), lse = b.tensor({2, 3, 70}),
                       d_out = tensor(), dq = tensor(), dk = tensor(), dv = tensor();
        b.op(OpKind::attention, {q, k, v}, {out, lse}).set(keys::attention.causal, causal);
        b.op(OpKind::attention_grad, {d_out, q, k, v, out, lse}, {dq, dk, dv})
            .set(keys::attention.causal, causal);
        // Operands are rounded to bf16 between the kernels; gradients here reach a few units.
        CHECK(worst_error(b.trace) < 0.03);
        CHECK(worst_error(b.trace, 80) < 0.03);
    }
}

TEST_CASE("attention with grouped heads and dropout, and its gradient") {
    Builder b;
    const auto of_heads = [&](std::int64_t heads) { return b.tensor({2, heads, 70, 64}, ElementType::bf16); };
    const TensorId q = of_heads(6), k = of_heads(2), v = of_heads(2), out = of_heads(6),
                   lse = b.tensor({2, 6, 70}), d_out = of_heads(6), dq = of_heads(6), dk = of_heads(2),
                   dv = of_heads(2);
    const trace::Attributes attributes{{keys::attention.dropout, 0.25}, {keys::attention.stream, 5}};
    b.op(OpKind::attention, {q, k, v}, {out, lse}).attributes = attributes;
    b.op(OpKind::attention_grad, {d_out, q, k, v, out, lse}, {dq, dk, dv}).attributes = attributes;
    CHECK(worst_error(b.trace) < 0.03);
    CHECK(worst_error(b.trace, 80) < 0.03);
}

TEST_CASE("attention with grouped heads that lie side by side in rows, and its gradient") {
    Builder b;
    const auto of_heads = [&](std::int64_t heads) { return b.tensor({2, heads, 70, 64}, ElementType::bf16); };
    const TensorId q = of_heads(6), k = of_heads(2), v = of_heads(2), out = of_heads(6),
                   lse = b.tensor({2, 6, 70}), d_out = of_heads(6), dq = of_heads(6), dk = of_heads(2),
                   dv = of_heads(2);
    const auto in_rows = [](Op& op, const char* operand, std::int64_t heads) {
        op.set_strides(std::string(operand), {70 * heads * 64, 64, heads * 64, 1});
    };
    Op& forward = b.op(OpKind::attention, {q, k, v}, {out, lse});
    in_rows(forward, "input0", 6);
    in_rows(forward, "input1", 2);
    in_rows(forward, "input2", 2);
    in_rows(forward, "output0", 6);
    Op& backward = b.op(OpKind::attention_grad, {d_out, q, k, v, out, lse}, {dq, dk, dv});
    for (const char* operand : {"input0", "input1", "input4", "output0"}) in_rows(backward, operand, 6);
    for (const char* operand : {"input2", "input3", "output1", "output2"}) in_rows(backward, operand, 2);
    CHECK(worst_error(b.trace) < 0.03);
    CHECK(worst_error(b.trace, 80) < 0.03);
}
