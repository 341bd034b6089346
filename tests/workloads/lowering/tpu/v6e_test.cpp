// Matrix products on a TPU v6e against measured device times.
//
// The machine is sim/hardware/tpu-v6e.yaml. Fitted, each to rows that show it alone: HBM's efficiency and the
// launch to products of one row, the rate at which weights are shifted in to products of 32 to 128, the clock
// to the largest ones. That loading and computing add up when all fits VMEM shows in the measurements
// themselves.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "op_check.h"

using namespace heddle;
using namespace heddle::test;

namespace {

models::TpuConfig v6e() {
    models::TpuConfig config;
    config.name = "tpu-v6e";
    config.cores = 1;
    config.matrix.per_core = 4;
    config.matrix.rows = config.matrix.columns = 256;
    config.matrix.weight_rows_per_cycle = 2;
    config.clock_hertz = 1.5e9;
    config.vmem.bytes = 128ull << 20;
    config.vmem.read_bytes_per_cycle = config.vmem.write_bytes_per_cycle = 65536;
    config.dma.bytes_per_cycle = 4096;
    config.hbm.bandwidth = 1638e9;
    config.launch_seconds = 0.8e-6;
    return config;
}

struct Row {
    std::int64_t m, k, n;
    double microseconds;
};

double simulated(models::Tpu& tpu, const Row& row) {
    const auto bf16 = trace::ElementType::bf16;
    const trace::Trace trace = OpBuilder(trace::OpKind::matmul)
                                   .input({row.m, row.k}, bf16)
                                   .input({row.k, row.n}, bf16)
                                   .output({row.m, row.n}, bf16)
                                   .done()
                                   .trace;
    const target::TpuTarget target = target_of(tpu.config());
    const lowering::TensorPlacement placement(trace, target);
    lowering::TpuLoweringOptions options;
    options.whole_operands = true;
    options.hbm_bytes_per_cycle = 983;
    options.hbm_latency_cycles = 532;
    options.weight_rows_per_cycle = 2;
    const lowering::LoweredOp lowered = lowering::lower(trace, 0, target, placement, options);
    REQUIRE(lowered.supported);
    tpu::Memory memory;
    placement.allocate(memory, false, lowered.workspace_bytes);
    return (tpu.run(lowered.program, memory).seconds + tpu.config().launch_seconds) * 1e6;
}

}  // namespace

TEST_CASE("matrix products on a TPU v6e") {
    models::Tpu tpu("tpu", v6e());
    // Measured device times, published as validation data of PyTorchSim.
    for (const Row& row :
         {Row{1, 8192, 8192, 92.929}, Row{1, 8192, 57344, 638.241}, Row{32, 28672, 8192, 321.169},
          Row{128, 8192, 8192, 97.078}, Row{128, 4096, 28672, 167.799}}) {
        INFO(row.m << " x " << row.n << " x " << row.k << ", bound by HBM");
        CHECK(simulated(tpu, row) == Approx(row.microseconds).epsilon(0.03));
    }
    for (const Row& row :
         {Row{32, 4096, 4096, 30.282}, Row{256, 8192, 2048, 39.244}, Row{512, 2048, 16384, 92.931},
          Row{1024, 2048, 16384, 135.871}, Row{1024, 1024, 1024, 8.800}}) {
        INFO(row.m << " x " << row.n << " x " << row.k << ", operands brought to VMEM first");
        CHECK(simulated(tpu, row) == Approx(row.microseconds).epsilon(0.04));
    }
    for (const Row& row :
         {Row{1024, 8192, 8192, 183.802}, Row{4096, 4096, 4096, 193.4}, Row{8192, 8192, 8192, 1534}}) {
        INFO(row.m << " x " << row.n << " x " << row.k << ", bound by the arrays");
        CHECK(simulated(tpu, row) == Approx(row.microseconds).epsilon(0.07));
    }

    const char* const given = std::getenv("HEDDLE_DATA");
    const std::string data = given != nullptr ? given : HEDDLE_SOURCE_DIR "/../shared/data";
    std::ifstream file(data + "/gemm/tpu_v6e_bf16.csv");
    if (!file) {
        std::cout << "skipped: " << data << "/gemm/tpu_v6e_bf16.csv is not there\n";
        return;
    }
    std::string line;
    std::getline(file, line);
    double error = 0;
    int rows = 0;
    while (std::getline(file, line)) {
        long m = 0, k = 0, n = 0;
        Row row{};
        REQUIRE(std::sscanf(line.c_str(), "%ld,%ld,%ld,%lf", &m, &k, &n, &row.microseconds) == 4);
        row.m = m;
        row.k = k;
        row.n = n;
        error += std::fabs(simulated(tpu, row) / row.microseconds - 1);
        ++rows;
    }
    std::cout << "TPU v6e: mean absolute error " << 100 * error / rows << " % over " << rows << " products\n";
    CHECK(rows >= 60);
    CHECK(error / rows < 0.04);
}
