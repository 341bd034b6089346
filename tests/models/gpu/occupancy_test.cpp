// CTAs per SM against figures of NVIDIA's occupancy calculator (CUDA_Occupancy_Calculator.xls and
// cudaOccupancyMaxActiveBlocksPerMultiprocessor), recomputed by hand from its published rules.
#include "models/gpu/occupancy.h"

#include <catch2/catch.hpp>

#include "isa/common/error.h"

using namespace heddle::models::gpu;

namespace {

struct Case {
    unsigned threads, registers;
    std::uint64_t shared;
    unsigned ctas;
    const char* limit;
};

void check_cases(const GpuConfig& config, std::initializer_list<Case> cases) {
    for (const Case& c : cases) {
        INFO(c.threads << " threads, " << c.registers << " registers, " << c.shared << " bytes");
        const Occupancy result = occupancy(config, c.threads, c.registers, c.shared);
        CHECK(result.ctas_per_sm == c.ctas);
        CHECK(result.limited_by == c.limit);
    }
}

}  // namespace

TEST_CASE("occupancy on compute capability 9.0") {
    check_cases(GpuConfig{},
                {
                    {1024, 32, 0, 2, "warps"},
                    {256, 32, 0, 8, "warps"},
                    {256, 33, 0, 6, "registers"},  // 40 registers: 1,280 a warp, 12 warps a sub-core
                    {256, 64, 0, 4, "registers"},
                    {256, 128, 0, 2, "registers"},
                    {256, 255, 0, 1, "registers"},  // 8,160 registers a warp: 2 warps a sub-core
                    {384, 168, 0, 1, "registers"},  // 5,376 a warp, 3 warps a sub-core, 12 in all
                    {32, 16, 0, 32, "ctas"},
                    {128, 32, 48 << 10, 4, "shared memory"},  // 49 KiB each of 228
                    {128, 128, 100 << 10, 2, "shared memory"},
                    {128, 128, 227 << 10, 1, "shared memory"},
                    {96, 32, 0, 21, "warps"},
                });
}

TEST_CASE("occupancy on compute capability 8.6") {
    GpuConfig config;  // RTX A6000
    config.sm.warps = 48;
    config.sm.threads = 1536;
    config.sm.ctas = 16;
    config.shared.bytes = 100 << 10;
    config.shared.bytes_per_cta = 99 << 10;
    config.l1.unified_bytes = 128 << 10;
    check_cases(config, {
                            {256, 40, 0, 6, "warps"},
                            {1024, 32, 0, 1, "warps"},
                            {128, 32, 24 << 10, 4, "shared memory"},
                            {64, 32, 0, 16, "ctas"},
                            {512, 48, 0, 2, "registers"},  // 1,536 a warp, 10 warps a sub-core, 40 in all
                        });
}

TEST_CASE("what no SM can hold is refused, with the reason") {
    REQUIRE_THROWS_WITH(occupancy(GpuConfig{}, 1024, 128, 0), Catch::Contains("registers"));
    REQUIRE_THROWS_WITH(occupancy(GpuConfig{}, 128, 32, 228 << 10), Catch::Contains("232448"));
    REQUIRE_THROWS_AS(occupancy(GpuConfig{}, 1025, 32, 0), heddle::Error);
    REQUIRE_THROWS_AS(occupancy(GpuConfig{}, 32, 256, 0), heddle::Error);
}

TEST_CASE("L1 keeps what the carve-out for shared memory leaves") {
    // H100: 256 KiB together; carve-outs of 0, 8, 16, 32, 64, 100, 132, 164, 196 and 228 KiB.
    REQUIRE(occupancy(GpuConfig{}, 1024, 32, 0).l1_bytes == (256u - 8) << 10);
    REQUIRE(occupancy(GpuConfig{}, 128, 128, 40 << 10).l1_bytes == (256u - 164) << 10);  // 4 x 41 KiB
    REQUIRE(occupancy(GpuConfig{}, 128, 128, 227 << 10).l1_bytes == (256u - 228) << 10);
}
