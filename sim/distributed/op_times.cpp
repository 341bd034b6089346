#include "sim/distributed/op_times.h"

#include <algorithm>
#include <set>

#include "isa/common/error.h"
#include "sim/gemm/gemm_question.h"
#include "sim/gpu/gpu_machine.h"
#include "workloads/parallel/parts.h"

namespace heddle::sim {
namespace {

using trace::Op;
using trace::OpKind;
using trace::Tensor;
using trace::Trace;

/// An elementwise op that only scales, masks or casts what a softmax reads, or what its gradient made.
std::set<trace::OpId> beside_softmax(const Trace& trace) {
    std::map<trace::TensorId, std::vector<trace::OpId>> readers;
    std::map<trace::TensorId, trace::OpId> maker;
    for (trace::OpId id = 0; id < trace.ops.size(); ++id) {
        for (const trace::TensorId input : trace.ops[id].inputs) readers[input].push_back(id);
        for (const trace::TensorId output : trace.ops[id].outputs) maker[output] = id;
    }
    std::set<trace::OpId> beside;
    for (trace::OpId id = 0; id < trace.ops.size(); ++id) {
        const Op& op = trace.ops[id];
        if (op.kind != OpKind::elementwise || op.outputs.size() != 1) continue;
        const auto& users = readers[op.outputs[0]];
        const bool before = users.size() == 1 && trace.ops[users[0]].kind == OpKind::softmax;
        const bool after = std::any_of(op.inputs.begin(), op.inputs.end(), [&](trace::TensorId input) {
            const auto found = maker.find(input);
            return found != maker.end() && trace.ops[found->second].kind == OpKind::softmax_grad;
        });
        if (before || after) beside.insert(id);
    }
    return beside;
}

double peak_rate(const models::gpu::GpuConfig& gpu, unsigned bytes) {
    return 2.0 * gpu.sm.count * gpu.clock * (bytes == 2 ? gpu.tensor.f16 : gpu.tensor.tf32);
}

}  // namespace

double ClosedForm::product(const Trace& trace, const Op& op) {
    const Tensor& a = trace.tensor(op.inputs[0]);
    const Tensor& y = trace.tensor(op.outputs[0]);
    const bool ta = op.get(keys::matmul.transpose_a) != 0, tb = op.get(keys::matmul.transpose_b) != 0;
    if (a.shape.size() < 2 || y.shape.size() < 2) return 0;
    GemmQuestion question;
    question.m = static_cast<std::uint32_t>(y.shape[y.shape.size() - 2]);
    question.n = static_cast<std::uint32_t>(y.shape.back());
    question.k = static_cast<std::uint32_t>(a.shape[a.shape.size() - (ta ? 2 : 1)]);
    for (std::size_t i = 0; i + 2 < y.shape.size(); ++i)
        question.batch *= static_cast<std::uint32_t>(y.shape[i]);
    question.type = a.type;
    if (op.get(keys::any.compute_type) == "tf32") question.type = trace::ElementType::tf32;
    question.transpose_a = ta;
    question.transpose_b = tb;
    const models::gpu::GpuConfig& gpu = gpu_config(hardware_);
    try {
        // In a step other work passes between two uses of the same weights.
        const double seconds = candidates(question, gpu, {0, true}).front().estimated_seconds;
        const auto odd = [](const Tensor& tensor) {
            return trace::bytes_of(tensor.type) == 2 && tensor.shape.back() % 2 != 0;
        };
        const bool unaligned = odd(a) || odd(trace.tensor(op.inputs[1])) || odd(y);
        return unaligned ? seconds / config_.unaligned : seconds;
    } catch (const Error&) {
        return trace::floating_point_operations(trace, op) / (0.5 * peak_rate(gpu, trace::bytes_of(a.type)));
    }
}

OpTime ClosedForm::time_of(const Trace& trace, const Op& op) {
    const models::gpu::GpuConfig& gpu = gpu_config(hardware_);
    const double launch = gpu.launch.before + gpu.launch.after;
    const double bytes = trace::bytes_moved(trace, op);
    OpTime time;
    if (op.kind == OpKind::collective) return time;
    if (op.kind == OpKind::matmul) {
        time.launches = 1;
        time.seconds = product(trace, op);
        if (time.seconds > 0) return time;
    }
    if (trace::is_attention(op.kind)) {
        const bool forward = trace::matrix_work(op.kind) == trace::MatrixWork::attention;
        time.launches = forward ? 1 : 3;
        const double part = forward ? config_.attention : config_.attention_gradient;
        const double rate = part * peak_rate(gpu, trace::bytes_of(trace.tensor(op.inputs[0]).type));
        time.seconds = launch + std::max(trace::floating_point_operations(trace, op) / rate,
                                         bytes / (config_.memory * gpu.hbm.bandwidth));
        return time;
    }
    if (op.phase == trace::Phase::optimizer) {
        time.seconds = bytes / (config_.optimizer_memory * gpu.hbm.bandwidth);
        return time;
    }
    time.launches = 1;
    time.seconds = launch + bytes / (config_.memory * gpu.hbm.bandwidth);
    return time;
}

double ClosedForm::streamed(double bytes) const {
    const Machine& machine = hardware_.machine();
    return bytes / ((machine.has_closed_form() ? config_.memory : 1) * machine.memory_bandwidth());
}

std::vector<OpTime> ClosedForm::times_of(const Trace& trace) {
    if (!hardware_.machine().has_closed_form())
        throw Error("the closed form knows GPUs alone", {"--kernels", 0, ""}, "add --kernels simulated");
    const std::set<trace::OpId> free = beside_softmax(trace);
    std::vector<OpTime> times;
    for (trace::OpId id = 0; id < trace.ops.size(); ++id) {
        if (free.contains(id)) {
            times.push_back({});
            continue;
        }
        const Op& op = trace.ops[id];
        const std::string key =
            (op.phase == trace::Phase::optimizer ? "optimizer " : "") + parallel::content_of(trace, op);
        const auto found = known_.find(key);
        times.push_back(found != known_.end() ? found->second : known_[key] = time_of(trace, op));
    }
    return times;
}

}  // namespace heddle::sim
