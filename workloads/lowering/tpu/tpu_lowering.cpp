#include "workloads/lowering/tpu/tpu_lowering.h"

#include <array>

#include "isa/common/error.h"
#include "workloads/lowering/tpu/attention_common.h"
#include "workloads/lowering/tpu/channel_norm.h"
#include "workloads/lowering/tpu/convolution.h"
#include "workloads/lowering/tpu/lstm_cell.h"
#include "workloads/lowering/tpu/map.h"
#include "workloads/lowering/tpu/matmul.h"
#include "workloads/lowering/tpu/pooling.h"
#include "workloads/lowering/tpu/program_builder.h"
#include "workloads/lowering/tpu/reduce.h"
#include "workloads/lowering/tpu/rows_by_index.h"
#include "workloads/lowering/tpu/rowwise.h"
#include "workloads/lowering/tpu/selection.h"

namespace heddle::lowering {
namespace {

using on_tpu::ProgramBuilder;
using on_tpu::Unsupported;
using trace::OpKind;

void lower_kind(ProgramBuilder& program, const TpuLoweringOptions& options) {
    switch (program.op().kind) {
        case OpKind::matmul:
            return on_tpu::lower_matmul(program, options);
        case OpKind::elementwise:
            return on_tpu::lower_elementwise(program);
        case OpKind::reduce:
            return on_tpu::lower_reduce(program);
        case OpKind::softmax_cross_entropy:
            return on_tpu::lower_cross_entropy(program);
        case OpKind::softmax_cross_entropy_grad:
            return on_tpu::lower_cross_entropy_grad(program);
        case OpKind::softmax:
            return on_tpu::lower_softmax(program);
        case OpKind::softmax_grad:
            return on_tpu::lower_softmax_grad(program);
        case OpKind::layer_norm:
            return on_tpu::lower_layer_norm(program);
        case OpKind::layer_norm_grad:
            return on_tpu::lower_layer_norm_grad(program);
        case OpKind::attention:
            return on_tpu::lower_attention(program);
        case OpKind::attention_grad:
            return on_tpu::lower_attention_grad(program);
        case OpKind::embedding:
            return on_tpu::lower_embedding(program);
        case OpKind::embedding_grad:
            return on_tpu::lower_embedding_grad(program);
        case OpKind::copy:
            return on_tpu::lower_copy(program);
        case OpKind::concat:
            return on_tpu::lower_concat(program);
        case OpKind::fill:
            return on_tpu::lower_fill(program);
        case OpKind::gather:
            return on_tpu::lower_gather(program);
        case OpKind::scatter:
            return on_tpu::lower_scatter(program);
        case OpKind::random:
            return on_tpu::lower_random(program);
        case OpKind::convolution:
            return on_tpu::lower_convolution(program, options);
        case OpKind::convolution_data_grad:
            return on_tpu::lower_convolution_data_grad(program, options);
        case OpKind::convolution_weight_grad:
            return on_tpu::lower_convolution_weight_grad(program, options);
        case OpKind::pooling:
            return on_tpu::lower_pooling(program);
        case OpKind::pooling_grad:
            return on_tpu::lower_pooling_grad(program);
        case OpKind::lstm_cell:
            return on_tpu::lower_lstm_cell(program);
        case OpKind::lstm_cell_grad:
            return on_tpu::lower_lstm_cell_grad(program);
        case OpKind::host_copy:
            throw Unsupported{"a copy between host and device is not the core's work"};
        case OpKind::collective:
            throw Unsupported{"a collective is the network's work"};
        case OpKind::rms_norm:
            return on_tpu::lower_rms_norm(program);
        case OpKind::rms_norm_grad:
            return on_tpu::lower_rms_norm_grad(program);
        case OpKind::group_norm:
        case OpKind::batch_norm:
            return on_tpu::lower_channel_norm(program);
        case OpKind::group_norm_grad:
        case OpKind::batch_norm_grad:
            return on_tpu::lower_channel_norm_grad(program);
        case OpKind::dropout:
            return on_tpu::lower_dropout(program);
        case OpKind::quantise:
            return on_tpu::lower_quantise(program);
        case OpKind::top_k:
            return on_tpu::lower_top_k(program);
        case OpKind::expert_slots:
            return on_tpu::lower_expert_slots(program);
        case OpKind::cumulative_sum:
            return on_tpu::lower_cumulative_sum(program);
        case OpKind::unknown:
            throw Unsupported{"nobody knows what this op computes"};
    }
    throw Unsupported{"an op of a kind that the TPU lowering does not know"};
}

}  // namespace

LoweredOp lower(const trace::Trace& trace, trace::OpId op, const target::TpuTarget& target,
                const TensorPlacement& placement, const TpuLoweringOptions& options) {
    if (options.matmul_passes != 1 && options.matmul_passes != 3 && options.matmul_passes != 6) {
        throw Error("matrix products in " + std::to_string(options.matmul_passes) + " passes", {},
                    "1, 3 or 6");
    }
    trace.check_op(op);
    LoweredOp lowered;
    try {
        ProgramBuilder program(trace, op, target, placement);
        lower_kind(program, options);
        lowered.program = program.finish();
        lowered.schedule = program.schedule();
        lowered.workspace_bytes = program.workspace_bytes();
        lowered.supported = true;
    } catch (const Unsupported& unsupported) {
        lowered.reason_if_not = unsupported.reason;
    }
    return lowered;
}

LoweredOp lower(const trace::Trace& trace, trace::OpId op, const target::TpuTarget& target,
                const TpuLoweringOptions& options) {
    const std::array<trace::OpId, 1> only{op};
    return lower(trace, op, target, TensorPlacement(trace, target, only), options);
}

}  // namespace heddle::lowering
