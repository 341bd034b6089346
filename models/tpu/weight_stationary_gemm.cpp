#include "models/tpu/weight_stationary_gemm.h"

#include <algorithm>

namespace heddle::models {

tpu::CoreProgram weight_stationary_folds(const MatrixUnitConfig& config, std::uint32_t m, std::uint32_t n,
                                         std::uint32_t k) {
    tpu::CoreProgram program;
    for (std::uint32_t column = 0; column < n; column += config.columns) {
        for (std::uint32_t row = 0; row < k; row += config.rows) {
            tpu::PushWeights push;
            push.rows = std::min(config.rows, k - row);
            push.columns = std::min(config.columns, n - column);
            push.stride = push.columns * 2;
            tpu::Matmul matmul;
            matmul.rows = m;
            matmul.depth = push.rows;
            matmul.columns = push.columns;
            matmul.stride = push.rows * 2;
            matmul.accumulate = row > 0;
            program.instructions.push_back({push, {}, {}, 0});
            program.instructions.push_back({matmul, {}, {}, 0});
        }
    }
    program.instructions.push_back({tpu::Halt{}, {}, {}, 0});
    return program;
}

MatrixUnitBench::MatrixUnitBench(const sc_core::sc_module_name& name, ClockDomain& clock,
                                 const MatrixUnitConfig& config)
    : sc_module(name),
      clock_(clock),
      unit_("unit", clock, config, 1u << 20),
      flags_("flags", 1, 1),
      memory_("memory", {1ull << 40, 1ull << 40}) {
    unit_.flags(flags_);
    unit_.memory(memory_);
}

Cycle MatrixUnitBench::run(const tpu::CoreProgram& program, const std::vector<Cycle>& visible) {
    clock_.restart();
    unit_.reset();
    flags_.reset();
    memory_.reset();
    std::uint64_t sequence = 0;
    for (const tpu::Instruction& instruction : program.instructions) {
        if (tpu::unit_of(instruction.operation) == tpu::UnitKind::sequencer) continue;
        const Cycle at = visible.empty() ? 0 : visible[sequence];
        // An instruction issued in cycle t shows in t + 1: cycle 0 itself is reached by an issue in cycle -1.
        unit_.queue_for(instruction.operation).push(at - 1, {&instruction, {}, sequence});
        unit_.wake(at);
        ++sequence;
    }
    clock_.run();
    return unit_.statistics().last_array_cycle;
}

}  // namespace heddle::models
