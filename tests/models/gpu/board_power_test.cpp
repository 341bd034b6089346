// The power of a board that streams and multiplies, beside what others read off real ones (RRZE gpu-benches,
// gpu-roofline: kernels that load floats from memory, for each one some fused multiply-adds).
#include <catch2/catch.hpp>
#include <vector>

#include "models/gpu/gpu_config.h"
#include "models/gpu/kernel_result.h"
#include "models/gpu/power.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"

using namespace heddle;
using namespace heddle::models::gpu;

namespace {

struct Reading {
    double gigabytes, teraflops;  ///< per second
    double low, high;             ///< watts, by board
    bool fp64 = false;
};

/// Counters of one second of it: a warp's load of 128 bytes comes with three instructions for addresses.
KernelResult second_of(const Reading& reading) {
    KernelResult result;
    result.seconds = 1;
    const double bytes = reading.gigabytes * 1e9, products = reading.teraflops * 1e12 / 2 / 32;
    const double loads = bytes / (reading.fp64 ? 256 : 128);
    const auto count = [](double value) { return static_cast<std::uint64_t>(value); };
    result.machine_instructions = count(products + 4 * loads);
    result.pipeline_instructions[static_cast<std::size_t>(
        reading.fp64 ? ptx::Pipeline::fp64 : ptx::Pipeline::fp32)] = count(products);
    result.pipeline_instructions[static_cast<std::size_t>(ptx::Pipeline::integer)] = count(3 * loads);
    result.wavefronts = bytes / 128;
    result.l2.sectors = count(bytes / 32);
    result.dram.bytes = count(bytes);
    return result;
}

void check_board(const std::string& hardware, double clock, const std::vector<Reading>& readings) {
    GpuConfig config = sim::gpu_config(sim::load_hardware(hardware));
    config.clock = clock;
    for (const Reading& reading : readings) {
        INFO(hardware << " at " << reading.gigabytes << " GB/s and " << reading.teraflops << " TFLOP/s");
        const double watts = energy_of(second_of(reading), config).total();
        CHECK(watts > 0.95 * reading.low);
        CHECK(watts < 1.05 * reading.high);
    }
}

}  // namespace

TEST_CASE("board power of an L40S, streaming to multiplying") {
    check_board("l40s", 2.52e9,
                {{844, 0.211, 210, 210},
                 {845, 1.056, 221, 221},
                 {844, 3.588, 236, 236},
                 {844, 6.959, 255, 255},
                 {843, 10.33, 276, 276}});
}

TEST_CASE("board power of an A100, streaming to multiplying") {
    check_board("a100-sxm", 1.41e9,
                {{1372, 0.343, 224, 239},
                 {1363, 1.704, 231, 248},
                 {1322, 8.26, 258, 276},
                 {1285, 13.17, 280, 300},
                 {1150, 16.4, 285, 308},
                 {934, 17.05, 254, 273},
                 {670, 17.58, 228, 247},
                 {370, 18.6, 200, 218}});
}
TEST_CASE("board power of an H200, streaming to multiplying") {
    check_board("h200-sxm", 1.98e9,
                {{3759, 0.94, 572, 572},
                 {3779, 4.724, 597, 597},
                 {3735, 15.874, 650, 650},
                 {3629, 22.683, 675, 675},
                 {2323, 28.456, 558, 558},
                 {2204, 35.812, 583, 583},
                 {1303, 39.404, 495, 495},
                 {642, 41.232, 428, 428},
                 {415, 42.442, 396, 396}});
}
TEST_CASE("board power of an A40, the A6000's chip, as far as its limit allows") {
    check_board("rtx-a6000", 1.74e9,
                {{679, 0.17, 204, 211},
                 {679, 2.886, 218, 227},
                 {678, 6.948, 245, 256},
                 {676, 9.627, 263, 274},
                 {675, 13.66, 284, 299}});
}
TEST_CASE("board power of a V100 PCIe, streaming to multiplying in double precision") {
    check_board("v100-sxm", 1.38e9, {{869, 0.109, 124, 138, true}, {841, 5.99, 220, 249, true}});
}
