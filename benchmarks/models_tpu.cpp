// Cycles per second of the TPU model in timing mode (tpu-v3, arrays of 128 x 128 with HBM), multiply-adds per second
// with values, and what lowering an op costs.
#include <benchmark/benchmark.h>

#include "models/tpu/tpu.h"
#include "sim/hardware/load_hardware.h"
#include "sim/tpu/tpu_machine.h"
#include "workloads/lowering/tpu/tensor_placement.h"
#include "workloads/lowering/tpu/tpu_lowering.h"

namespace {

using namespace heddle;

const models::TpuConfig& config() {
    static const sim::Hardware hardware = sim::load_hardware("tpu-v3");
    return sim::tpu_config(hardware);
}

/// SystemC elaborates once per process.
models::Tpu& tpu_v3() {
    static models::Tpu only("tpu", config());
    return only;
}

trace::Trace one_op(trace::OpKind kind, const std::vector<std::vector<std::int64_t>>& inputs,
                    std::vector<std::int64_t> output, trace::Attributes attributes) {
    trace::Trace trace;
    trace::Op op;
    op.kind = kind;
    op.attributes = std::move(attributes);
    const auto add = [&](std::vector<std::int64_t> shape) {
        trace::Tensor tensor;
        tensor.shape = std::move(shape);
        return trace.add(std::move(tensor));
    };
    for (const std::vector<std::int64_t>& shape : inputs) op.inputs.push_back(add(shape));
    op.outputs.push_back(add(std::move(output)));
    trace.add(std::move(op));
    return trace;
}

/// The logits of a GPT of 2,048 tokens, hidden 768 and a vocabulary of 50,304.
trace::Trace logits() {
    return one_op(trace::OpKind::matmul, {{2048, 768}, {768, 50304}}, {2048, 50304}, {});
}

trace::Trace cube(std::int64_t size, trace::ElementType type = trace::ElementType::f32) {
    trace::Trace trace = one_op(trace::OpKind::matmul, {{size, size}, {size, size}}, {size, size}, {});
    for (trace::Tensor& tensor : trace.tensors) tensor.type = type;
    return trace;
}

/// Bias and GELU (by tanh) of its hidden layer.
trace::Trace bias_gelu() {
    return one_op(
        trace::OpKind::elementwise, {{2048, 3072}, {3072}}, {2048, 3072},
        {{keys::elementwise.expression,
          "t0 = x0 + x1; y0 = 0.5 * t0 * (1 + tanh(0.79788456 * (t0 + 0.044715 * t0 * t0 * t0)))"}});
}

void tpu_timing(benchmark::State& state, const trace::Trace& trace) {
    const target::TpuTarget target = models::target_of(config());
    const lowering::TensorPlacement placement(trace, target);
    const lowering::LoweredOp lowered = lowering::lower(trace, 0, target, placement);
    if (!lowered.supported) return state.SkipWithError(lowered.reason_if_not.c_str());
    tpu::Memory memory;
    placement.allocate(memory, false, lowered.workspace_bytes);
    models::Tpu& tpu = tpu_v3();
    std::uint64_t cycles = 0, instructions = 0, activations = 0;
    for (auto _ : state) {
        const models::TpuResult result = tpu.run(lowered.program, memory);
        cycles += result.cycles;
        instructions += result.instructions;
        activations += tpu.activations();
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(cycles));
    const auto average = [](std::uint64_t sum) {
        return benchmark::Counter(static_cast<double>(sum), benchmark::Counter::kAvgIterations);
    };
    state.counters["cycles"] = average(cycles);
    state.counters["instructions"] = average(instructions);
    state.counters["activations"] = average(activations);
}
BENCHMARK_CAPTURE(tpu_timing, matmul_2048x50304x768, logits())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tpu_timing, matmul_4096x4096x4096, cube(4096))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tpu_timing, bias_gelu_2048x3072, bias_gelu())->Unit(benchmark::kMillisecond);

void tpu_functional(benchmark::State& state, const trace::Trace& trace) {
    const target::TpuTarget target = models::target_of(config());
    const lowering::TensorPlacement placement(trace, target);
    const lowering::LoweredOp lowered = lowering::lower(trace, 0, target, placement);
    if (!lowered.supported) return state.SkipWithError(lowered.reason_if_not.c_str());
    tpu::Memory memory;
    placement.allocate(memory, true, lowered.workspace_bytes);
    models::TpuRunOptions options;
    options.mode = models::TpuMode::functional;
    std::uint64_t macs = 0;
    for (auto _ : state) macs += tpu_v3().run(lowered.program, memory, options).macs;
    state.SetItemsProcessed(static_cast<std::int64_t>(macs));
}
BENCHMARK_CAPTURE(tpu_functional, matmul_1024x1024x1024_bf16, cube(1024, trace::ElementType::bf16))
    ->Unit(benchmark::kMillisecond);

void tpu_lowering(benchmark::State& state, const trace::Trace& trace) {
    const target::TpuTarget target = models::target_of(config());
    for (auto _ : state) benchmark::DoNotOptimize(lowering::lower(trace, 0, target).supported);
}
BENCHMARK_CAPTURE(tpu_lowering, matmul_2048x50304x768, logits())->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(tpu_lowering, bias_gelu_2048x3072, bias_gelu())->Unit(benchmark::kMillisecond);

}  // namespace
