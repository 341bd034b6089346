// FlashAttention-2: forward, and the three kernels of its backward pass.
#include <algorithm>

#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

struct Attention {
    RecordedTensor q, k, v, out, log_sum_exp;
    double scale = 0, dropout = 0;
    bool causal = false;
    bool equal_lengths_assumed = false;
};

/// [tokens, heads, dimension] or [batch, sequence, heads, dimension] seen as [batch, heads, sequence,
/// dimension].
RecordedTensor by_heads(const RecordedTensor& tensor, std::int64_t batch) {
    RecordedTensor seen = tensor;
    if (tensor.shape.size() == 3) {
        const std::int64_t sequence = batch > 0 ? tensor.shape[0] / batch : 0;
        if (sequence * batch != tensor.shape[0]) throw NotUnderstood{"sequences of different lengths"};
        seen.shape = {batch, tensor.shape[1], sequence, tensor.shape[2]};
        seen.strides = {sequence * tensor.strides[0], tensor.strides[1], tensor.strides[0],
                        tensor.strides[2]};
    } else if (tensor.shape.size() == 4) {
        seen.shape = {tensor.shape[0], tensor.shape[2], tensor.shape[1], tensor.shape[3]};
        seen.strides = {tensor.strides[0], tensor.strides[2], tensor.strides[1], tensor.strides[3]};
    } else {
        throw NotUnderstood{"an attention operand has neither three nor four axes"};
    }
    return seen;
}

/// The enclosing function of flash-attn or PyTorch.
const Call* function_of(const Recording& recording, const Call& kernel) {
    for (const Call* call : recording.enclosing(kernel)) {
        if (call->name.find("FlashAttn") != std::string::npos ||
            call->name.find("flash_attention") != std::string::npos) {
            return call;
        }
    }
    return nullptr;
}

/// Operands by position: q, k, v, then for variable lengths the two tensors of sequence starts; causal is a
/// flag.
Attention forward(const Recording& recording, const Call& call, const KernelName& kernel) {
    Attention result;
    const RecordedTensor& q = need(call.gpu_tensor(0), "q");
    const RecordedTensor& k = need(call.gpu_tensor(1), "k");
    const RecordedTensor& v = need(call.gpu_tensor(2), "v");
    std::int64_t batch = q.shape.size() == 4 ? q.shape[0] : 1;
    const RecordedTensor* starts = call.gpu_tensor(3);
    if (q.shape.size() == 3 && starts != nullptr && starts->shape.size() == 1) {
        batch = starts->shape[0] - 1;
        result.equal_lengths_assumed = batch > 1;
    }
    result.q = by_heads(q, batch);
    result.k = by_heads(k, batch);
    result.v = by_heads(v, batch);
    for (std::size_t i = 3; i < call.inputs.size(); ++i) {
        const Literal* value = call.literal(i);
        if (value == nullptr) continue;
        if (const bool* flag = std::get_if<bool>(&value->value)) {
            result.causal = *flag;
            break;
        }
        // Dropout and scale are the two real numbers before the flag; dropout comes first and may be 0.
        if (std::holds_alternative<double>(value->value)) {
            if (result.scale == 0 && i + 1 < call.inputs.size() && call.literal(i + 1) != nullptr &&
                std::holds_alternative<double>(call.literal(i + 1)->value)) {
                result.dropout = value->number(0);
            } else {
                result.scale = value->number(0);
            }
        }
    }
    // Flash_fwd_kernel<traits, Is_dropout, Is_causal, ...>: the kernel knows best.
    if (const auto causal = kernel.boolean(2)) result.causal = *causal;
    for (const std::size_t child : recording.children(call)) {
        const Call& made = recording.call(child);
        const RecordedTensor* tensor = made.output_tensor(0);
        if (tensor == nullptr) continue;
        if (made.name == "empty_like" && tensor->shape == q.shape) result.out = by_heads(*tensor, batch);
        const Shape rows{batch, result.q.shape[1], result.q.shape[2]};
        if (made.name == "empty" && tensor->type == ElementType::f32 && tensor->shape == rows) {
            result.log_sum_exp = *tensor;
        }
    }
    if (result.out.shape.empty() || result.log_sum_exp.shape.empty()) {
        throw NotUnderstood{"results of the attention were not recorded"};
    }
    return result;
}

void describe(Op& op, const Attention& attention, const KernelName& kernel) {
    op.set(keys::attention.causal, attention.causal);
    if (attention.scale > 0) op.set(keys::attention.scale, attention.scale);
    if (attention.dropout > 0) op.set(keys::attention.dropout, attention.dropout);
    if (attention.equal_lengths_assumed) assume(op, "sequences of equal length");
    // Flash_..._kernel_traits<head dimension, rows of q, rows of k, warps, ...>
    for (const char* traits : {"Flash_fwd_kernel_traits", "Flash_bwd_kernel_traits"}) {
        const auto arguments = template_arguments(kernel.full, traits);
        if (arguments.size() < 4) continue;
        const auto number = [&arguments](std::size_t i) {
            return integer_argument(arguments[i]).value_or(0);
        };
        op.set(keys::any.tile, {number(1), number(2), number(0)});
        op.set(keys::attention.warps, number(3));
    }
}

/// Backward: d q, d k, d v (made like q, k, v), the row sums and the f32 accumulator of d q.
struct Backward {
    RecordedTensor d_out, dq, dk, dv, row_sums, dq_accumulator;
};

Backward backward(const Recording& recording, const Call& call, const Attention& attention) {
    Backward result;
    const std::int64_t batch = attention.q.shape[0], heads = attention.q.shape[1],
                       sequence = attention.q.shape[2];
    result.d_out = by_heads(need(call.gpu_tensor(0), "incoming gradient"), batch);
    std::vector<RecordedTensor> like;
    for (const std::size_t child : recording.children(call)) {
        const Call& made = recording.call(child);
        const RecordedTensor* tensor = made.output_tensor(0);
        if (tensor == nullptr) continue;
        if (made.name == "empty_like") like.push_back(by_heads(*tensor, batch));
        if (made.name != "empty" || tensor->type != ElementType::f32) continue;
        if (tensor->shape.size() == 3 && tensor->shape[0] == batch && tensor->shape[1] == heads) {
            result.row_sums = *tensor;
            result.row_sums.shape = {batch, heads, sequence};
            result.row_sums.strides = {heads * tensor->shape[2], tensor->shape[2], 1};
        } else if (tensor->shape.size() == 3 && tensor->shape[1] == heads) {
            // [tokens + padding, heads, dimension]
            result.dq_accumulator = *tensor;
            result.dq_accumulator.shape[0] = batch * sequence;
            result.dq_accumulator = by_heads(result.dq_accumulator, batch);
        } else if (tensor->shape.size() == 4) {
            result.dq_accumulator = *tensor;  // [batch, heads, sequence, dimension]
        }
    }
    if (like.size() < 3) throw NotUnderstood{"gradients of q, k and v were not recorded"};
    result.dq = like[0];
    result.dk = like[1];
    result.dv = like[2];
    if (result.row_sums.shape.empty() || result.dq_accumulator.shape.empty()) {
        throw NotUnderstood{"work tensors of the attention gradient were not recorded"};
    }
    return result;
}

void backward_op(Builder& builder, Op& op, const Launch& launch, const Attention& attention,
                 const Backward& work) {
    const std::string& function = launch.name.function;
    if (function.find("dot_do_o") != std::string::npos) {
        // Row sums of d out * out; the first template argument says whether the accumulator of d q is cleared
        // too.
        op.kind = OpKind::reduce;
        op.set(keys::reduce.reduction, "sum");
        op.set(keys::reduce.axes, {3});
        op.set(keys::reduce.expression, "y0 = x0 * x1");
        if (launch.name.boolean(0).value_or(false)) {
            op.set(keys::reduce.clears_bytes, work.dq_accumulator.elements() * 4);
        }
        builder.input(op, work.d_out);
        builder.input(op, attention.out);
        builder.output(op, work.row_sums);
    } else if (function.find("convert_dq") != std::string::npos) {
        op.kind = OpKind::elementwise;
        op.set(keys::elementwise.expression, "y0 = s0 * x0");
        op.set(keys::elementwise.scalars, {attention.scale > 0 ? attention.scale : 1.0});
        builder.input(op, work.dq_accumulator);
        builder.output(op, work.dq);
    } else {
        op.kind = OpKind::attention_grad;
        describe(op, attention, launch.name);
        for (const RecordedTensor* tensor : {&work.d_out, &attention.q, &attention.k, &attention.v,
                                             &attention.out, &attention.log_sum_exp}) {
            builder.input(op, *tensor);
        }
        builder.output(op, work.dq_accumulator);
        builder.output(op, work.dk);
        builder.output(op, work.dv);
    }
}

}  // namespace

bool attention_rule(Builder& builder, const Launch& launch) {
    const std::string& function = launch.name.function;
    if (function.rfind("flash_fwd", 0) != 0 && function.rfind("flash_bwd", 0) != 0) return false;
    const Call& call = need(function_of(launch.recording, launch.kernel), "call that attends");
    Op op;
    if (function.rfind("flash_fwd", 0) == 0) {
        const Attention attention = forward(launch.recording, call, launch.name);
        op.kind = OpKind::attention;
        describe(op, attention, launch.name);
        for (const RecordedTensor* tensor : {&attention.q, &attention.k, &attention.v})
            builder.input(op, *tensor);
        builder.output(op, attention.out);
        builder.output(op, attention.log_sum_exp);
    } else {
        const Call& forward_call = need(launch.recording.forward_of(call), "forward call of this gradient");
        const Attention attention = forward(launch.recording, forward_call, {});
        backward_op(builder, op, launch, attention, backward(launch.recording, call, attention));
    }
    builder.add(std::move(op), launch, &call);
    return true;
}

}  // namespace heddle::importers
