// Products of warpgroups on the tensor cores.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"

using namespace heddle;
using namespace heddle::models::gpu;

namespace {

// One warpgroup: turns of four products m64n256k16, committed, and a wait for all of them.
std::string product_loop(unsigned turns) {
    std::string d;
    for (unsigned i = 0; i < 128; ++i) d += (i == 0 ? "%d" : ", %d") + std::to_string(i);
    const std::string product =
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" + d + "}, %da, %db, 1, 1, 1, 0, 0;\n";
    return ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry kernel(.param .u64 p0)\n{\n"
           ".shared .align 1024 .b8 smem[1024]; .reg .f32 %d<128>; .reg .b64 %da, %db; .reg .b32 %n; .reg "
           ".pred %p;\n"
           "mov.u32 %n, smem; mov.u32 %n, 0; mov.u64 %da, 0; mov.u64 %db, 0;\nagain: "
           "wgmma.fence.sync.aligned;\n" +
           product + product + product + product +
           "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\nadd.u32 %n, %n, 1; "
           "setp.lt.u32 %p, %n, " +
           std::to_string(turns) + "; @%p bra again; ret;\n}\n";
}

}  // namespace

TEST_CASE("m64n256k16 takes 128 cycles of all four tensor cores, and the wait waits for them") {
    // 2 * 64 * 256 * 16 floating-point operations at 4,096 per cycle and SM (H100: 989 TFLOP/s on 132 SMs).
    GpuTestBench bench;
    const double cycles = bench.cycles_per_turn(product_loop, 1, 128, {0}, 4, 12);
    CHECK(cycles >= 4 * 128);
    CHECK(cycles < 4 * 128 + 100);
}
