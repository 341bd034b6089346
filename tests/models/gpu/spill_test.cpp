// Values that find no register go through L1 to local memory and back.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"

namespace heddle::models::gpu {
namespace {

/// Each thread reads 48 floats, all alive until it multiplies them in another order.
std::string many_values(const std::string& directive) {
    std::string body =
        "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nld.param.u64 %rd1, [p0];\n"
        "add.u64 %rd1, %rd1, %rd2;\nmov.f32 %f100, 0f3F800000;\n";
    const auto f = [](unsigned n) { return "%f" + std::to_string(n); };
    for (unsigned v = 0; v < 48; ++v)
        body += "ld.global.f32 " + f(v) + ", [%rd1+" + std::to_string(256 * v) + "];\n";
    for (unsigned v = 0; v < 48; ++v)
        body += "fma.rn.f32 %f100, %f100, " + f(v * 7 % 48) + ", " + f(v) + ";\n";
    std::string text = kernel_text(body + "st.global.f32 [%rd1], %f100;\n", 1);
    return text.insert(text.find("\n{") + 1, directive);
}

}  // namespace

TEST_CASE("spilled registers cost accesses to local memory, exactly those of the text", "[models_gpu]") {
    GpuTestBench bench;
    const std::uint64_t buffer = bench.memory.allocate("values", 64 << 10, true);
    std::vector<float> values(16 << 10);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 13) / 16;
    const auto run = [&](const std::string& directive, ptx::Mode mode, ptx::LoadedKernel::Spills& spills) {
        bench.memory.write(buffer, std::as_bytes(std::span(values)));
        const TestLaunch launch =
            bench.launch(many_values(directive), 1, 64, {buffer}, mode, 0, ptx::Assembly::scheduled);
        spills = launch.kernel->spills();
        return bench.gpu.run(launch.context);
    };
    const auto results = [&] {
        std::vector<std::byte> bytes(256);
        bench.memory.read(buffer, bytes);
        return bytes;
    };
    ptx::LoadedKernel::Spills none, some;
    const KernelResult free = run("", ptx::Mode::functional, none);
    const auto expected = results();
    const KernelResult tight = run(".maxnreg 32\n", ptx::Mode::functional, some);
    CHECK(results() == expected);
    CHECK(none.stack_bytes == 0);
    CHECK(free.spill_load_sectors + free.spill_store_sectors == 0);
    REQUIRE(some.stack_bytes >= 4 * (48 - 32));
    // Two warps; four bytes of 32 lanes are four sectors.
    CHECK(tight.spill_store_sectors == 2 * some.store_bytes);
    CHECK(tight.spill_load_sectors == 2 * some.load_bytes);
    CHECK(tight.l1.sectors == free.l1.sectors + tight.spill_load_sectors + tight.spill_store_sectors);
    CHECK(tight.cycles > free.cycles);
    CHECK(tight.l2.requests == free.l2.requests);  // L1 keeps them
    const KernelResult timing = run(".maxnreg 32\n", ptx::Mode::timing, some);
    CHECK(timing.cycles == tight.cycles);
}

}  // namespace heddle::models::gpu
