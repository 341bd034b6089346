// Tensor-core GEMM of the kernel library on a machine with an A100's numbers, against recorded cuBLAS times.
// On an A100 cuBLAS uses the same instructions (cp.async, ldmatrix, mma.sync), so the kernels are comparable
// tile for tile.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "isa/ptx/parser.h"
#include "models/gpu/gpu.h"
#include "workloads/kernels/gemm_choice.h"

using namespace heddle;
using namespace heddle::models::gpu;

namespace {

GpuConfig a100_sxm() {
    GpuConfig c;
    c.compute_capability = 80;
    c.clock = 1.41e9;
    c.sm.count = 108;
    c.pipelines[ptx::Operation::fp32].port = Unit::fma_heavy;
    c.tensor.f16 = 1024;
    c.tensor.mma_sync_efficiency = 1;
    c.tensor.latency = 17;
    c.shared.bytes = 164 << 10;
    c.shared.bytes_per_cta = 163 << 10;
    c.l1.unified_bytes = 192 << 10;
    c.l1.latency = 33;
    c.l2.bytes = 40ull << 20;
    c.crossbar.latency = 50;
    c.l2.latency = 69;
    c.l2.fill_latency = 39;
    c.l2.bytes_per_cycle = 52;  // 5.4 TB/s measured (gpu-benches, gpu-l2-cache/a100_80.txt)
    c.hbm.bandwidth = 2.039e12;
    c.hbm.latency = 254e-9;
    c.hbm.pseudo_channels = 2;
    return c;
}

/// Median of the three software stacks, seconds; 0 when the file or the shape is not there.
double recorded_seconds(const std::string& shape) {
    const char* data = std::getenv("HEDDLE_DATA");
    const std::string folder = data != nullptr ? data : std::string(HEDDLE_SOURCE_DIR) + "/../shared/data";
    std::ifstream file(folder + "/gemm/a100_sxm_bf16.csv");
    std::string line;
    while (std::getline(file, line)) {
        if (line.rfind(shape + ",", 0) != 0) continue;
        std::istringstream values(line.substr(shape.size() + 1));
        std::vector<double> times;
        for (std::string value; std::getline(values, value, ',');) {
            if (!value.empty()) times.push_back(std::stod(value));
        }
        std::sort(times.begin(), times.end());
        return times[times.size() / 2] * 1e-6;
    }
    return 0;
}

double simulated_seconds(Gpu& gpu, std::uint32_t m, std::uint32_t n, std::uint32_t k, unsigned tile_m,
                         unsigned tile_n) {
    const auto target = target_of(gpu.config());
    kernels::GemmMmaSpec spec;
    spec.compute_capability = 80;
    spec.tile = kernels::complete_tile(tile_m, tile_n, 32, target);
    spec.raster_log2 = kernels::choose_raster_log2(n, tile_n);
    spec.full_k = true;
    spec.epilogue.output = kernels::ElementType::bf16;
    spec.epilogue.vector_width = 8;
    const kernels::GeneratedKernel generated = kernels::generate_gemm_mma(spec);
    const kernels::Extent3 grid = kernels::gemm_mma_grid(spec, m, n);
    ptx::GlobalMemory memory;
    const std::uint64_t bases[3] = {memory.allocate("a", 2ull * m * k, false),
                                    memory.allocate("b", 2ull * n * k, false),
                                    memory.allocate("d", 2ull * m * n, false)};
    const auto arguments = kernels::order_arguments(
        generated, {kernels::pointer_argument("a", 0), kernels::pointer_argument("b", 1),
                    kernels::pointer_argument("d", 2), kernels::integer_argument("m", m),
                    kernels::integer_argument("n", n), kernels::integer_argument("k", k),
                    kernels::integer_argument("lda", k), kernels::integer_argument("ldb", n),
                    kernels::integer_argument("ldc", n), kernels::integer_argument("ldd", n)});
    const ptx::LoadedKernel kernel(ptx::parse_shared(generated.text, "gemm.ptx"), generated.entry, 80);
    std::vector<std::vector<std::byte>> values;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        std::uint64_t bits = arguments[i].bits;
        if (arguments[i].pointer)
            bits = arguments[i].buffer == kernels::kNoBuffer ? 0 : bases[arguments[i].buffer];
        values.emplace_back(generated.parameters[i].bytes);
        std::memcpy(values.back().data(), &bits, values.back().size());
    }
    ptx::LaunchContext launch;
    launch.kernel = &kernel;
    launch.grid = {grid[0], grid[1], grid[2]};
    launch.block = {generated.block[0], generated.block[1], generated.block[2]};
    launch.dynamic_shared_bytes = generated.dynamic_shared_bytes;
    launch.parameters = ptx::pack_parameters(kernel, values);
    launch.memory = &memory;
    launch.mode = ptx::Mode::timing;
    launch.compute_capability = 80;
    RunOptions options;
    options.resident = {
        {bases[0], 2ull * m * k, false}};  // as recorded: activations warm, weights from memory
    return gpu.run(launch, options).seconds;
}

}  // namespace

TEST_CASE("GEMMs with cuBLAS's tiles take the time recorded on an A100") {
    Gpu gpu("gpu", a100_sxm());
    struct Shape {
        std::uint32_t m, n, k;
        unsigned tile_m, tile_n;
    };
    for (const Shape& s : {Shape{512, 8192, 1024, 128, 256},
                           {1024, 1024, 1024, 128, 128},
                           {2048, 1024, 1024, 128, 128},
                           {512, 1024, 1024, 128, 64}}) {
        const std::string shape = std::to_string(s.m) + "," + std::to_string(s.n) + "," + std::to_string(s.k);
        const double recorded = recorded_seconds(shape);
        if (recorded == 0) {
            std::cout << "skipped: no recorded time of GEMM " << shape << "\n";
            continue;
        }
        INFO(shape);
        CHECK(simulated_seconds(gpu, s.m, s.n, s.k, s.tile_m, s.tile_n) == Approx(recorded).epsilon(0.08));
    }
}
