// What textures and surfaces cost: the latency of L1, the rate of the texture units, and the sectors of the
// texels that are read.
#include "isa/ptx/texture.h"

#include <catch2/catch.hpp>
#include <string>

#include "gpu_test_bench.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

namespace {

struct TextureBench : GpuTestBench {
    /// A texture, or where it is asked for a surface, of floats: 256 to a row, 64 rows.
    std::uint64_t add(bool filters, bool surface = false,
                      ptx::TextureAddressMode mode = ptx::TextureAddressMode::clamp) {
        ptx::Texture texture;
        texture.image.type = ptx::TexelType::f32;
        texture.image.dimensions = 2;
        texture.image.width = 256;
        texture.image.height = 64;
        texture.image.pitch = 1024;
        texture.image.plane_pitch = std::uint64_t{1024} * 64;
        texture.image.address = memory.allocate("texels", texture.image.plane_pitch, true);
        texture.address_modes.fill(mode);
        texture.filters = filters;
        return surface ? table.add_surface(texture.image) : table.add(texture);
    }
    KernelResult run_with(const std::string& text, unsigned block, std::uint64_t object,
                          ptx::Mode mode = ptx::Mode::functional) {
        TestLaunch test = launch(text, 1, block, {object}, mode);
        test.context.textures = &table;
        return gpu.run(test.context, {});
    }
    double turn(const std::function<std::string(unsigned)>& text, unsigned block, std::uint64_t object) {
        const Cycle few = run_with(text(50), block, object).cycles,
                    many = run_with(text(250), block, object).cycles;
        return static_cast<double>(many - few) / 200;
    }
    ptx::TextureTable table;
};

/// x is the lane plus a half, y is `y`.
std::string once(const std::string& instruction, const std::string& y = "0f41240000") {
    return kernel_text(
        "    ld.param.u64 %rd1, [p0];\n    mov.u32 %r1, %laneid;\n    cvt.rn.f32.u32 %f1, %r1;\n    add.f32 "
        "%f1, %f1, 0f3F000000;\n    mov.f32 %f2, " +
            y + ";\n    shl.b32 %r2, %r1, 2;\n    mov.u32 %r3, 10;\n" + instruction,
        1);
}

std::function<std::string(unsigned)> loop_around(const std::string& instruction) {
    return [instruction](unsigned turns) {
        return once("    mov.u32 %r9, " + std::to_string(turns) + ";\n    mov.f32 %f1, 0f41240000;\nloop:\n" +
                    instruction +
                    "    add.s32 %r9, %r9, -1;\n    setp.ne.s32 %p1, %r9, 0;\n    @%p1 bra loop;\n");
    };
}

}  // namespace

TEST_CASE("a texel that L1 holds comes with its latency, at the rate of the texture units") {
    TextureBench bench;
    const std::uint64_t nearest = bench.add(false), linear = bench.add(true);
    // Texels of zeros are the coordinates of the next read.
    const auto chase = loop_around("    tex.2d.v4.f32.f32 {%f1, %f5, %f6, %f7}, [%rd1, {%f1, %f1}];\n");
    CHECK(bench.turn(chase, 1, nearest) == Approx(32).epsilon(0.05));
    // A quad of texels for each of 4 units: a warp takes 8 cycles of the SM.
    const auto many = loop_around("    tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f1, %f2}];\n");
    CHECK(bench.turn(many, 1024, linear) == Approx(32 * 8).epsilon(0.02));
    GpuConfig config;
    CHECK(config.texture.quads_per_cycle == 4);
}

TEST_CASE("texels are read through L1, a sector for what lies side by side") {
    TextureBench bench;
    const std::uint64_t nearest = bench.add(false), linear = bench.add(true),
                        surface = bench.add(false, true);
    const std::uint64_t border = bench.add(true, false, ptx::TextureAddressMode::border);
    const KernelResult nothing = bench.run_with(once(""), 32, nearest);
    const auto read = [&](const std::string& instruction, std::uint64_t object,
                          const std::string& y = "0f41240000") {
        const KernelResult result = bench.run_with(once(instruction, y), 32, object);
        return std::pair<std::uint64_t, Cycle>{result.l1.sectors - nothing.l1.sectors,
                                               result.cycles - nothing.cycles};
    };
    const std::string plain =
        "    tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f1, %f2}];\n    add.f32 %f8, %f4, %f5;\n";
    const auto row = read(plain, nearest);
    CHECK(row.first == 4);    // 32 floats
    CHECK(row.second > 300);  // from DRAM
    // Coordinates in the middle of texels have a neighbour to the right, of weight 0, and the row below.
    CHECK(read(plain, linear).first == 2 * 5);
    const auto outside = read(plain, border, "0fC2C80000");  // -100
    CHECK(outside.first == 0);
    CHECK(outside.second >= 32);
    CHECK(read("    tld4.r.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f1, %f2}];\n    add.f32 %f8, %f4, "
               "%f5;\n",
               nearest)
              .first == 2 * 5);
    const auto asked = read("    txq.width.b32 %r5, [%rd1];\n    add.s32 %r6, %r5, 1;\n", nearest);
    CHECK(asked.first == 0);
    CHECK(asked.second >= 30);
    CHECK(
        read("    suld.b.2d.b32.trap %r5, [%rd1, {%r2, %r3}];\n    add.s32 %r6, %r5, 1;\n", surface).first ==
        4);
    const KernelResult stored =
        bench.run_with(once("    sust.b.2d.b32.trap [%rd1, {%r2, %r3}], {%r1};\n"), 32, surface);
    CHECK(stored.l1_store_sectors == 4);
    const KernelResult added =
        bench.run_with(once("    sured.b.add.2d.u32.trap [%rd1, {%r2, %r3}], %r1;\n"), 32, surface);
    CHECK(added.atomic_sectors == 4);
    // Both steps have taken place: lane 5 stored 5 and added 5.
    std::array<std::byte, 4> value{};
    const ptx::TexelImage& image = *bench.table.surface(surface);
    bench.memory.read(image.address + 10 * image.pitch + 5 * 4, value);
    CHECK(value[0] == std::byte{10});
}

TEST_CASE("lanes all over an image wait for as many lines as they read") {
    TextureBench bench;
    const std::uint64_t linear = bench.add(true);
    // Lane n reads at (8 n + 8, 2 n + 2): four lines or so each, which no other reads.
    const std::string scattered =
        "    cvt.rn.f32.u32 %f3, %r1;\n    fma.rn.f32 %f1, %f3, 0f41000000, 0f41000000;\n    fma.rn.f32 %f2, "
        "%f3, 0f40000000, 0f40000000;\n"
        "    tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f1, %f2}];\n    add.f32 %f8, %f4, %f5;\n";
    const KernelResult nothing = bench.run_with(once(""), 32, linear);
    const KernelResult one = bench.run_with(once(scattered), 32, linear),
                       all = bench.run_with(once(scattered), 1024, linear);
    CHECK(one.l1.sectors - nothing.l1.sectors >= 4 * 31);
    CHECK(all.l1.sectors == Approx(32.0 * static_cast<double>(one.l1.sectors)).epsilon(0.1));
    CHECK(all.cycles < 3 * one.cycles);
    // The addresses alone take the same time.
    CHECK(bench.run_with(once(scattered), 1024, linear, ptx::Mode::timing).cycles == all.cycles);
}
