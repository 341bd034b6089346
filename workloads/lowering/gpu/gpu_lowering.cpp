#include "workloads/lowering/gpu/gpu_lowering.h"

#include "isa/common/error.h"
#include "workloads/lowering/gpu/builder.h"
#include "workloads/lowering/gpu/lists.h"

namespace heddle::lowering {
namespace {

void lower_op(GpuProgramBuilder& b) {
    using trace::OpKind;
    switch (b.op().kind) {
        case OpKind::matmul:
            return lower_matmul(b);
        case OpKind::elementwise:
            return lower_elementwise(b);
        case OpKind::reduce:
            return lower_reduce(b);
        case OpKind::softmax_cross_entropy:
            return lower_cross_entropy(b);
        case OpKind::softmax_cross_entropy_grad:
            return lower_cross_entropy_grad(b);
        case OpKind::softmax:
            return lower_softmax(b);
        case OpKind::softmax_grad:
            return lower_softmax_grad(b);
        case OpKind::layer_norm:
            return lower_layer_norm(b);
        case OpKind::layer_norm_grad:
            return lower_layer_norm_grad(b);
        case OpKind::attention:
            return lower_attention(b);
        case OpKind::attention_grad:
            return lower_attention_grad(b);
        case OpKind::embedding:
            return lower_embedding(b);
        case OpKind::embedding_grad:
            return lower_embedding_grad(b);
        case OpKind::copy:
            return lower_copy(b);
        case OpKind::concat:
            return lower_concat(b);
        case OpKind::fill:
            return lower_fill(b);
        case OpKind::gather:
            return lower_gather(b);
        case OpKind::scatter:
            return lower_scatter(b);
        case OpKind::random:
            return lower_random(b);
        case OpKind::convolution:
            return lower_convolution(b);
        case OpKind::convolution_data_grad:
            return lower_convolution_data_grad(b);
        case OpKind::convolution_weight_grad:
            return lower_convolution_weight_grad(b);
        case OpKind::pooling:
            return lower_pooling(b);
        case OpKind::pooling_grad:
            return lower_pooling_grad(b);
        case OpKind::lstm_cell:
            return lower_lstm_cell(b);
        case OpKind::lstm_cell_grad:
            return lower_lstm_cell_grad(b);
        case OpKind::host_copy:
            throw Unsupported{"host copy"};
        case OpKind::collective:
            throw Unsupported{"collective"};
        case OpKind::rms_norm:
            return lower_rms_norm(b);
        case OpKind::rms_norm_grad:
            return lower_rms_norm_grad(b);
        case OpKind::group_norm:
        case OpKind::batch_norm:
            return lower_channel_norm(b);
        case OpKind::group_norm_grad:
        case OpKind::batch_norm_grad:
            return lower_channel_norm_grad(b);
        case OpKind::dropout:
            return lower_dropout(b);
        case OpKind::quantise:
            return lower_quantise(b);
        case OpKind::top_k:
            return lower_top_k(b);
        case OpKind::expert_slots:
            return lower_expert_slots(b);
        case OpKind::cumulative_sum:
            return lower_cumulative_sum(b);
        case OpKind::unknown:
            throw Unsupported{"not understood"};
    }
    throw Unsupported{"not understood"};
}

/// False, and nothing launched, where the ops must go one by one.
bool lowered_as_list(GpuProgramBuilder& builder, std::size_t first, std::size_t count) {
    const std::uint32_t before = builder.launches();
    try {
        lower_list(builder, static_cast<trace::OpId>(first), count);
        return true;
    } catch (const Unsupported&) {
        builder.drop_launches(before);
        return false;
    }
}

}  // namespace

GpuLowering lower_for_gpu(const trace::Trace& trace, const target::GpuTarget& target,
                          const GemmPicker& pick_gemm) {
    GpuProgramBuilder builder(trace, target, pick_gemm);
    GpuLowering lowering;
    lowering.ops.resize(trace.ops.size());
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        GpuLoweredOp& lowered = lowering.ops[i];
        lowered.first_launch = builder.launches();
        const std::size_t together = list_length(trace, i);
        if (together > 1 && lowered_as_list(builder, i, together)) {
            lowered.launch_count = builder.launches() - lowered.first_launch;
            for (std::size_t k = 1; k < together; ++k) lowering.ops[i + k].first_launch = builder.launches();
            i += together - 1;
            continue;
        }
        builder.begin_op(static_cast<trace::OpId>(i));
        try {
            lower_op(builder);
            lowered.launch_count = builder.launches() - lowered.first_launch;
        } catch (const Unsupported& unsupported) {
            builder.drop_launches(lowered.first_launch);
            lowered.unsupported = unsupported.reason;
        } catch (const Error& error) {  // a generator has no kernel of this kind: of a type, or a size
            builder.drop_launches(lowered.first_launch);
            lowered.unsupported = error.problem();
        }
    }
    lowering.buffer_of_tensor = builder.buffers_of_tensors();
    lowering.program = builder.take_program();
    return lowering;
}

}  // namespace heddle::lowering
