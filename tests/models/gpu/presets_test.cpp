// Tiny blocks, split-K with semaphores, locks and barriers of the whole grid end on every GPU preset, with
// the right values, and take the same cycles when every block looks at every cycle.
#include <catch2/catch.hpp>
#include <cstring>

#include "gpu_test_bench.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "waiting_kernels.h"

using namespace heddle;
using namespace heddle::models::gpu;

namespace {

class Preset {
  public:
    explicit Preset(const std::string& name) : bench_(sim::gpu_config(sim::load_hardware(name))) {}

    void run_all() {
        const unsigned sms = bench_.gpu.config().sm.count;
        {
            const unsigned blocks = 3 * sms + 1, threads = 8 * blocks;
            const auto [sum, unused] = run("blocks of 8 threads", eight_thread_blocks(), blocks, 8, {}, 32);
            CHECK(sum[0] == threads * (threads - 1) / 2);
        }
        {
            // More blocks than the machine holds, so that later slices start when earlier ones have ended.
            const unsigned slices = 4, tiles = 2 * sms;
            const auto [d, semaphores] = run("split-K", serial_split_k(), slices * tiles, 64, {slices});
            for (unsigned tile = 0; tile < tiles; ++tile) {
                REQUIRE(d[tile] == 0 * 27 + 1 * 9 + 2 * 3 + 3);  // in the order of the slices
                REQUIRE(semaphores[tile] == slices);
            }
        }
        {
            const auto [counter, seen] = run("barrier of the grid", grid_barrier(), sms, 128);
            CHECK(counter[0] == sms);
            for (unsigned block = 0; block < sms; ++block) REQUIRE(seen[block] == sms);
        }
        {
            const auto [lock, sum] = run("a lock for each lane", lock_of_each_lane(), 4, 32);
            CHECK(lock[0] == 0);
            CHECK(sum[0] == 128);
        }
    }

  private:
    static constexpr std::size_t kWords = 1024;

    std::vector<std::uint32_t> words_at(std::uint64_t address) {
        std::vector<std::uint32_t> words(kWords);
        bench_.memory.read(address, std::as_writable_bytes(std::span(words)));
        return words;
    }

    /// What the two buffers hold after a run with values; the other modes must take the same cycles.
    std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>> run(
        const std::string& name, const std::string& body, unsigned blocks, unsigned threads,
        const std::vector<std::uint64_t>& more = {}, unsigned shared = 0) {
        INFO(name);
        const std::string text = kernel_text(body, 2 + static_cast<unsigned>(more.size()), shared);
        const std::uint64_t first = bench_.memory.allocate(name, 4 * kWords, true),
                            second = bench_.memory.allocate(name + ", 2", 4 * kWords, true);
        std::vector<std::uint64_t> arguments{first, second};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto again = [&](ptx::Mode mode, bool every_cycle) {
            const std::vector<std::byte> zeros(4 * kWords);
            bench_.memory.write(first, zeros);
            bench_.memory.write(second, zeros);
            RunOptions options;
            options.tick_every_cycle = every_cycle;
            options.limit = 20'000'000;
            return bench_.run(text, blocks, threads, arguments, options, mode);
        };
        const KernelResult timing = again(ptx::Mode::timing, false);
        CHECK(again(ptx::Mode::timing, true).cycles == timing.cycles);
        CHECK(again(ptx::Mode::functional, false).cycles == timing.cycles);
        return {words_at(first), words_at(second)};
    }

    GpuTestBench bench_;
};

}  // namespace

// A process holds one GPU: a case for each.
TEST_CASE("kernels that wait in loops end on the H100 SXM") {
    Preset("h100-sxm").run_all();
}
TEST_CASE("kernels that wait in loops end on the H800 PCIe") {
    Preset("h800-pcie").run_all();
}
TEST_CASE("kernels that wait in loops end on the H200 SXM") {
    Preset("h200-sxm").run_all();
}
TEST_CASE("kernels that wait in loops end on the A100 SXM") {
    Preset("a100-sxm").run_all();
}
TEST_CASE("kernels that wait in loops end on the A100 PCIe") {
    Preset("a100-pcie").run_all();
}
TEST_CASE("kernels that wait in loops end on the V100 SXM") {
    Preset("v100-sxm").run_all();
}
TEST_CASE("kernels that wait in loops end on the RTX A6000") {
    Preset("rtx-a6000").run_all();
}
TEST_CASE("kernels that wait in loops end on the B200 SXM") {
    Preset("b200-sxm").run_all();
}
TEST_CASE("kernels that wait in loops end on the RTX PRO 6000") {
    Preset("rtx-pro-6000").run_all();
}
