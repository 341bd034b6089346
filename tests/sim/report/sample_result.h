// A small run for the tests of the reports: two matmuls, one elementwise op, one estimated and recorded op.
#pragma once

#include "sim/run/assemble/result.h"

namespace heddle::sim {

inline RunResult sample_result() {
    RunResult result;
    result.workload = "mlp";
    result.hardware = "h100-sxm";
    result.hardware_description = "132 SMs at 1980 MHz";
    result.step_time_us = 200;
    result.device_busy_us = 170;
    result.launch_gap_us = 10;
    result.communication_us = 20;
    result.division = {200, 170, 20, 0, 10, 0, 0};
    result.ops = {
        // 2 x 4096^3 x 2 = 274.9 GFLOP in 100 us: 2.749 PFLOP/s. Made up, so that the arithmetic is easy.
        {"matmul 4096x4096x4096 bf16", "matmul", "forward", 2, 100, 90.0, 274877906944.0, 2e8, "tensor",
         Fidelity::cycle, 14},
        {"matmul 1x4096x4096 bf16", "matmul", "backward", 1, 50, 60.0, 33554432.0, 1e8, "dram bandwidth",
         Fidelity::cycle, 10},
        {"relu <4096> & \"more\"", "elementwise", "forward", 3, 30, std::nullopt, 0, 6e7, "dram bandwidth",
         Fidelity::estimated},
        {"all-reduce", "collective", "communication", 1, 20, 20.0, 0, 4e6, "recorded", Fidelity::unknown},
    };
    KernelResult matmul;
    matmul.name = "matmul_128x128";
    matmul.op_name = "matmul 4096x4096x4096 bf16";
    matmul.kind = "matmul";
    matmul.phase = "forward";
    matmul.recorded_kernel = "sm90_gemm<128, \"x\">";
    matmul.time_us = matmul.end_us = 50;
    matmul.measured_us = 45;
    matmul.cycles = 99000;
    matmul.warp_instructions = 1234567;
    matmul.grid[0] = 132, matmul.grid[1] = 2, matmul.grid[2] = 1;
    matmul.block[0] = 256, matmul.block[1] = matmul.block[2] = 1;
    matmul.registers_per_thread = 168;
    matmul.shared_bytes = 98304;
    matmul.ctas_per_sm = 2;
    matmul.dram_bytes = 1e8;
    matmul.flops = 137438953472.0;
    matmul.bound_by = "tensor";
    matmul.time_by_reason = {{"issued", 0.25}, {"memory", 0.5}, {"barrier", 0.25}};
    matmul.utilisation = {{"tensor", 0.8}};
    KernelResult second = matmul;
    second.start_us = 50;
    second.end_us = 100;
    second.gap_us = 1.25;
    second.measured_us.reset();
    KernelResult relu;
    relu.name = "relu";
    relu.op_name = "relu <4096> & \"more\"";
    relu.kind = "elementwise";
    relu.phase = "forward";
    relu.start_us = 100;
    relu.end_us = 110;
    relu.time_us = 10;
    relu.fidelity = Fidelity::estimated;
    relu.bound_by = "dram bandwidth";
    result.kernels = {matmul, second, relu};
    result.coverage = {0.75, 0.25, 0};
    result.measured_total_us = 160;
    result.utilisation = {{"dram", 0.3}, {"tensor", 0.61}};
    result.notes = {"labels are drawn from a uniform distribution"};
    result.simulation = {1.5, 0, 2469134, 0, 0, 4, true, 2};
    return result;
}

}  // namespace heddle::sim
