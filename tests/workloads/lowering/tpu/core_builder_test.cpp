// Random instructions on shared regions: the flags that CoreBuilder works out leave no race, in any mix of
// units.
#include "workloads/lowering/tpu/core_builder.h"

#include <catch2/catch.hpp>
#include <random>

#include "isa/tpu/race_detector.h"

using namespace heddle;
using namespace heddle::lowering::on_tpu;

namespace {

std::shared_ptr<const tpu::VectorKernel> copy_kernel() {
    auto kernel = std::make_shared<tpu::VectorKernel>();
    kernel->name = "copy";
    kernel->inputs = 1;
    kernel->nodes.resize(1);
    kernel->nodes[0].op = tpu::VectorOp::input;
    kernel->outputs.resize(1);
    return kernel;
}

}  // namespace

TEST_CASE("flags order every access to shared regions") {
    const target::TpuTarget target;
    tpu::Limits limits;
    limits.vmem_bytes = 1 << 16;
    const auto kernel = copy_kernel();
    for (unsigned seed = 0; seed < 60; ++seed) {
        INFO("seed " << seed);
        std::mt19937 random(seed);
        const auto pick = [&](unsigned count) {
            return std::uniform_int_distribution<unsigned>(0, count - 1)(random);
        };
        CoreBuilder core(target, 0);
        std::vector<Tile> tiles;
        for (int i = 0; i < 5; ++i) tiles.push_back(core.new_tile(tpu::ElementType::fp32, 16, 32));
        Region* const hbm = core.new_region();
        bool pushed[2] = {false, false};
        for (int step = 0; step < 150; ++step) {
            const Tile& tile = tiles[pick(5)];
            const unsigned unit = pick(2);
            tpu::Dma dma;
            dma.vmem = static_cast<std::int64_t>(tile.address);
            dma.hbm = static_cast<std::int64_t>(pick(3)) * 512;
            dma.row_bytes = 512;
            switch (pick(8)) {
                case 0:
                    core.dma(dma, tile.region, hbm);
                    break;
                case 1:
                    dma.kind = tpu::DmaKind::store;
                    core.dma(dma, tile.region, hbm);
                    break;
                case 2: {
                    const Tile& other = tiles[pick(5)];
                    core.vector(kernel, 4, 32, {tile}, {other});
                    break;
                }
                case 3:
                    core.push(unit, tile, 8, 32, false);
                    core.matmul(unit, tiles[pick(5)], 4, 8, 32, 0, false);
                    pushed[unit] = true;
                    break;
                // Parts: each unit has a quarter of its own.
                case 4:
                case 5:
                    if (pushed[unit]) core.pop(unit, tile.at(4 * unit, 0), 4, 32, 0, true);
                    break;
                case 6:
                    dma.vmem = static_cast<std::int64_t>(tile.at(8, 0).address);
                    core.dma(dma, tile.region, hbm, true);
                    break;
                default:
                    if (pick(10) == 0) core.wait_for_all();
                    core.transpose(tiles[pick(5)], tile.at(12, 0), 4, 4, true);
            }
        }
        tpu::Program program;
        program.cores.push_back(core.finish());
        tpu::Memory memory;
        memory.allocate_at("all", 0, 1 << 16, true);
        tpu::RaceDetector detector(program, limits);
        REQUIRE_NOTHROW(tpu::execute(program, memory, limits, &detector));
    }
}
