// Thread blocks per SM by the rules of the CUDA programming guide, written out anew with the limits of its
// table "Technical Specifications per Compute Capability": no toolkit is needed.
#include <algorithm>
#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "models/gpu/occupancy.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"

using namespace heddle;

namespace {

/// A column of the table; shared memory in KiB.
struct Specification {
    const char* hardware;
    unsigned blocks, warps, threads, shared_per_sm, shared_per_block;
    unsigned shared_unit,
        reserved_shared;  ///< bytes: allocation granularity; what the system takes of each block
};
constexpr Specification kTable[] = {
    {"v100-sxm", 32, 64, 2048, 96, 96, 256, 0},       // 7.0
    {"a100-sxm", 32, 64, 2048, 164, 163, 128, 1024},  // 8.0
    {"rtx-a6000", 16, 48, 1536, 100, 99, 128, 1024},  // 8.6
    {"h100-sxm", 32, 64, 2048, 228, 227, 128, 1024},  // 9.0
};

std::uint64_t up(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/// 65536 registers, a quarter for each of four schedulers, given to warps in units of 256.
std::uint64_t blocks_of(const Specification& gpu, std::uint64_t threads, std::uint64_t registers,
                        std::uint64_t shared) {
    const std::uint64_t warps = up(threads, 32) / 32;
    const std::uint64_t warps_by_registers = 16384 / up(registers * 32, 256) * 4;
    const std::uint64_t bytes = up(shared + gpu.reserved_shared, gpu.shared_unit);
    std::uint64_t blocks = std::min<std::uint64_t>(gpu.blocks, gpu.warps / warps);
    blocks = std::min({blocks, warps_by_registers / warps, std::uint64_t{gpu.threads} / (warps * 32)});
    if (bytes != 0)
        blocks = std::min<std::uint64_t>(blocks, (std::uint64_t{gpu.shared_per_sm} << 10) / bytes);
    return blocks;
}

}  // namespace

TEST_CASE("occupancy follows the rules and limits of the CUDA programming guide") {
    std::size_t compared = 0, refused = 0;
    for (const Specification& row : kTable) {
        const models::gpu::GpuConfig gpu = sim::gpu_config(sim::load_hardware(row.hardware));
        CAPTURE(row.hardware);
        CHECK(gpu.sm.ctas == row.blocks);
        CHECK(gpu.sm.warps == row.warps);
        CHECK(gpu.sm.threads == row.threads);
        CHECK(gpu.sm.registers == 65536);
        CHECK(gpu.shared.bytes == row.shared_per_sm << 10);
        CHECK(gpu.shared.bytes_per_cta == row.shared_per_block << 10);
        for (unsigned threads = 16; threads <= 1024; threads += 24) {
            for (unsigned registers = 16; registers <= 255; registers += 12) {
                for (const std::uint64_t kib : {0u, 3u, 11u, 24u, 40u, 75u, row.shared_per_block}) {
                    CAPTURE(threads, registers, kib);
                    const std::uint64_t expected = blocks_of(row, threads, registers, kib << 10);
                    ++compared;
                    if (expected == 0) {
                        ++refused;
                        REQUIRE_THROWS_AS(models::gpu::occupancy(gpu, threads, registers, kib << 10), Error);
                        continue;
                    }
                    REQUIRE(models::gpu::occupancy(gpu, threads, registers, kib << 10).ctas_per_sm ==
                            expected);
                }
            }
        }
    }
    CHECK(compared > 20000);
    CHECK(refused > 100);
}
