// Products of tcgen05 on an SM: the cycles that their rate asks for, whatever the mode, and thread blocks that share tensor memory.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"

using namespace heddle;
using namespace heddle::models::gpu;

namespace {

GpuConfig blackwell() {
    GpuConfig config;
    config.compute_capability = 100;
    config.tensor.f16 = 4096;
    config.tensor.tf32 = 2048;
    config.tensor.f8 = config.tensor.s8 = 8192;
    config.tensor.f4 = 16384;
    return config;
}

struct Kind {
    std::string name = "kind::f16";
    std::uint32_t types = 1u << 4 | 1u << 7 | 1u << 10;  ///< f32 sums of bf16
    unsigned m = 128, n = 256;
    bool a_in_tensor_memory = false;
};

// `turns` times: one thread issues `products` products, commits them, and waits for the commit.
std::string product_loop(const Kind& kind, unsigned products, unsigned turns) {
    std::string body;
    for (unsigned i = 0; i < products; ++i)
        body += "tcgen05.mma.cta_group::1." + kind.name + " [%ta], " + (kind.a_in_tensor_memory ? "[%tb]" : "%da") + ", %db, %id, %p;\n";
    return ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry kernel(.param .u64 p0)\n{\n"
           ".shared .align 1024 .b8 smem[65536]; .shared .align 8 .b64 bar; .shared .b32 slot; .reg .b32 %ta, %tb, %id, %t, %n, %x; .reg .b64 %da, %db; .reg .pred %p, %q, %w;\n"
           "mov.u32 %t, %tid.x; setp.lt.u32 %w, %t, 32; setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared::cta.b64 [bar], 1;\n"
           "@!%w bra ready; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512;\nready: bar.sync 0; ld.shared.b32 %ta, [slot]; add.u32 %tb, %ta, 256;\n"
           "mov.u32 %x, smem; shr.u32 %x, %x, 4; cvt.u64.u32 %da, %x; or.b64 %da, %da, 0x4000404000010000; add.u64 %db, %da, 1024; mov.u32 %id, " +
           std::to_string(kind.types | kind.n / 8 << 17 | kind.m / 16 << 24) +
           "; mov.u32 %n, 0;\nagain: @!%p bra issued;\n" + body +
           "mov.u32 %x, bar; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%x];\nissued: and.b32 %x, %n, 1;\n"
           "wait: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], %x; @!%q bra wait;\nadd.u32 %n, %n, 1; setp.lt.u32 %q, %n, " +
           std::to_string(turns) + "; @%q bra again;\nbar.sync 0; @!%w bra freed; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %ta, 512;\nfreed: ret;\n}\n";
}

double cycles_per_product(GpuTestBench& bench, const Kind& kind) {
    const auto turn = [&](unsigned products) {
        return bench.cycles_per_turn([&](unsigned turns) { return product_loop(kind, products, turns); }, 1, 128, {0}, 2, 4);
    };
    return (turn(24) - turn(8)) / 16;
}

}  // namespace

TEST_CASE("tcgen05.mma takes M N K over the rate of its type, or the time to fetch its operands") {
    GpuTestBench bench(blackwell());
    CHECK(cycles_per_product(bench, {}) == Approx(128 * 256 * 16 / 4096.0).margin(0.2));
    // 128 x 128 at the full rate and 8 KB of operands at 128 bytes per cycle take the same 64 cycles; narrower ones are bound by A.
    CHECK(cycles_per_product(bench, {.n = 128}) == Approx(64).margin(0.2));
    CHECK(cycles_per_product(bench, {.n = 64}) == Approx((128 + 64) * 32 / 128.0).margin(0.2));
    CHECK(cycles_per_product(bench, {.n = 64, .a_in_tensor_memory = true}) == Approx(128 * 64 * 16 / 4096.0).margin(0.2));
    // 64 rows fill half of the lanes.
    CHECK(cycles_per_product(bench, {.m = 64}) == Approx(128).margin(0.2));
    CHECK(cycles_per_product(bench, {.name = "kind::f8f6f4", .types = 1u << 4}) == Approx(128 * 256 * 32 / 8192.0).margin(0.2));
    CHECK(cycles_per_product(bench, {.name = "kind::tf32", .types = 1u << 4 | 2u << 7 | 2u << 10}) == Approx(128 * 256 * 8 / 2048.0).margin(0.2));
}

TEST_CASE("thread blocks of one SM take turns at tensor memory, in the same cycles with values and without") {
    GpuConfig config = blackwell();
    config.sm.count = 1;
    config.sm.gpcs = 1;
    GpuTestBench bench(config);
    const std::string text = product_loop({}, 8, 3);
    const KernelResult one = bench.run(text, 1, 128, {0});
    // Three blocks fit, and each wants all columns: one after the other.
    const KernelResult three = bench.run(text, 3, 128, {0});
    CHECK(three.cycles > 2 * one.cycles - 2000);
    CHECK(three.tensor_macs == 3 * 3 * 8 * 128ull * 256 * 16);
    const KernelResult timing = bench.run(text, 3, 128, {0}, {}, ptx::Mode::timing);
    CHECK(timing.cycles == three.cycles);
    RunOptions every;
    every.tick_every_cycle = every.audit = true;
    CHECK(bench.run(text, 3, 128, {0}, every).cycles == three.cycles);
}
