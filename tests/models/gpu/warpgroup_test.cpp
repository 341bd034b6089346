// Products of warpgroups on the tensor cores, against the tables of Luo et al., "Benchmarking and Dissecting
// the Nvidia Hopper GPU Architecture" (arXiv 2402.13499), measured on an H800.
#include <array>
#include <catch2/catch.hpp>
#include <set>

#include "gpu_test_bench.h"
#include "isa/ptx/handlers/matrix_descriptor.h"

using namespace heddle;
using namespace heddle::models::gpu;

namespace {

struct Product {
    unsigned n = 256;
    bool a_in_registers = false, sparse = false;
    std::string between = {};  ///< instructions between two products
};

std::string list_of(const std::string& name, unsigned count) {
    std::string text;
    for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "%" : ", %") + name + std::to_string(i);
    return "{" + text + "}";
}

std::string text_of(const Product& p) {
    const std::string k = p.sparse ? "32" : "16";
    std::string text = p.sparse ? "wgmma.mma_async.sp.sync.aligned." : "wgmma.mma_async.sync.aligned.";
    text += "m64n" + std::to_string(p.n) + "k" + k + ".f32.bf16.bf16 " + list_of("d", p.n / 2) + ", ";
    text += (p.a_in_registers ? list_of("a", 4) : "%da") + ", %db, ";
    if (p.sparse) text += "%m, 0, ";
    return text + "1, 1, 1, " + (p.a_in_registers ? "0;\n" : "0, 0;\n");
}

// `warpgroups` issue `products` products, commit them, wait for all of them, `turns` times.
std::string product_loop(const Product& p, unsigned products, unsigned turns) {
    std::string body;
    for (unsigned i = 0; i < products; ++i) body += text_of(p) + p.between;
    return ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry kernel(.param .u64 p0)\n{\n"
           ".shared .align 1024 .b8 smem[49152]; .reg .f32 %d<128>; .reg .b32 %a<4>, %x<8>; .reg .b64 %da, "
           "%db; .reg .b32 %n, %t, %m; .reg .pred %p;\n"
           "mov.u32 %t, %tid.x; shl.b32 %t, %t, 4; mov.u32 %n, smem; add.u32 %t, %t, %n; mov.u32 %n, 0; "
           "mov.b32 %m, 0x44444444; mov.u64 %da, 0; mov.u64 %db, 0;\nagain: wgmma.fence.sync.aligned;\n" +
           body +
           "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\nadd.u32 %n, %n, 1; "
           "setp.lt.u32 %p, %n, " +
           std::to_string(turns) + "; @%p bra again; ret;\n}\n";
}

// Cycles of one more product in a group.
double cycles_per_product(GpuTestBench& bench, const Product& product, unsigned warpgroups = 1) {
    const auto turn = [&](unsigned products) {
        return bench.cycles_per_turn([&](unsigned turns) { return product_loop(product, products, turns); },
                                     1, 128 * warpgroups, {0}, 2, 4);
    };
    return (turn(24) - turn(8)) / 16 / warpgroups;
}

}  // namespace

TEST_CASE("wgmma takes the cycles measured for every N, A from shared memory and from registers") {
    struct Row {
        unsigned n;
        double shared, registers;
    };
    // Luo et al., latency of dense wgmma m64nNk16 by N.
    constexpr std::array kMeasured{Row{256, 128, 128}, Row{128, 64, 64}, Row{64, 32, 32},
                                   Row{32, 24, 16},    Row{16, 20, 13},  Row{8, 18, 13}};
    GpuTestBench bench;
    for (const Row& row : kMeasured) {
        INFO("N = " << row.n);
        CHECK(cycles_per_product(bench, {row.n}) == Approx(row.shared).margin(0.2));
        CHECK(cycles_per_product(bench, {row.n, true}) == Approx(row.registers).margin(0.2));
    }
}

TEST_CASE("sparse wgmma is limited by its operands: 144 cycles with A from shared memory") {
    // No verified measurement: what the bytes need. A compressed to 64 x 16 and B of 32 x 256, two bytes
    // each, at 128 bytes per cycle; multiplying takes 128 cycles, as the dense product of half the depth.
    GpuTestBench bench;
    CHECK(cycles_per_product(bench, {256, false, true}) == Approx(144).margin(0.2));
    CHECK(cycles_per_product(bench, {256, true, true}) == Approx(128).margin(0.2));
}

TEST_CASE("two warpgroups share the tensor cores") {
    GpuTestBench bench;
    CHECK(cycles_per_product(bench, {256}, 2) == Approx(128).margin(0.2));
    CHECK(cycles_per_product(bench, {64}, 2) == Approx(32).margin(0.2));
}

TEST_CASE("a wait for one product takes issue, product and tail") {
    // Fit of FlashGPU-Sim's authors: 17 to issue, 66 (A from registers: 64) after the last multiplication.
    GpuTestBench bench;
    const auto turn = [&](const Product& product) {
        return bench.cycles_per_turn([&](unsigned turns) { return product_loop(product, 1, turns); }, 1, 128,
                                     {0}, 4, 12);
    };
    const double shared = turn({256}), registers = turn({256, true});
    CHECK(shared - registers == Approx(66 - 64).margin(0.2));
    CHECK(shared >= 17 + 128 + 66);
    CHECK(shared < 17 + 128 + 66 + 40);  // fence, commit, wait, counter and branch
    CHECK(turn({256}) - turn({64}) == Approx(128 - 32).margin(0.2));
}

TEST_CASE("accesses to shared memory slow products that use all of its bandwidth, and no others") {
    GpuTestBench bench;
    // 128 threads read 16 bytes each: 16 cycles of shared memory for each product.
    const std::string reads = "ld.shared.v4.b32 {%x0, %x1, %x2, %x3}, [%t];\n";
    CHECK(cycles_per_product(bench, {64, false, false, reads}) == Approx(32 + 16).margin(1));
    // 128 cycles of multiplying against 80 of fetching leave room for 16.
    CHECK(cycles_per_product(bench, {256, false, false, reads}) == Approx(128).margin(0.5));
}

TEST_CASE("all canonical layouts of wgmma operands are free of bank conflicts") {
    // What is read together: eight rows of 16 bytes (K-major), 16 bytes of each of eight k (MN-major).
    for (const unsigned swizzle : {16u, 32u, 64u, 128u}) {
        for (const ptx::Majorness majorness : {ptx::Majorness::k, ptx::Majorness::mn}) {
            ptx::MatrixDescriptor matrix;
            matrix.start = 1024;
            matrix.swizzle_bytes = static_cast<std::uint8_t>(swizzle);
            matrix.leading = 2048;
            matrix.stride = 8 * swizzle;
            for (unsigned chunk = 0; chunk < 2; ++chunk) {
                std::set<std::uint32_t> banks;
                for (unsigned i = 0; i < 8; ++i) {
                    const std::uint32_t address =
                        majorness == ptx::Majorness::k
                            ? ptx::element_address(matrix, majorness, 2, i, 8 * chunk)
                            : ptx::element_address(matrix, majorness, 2, 8 * chunk, i);
                    banks.insert(address / 16 % 8);
                }
                INFO("swizzle " << swizzle << ", chunk " << chunk);
                CHECK(banks.size() == 8);
            }
        }
    }
}
