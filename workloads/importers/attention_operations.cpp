// Ops of PyTorch by schema: scaled dot-product attention.
#include <algorithm>
#include <array>

#include "workloads/importers/operations.h"

namespace heddle::importers {
namespace {

/// Where the arguments of PyTorch's attention ops lie, and those of their gradients.
struct AttentionArguments {
    const char* name;
    std::size_t dropout, causal, scale;
    std::size_t out, log_sum_exp;  ///< of a gradient
    bool gradient;
};
constexpr std::array<AttentionArguments, 8> attentions{{
    {"_scaled_dot_product_flash_attention", 3, 4, 6, 0, 0, false},
    {"_scaled_dot_product_flash_attention_for_cpu", 3, 4, 6, 0, 0, false},
    {"_scaled_dot_product_efficient_attention", 5, 6, 7, 0, 0, false},
    {"_scaled_dot_product_cudnn_attention", 5, 6, 8, 0, 0, false},
    {"_scaled_dot_product_flash_attention_backward", 10, 11, 14, 4, 5, true},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", 6, 7, 9, 4, 5, true},
    {"_scaled_dot_product_efficient_attention_backward", 9, 11, 12, 5, 6, true},
    {"_scaled_dot_product_cudnn_attention_backward", 13, 14, 15, 4, 5, true},
}};

void attention(Builder& builder, const Launch& launch, const Call& call) {
    const auto row = std::find_if(attentions.begin(), attentions.end(),
                                  [&call](const AttentionArguments& a) { return call.name == a.name; });
    Op op;
    op.kind = row->gradient ? OpKind::attention_grad : OpKind::attention;
    op.set(keys::attention.causal, number_operand(call, row->causal, 0) != 0);
    if (const double scale = number_operand(call, row->scale, 0); scale > 0)
        op.set(keys::attention.scale, scale);
    if (const double dropout = number_operand(call, row->dropout, 0); dropout > 0)
        op.set(keys::attention.dropout, dropout);
    const std::size_t first = row->gradient ? 1 : 0;
    const RecordedTensor& q = operand(call, first, "q");
    if (q.shape.size() != 4) throw NotUnderstood{"attention of other than four axes"};
    const Shape rows{q.shape[0], q.shape[1], q.shape[2]};
    // The statistics may be padded to whole tiles of rows.
    const auto statistics = [&](RecordedTensor recorded) {
        if (recorded.elements() == trace::element_count(rows)) return recorded;
        return builder.invented(ElementType::f32, rows, recorded.storage);
    };
    if (row->gradient) {
        builder.input(op, operand(call, 0, "gradient"));
        for (std::size_t i = 1; i < 4; ++i) builder.input(op, operand(call, i, "operand"));
        builder.input(op, operand(call, row->out, "result"));
        builder.input(op, statistics(operand(call, row->log_sum_exp, "statistics")));
        for (std::size_t i = 0; i < 3; ++i)
            builder.output(op, need(call.output_tensor(i), "gradient of " + call.name));
    } else {
        for (std::size_t i = 0; i < 3; ++i) builder.input(op, operand(call, i, "operand"));
        builder.output(op, need(call.output_tensor(0), "result of " + call.name));
        builder.output(op, statistics(result_or(builder, call, 1, ElementType::f32, rows)));
    }
    builder.add(std::move(op), launch, &call);
}

}  // namespace

const OperationTable& attention_operations() {
    static const OperationTable table = [] {
        OperationTable made;
        for (const AttentionArguments& row : attentions) made[row.name] = attention;
        return made;
    }();
    return table;
}

}  // namespace heddle::importers
