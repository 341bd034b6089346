// What wgmma refuses, what a timing model is told of it, and special numbers.
#include <catch2/catch.hpp>

#include "compare_modes.h"
#include "isa/common/error.h"
#include "isa/numerics/formats.h"
#include "wgmma_harness.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

const std::string kDense = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, ";
const std::string kSparse = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%d0, %d1, %d2, %d3}, ";

Warpgroup small_group() {
    Warpgroup group;
    group.d_registers = 4;
    group.d.resize(kThreads * 4);
    group.a_descriptor = placement(Majorness::k, 1, 0).descriptor();
    group.b_descriptor = placement(Majorness::k, 2, 4096).descriptor();
    return group;
}

std::string problem_of(const Warpgroup& group, const std::string& instruction, unsigned threads = kThreads) {
    try {
        group.run(instruction, threads);
    } catch (const Error& error) {
        return error.what();
    }
    return "none";
}

bool mentions(const std::string& text, const std::string& part) {
    UNSCOPED_INFO(text);
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("wgmma: forms that do not exist", "[ptx][wgmma]") {
    const Warpgroup group = small_group();
    CHECK(problem_of(group, kDense + "%da, %db, %p, 1, 1, 0, 0;") == "none");
    CHECK(problem_of(group, kDense + "%da, %db, !%p, -1, 1, 0, 1;") == "none");
    CHECK(mentions(problem_of(group, kDense + "%da, %db, %p, 1, 0, 0, 0;"), "must be 1 or -1"));
    CHECK(mentions(problem_of(group, kDense + "%da, %db, %p, 1, 1, 2, 0;"), "must be 0 or 1"));
    CHECK(mentions(problem_of(group, kDense + "%da, %db, %p, 1, 1;"), "operand"));
    CHECK(mentions(problem_of(group, kDense + "{%a0, %a1, %a2, %a3}, %db, %p, 1, 1, 0, 0;"), "operand"));
    CHECK(mentions(problem_of(group, kSparse + "%da, %db, %m, 2, %p, 1, 1, 0, 0;"), "must be 0 or 1"));
    CHECK(mentions(problem_of(group,
                              "wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%d0, %d1, %d2, "
                              "%d3}, %da, %db, %p, 1, 1, 0, 0;"),
                   "unsupported form"));
    CHECK(mentions(problem_of(group,
                              "wgmma.mma_async.sync.aligned.m64n40k32.s32.u8.u8 {%d0, %d1, %d2, "
                              "%d3}, %da, %db, %p;"),
                   "unsupported form"));
    CHECK(mentions(problem_of(group,
                              "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%d0, %d1, %d2, "
                              "%d3}, %da, %db, %p, 1, 1, 0, 0;"),
                   "vector of 8"));
    CHECK(mentions(problem_of(group, "wgmma.wait_group.sync.aligned -1;"), "must not be negative"));
    std::string text = group.text(kDense + "%da, %db, %p, 1, 1, 0, 0;");
    text.replace(text.find("sm_90a"), 6, "sm_90");
    CHECK_THROWS_WITH(Program(text, "test"), Catch::Contains("sm_90a"));
}

TEST_CASE("wgmma: wrong use at run time", "[ptx][wgmma]") {
    const std::string dense = kDense + "%da, %db, %p, 1, 1, 0, 0;";
    Warpgroup group = small_group();
    CHECK(mentions(problem_of(group, dense, 96), "four warps"));
    CHECK(mentions(
        problem_of(group, "mov.u32 %t, %laneid; setp.eq.u32 %q, %t, 3; selp.b64 %da, 0, %da, %q;\n" + dense),
        "descriptor of wgmma differs"));
    CHECK(mentions(problem_of(group, "mov.u32 %t, %laneid; setp.ne.u32 %p, %t, 3;\n" + dense),
                   "scale-d of wgmma differs"));
    CHECK(mentions(problem_of(group, "mov.u32 %t, %laneid; setp.ne.u32 %q, %t, 3;\n@%q " + dense),
                   "all 32 lanes"));
    // The last of the rows of B ends where shared memory ends.
    group.b_descriptor = encode_descriptor(kSharedBytes - 512, 16, 512, 2);
    CHECK(problem_of(group, dense) == "none");
    group.b_descriptor = encode_descriptor(kSharedBytes - 464, 16, 512, 2);
    CHECK(mentions(problem_of(group, dense), "shared memory at 0x100"));
    // Sparse: chunk with the same element twice; 64 bytes of B along k do not fit into a 32-byte pattern.
    group = small_group();
    group.metadata.assign(kThreads, 0x44444444);
    const std::string sparse = kSparse + "%da, %db, %m, 0, %p, 1, 1, 0, 0;";
    CHECK(problem_of(group, sparse) == "none");
    group.metadata[37] = 0x44344444 | 0x00F00000;
    CHECK(mentions(problem_of(group, sparse), "invalid value 15"));
    group = small_group();
    group.metadata.assign(kThreads, 0x44444444);
    group.b_descriptor = placement(Majorness::k, 1, 4096).descriptor();
    CHECK(mentions(problem_of(group, sparse), "32-byte swizzle"));
}

TEST_CASE("wgmma: infinities, and elements that a sparse A leaves out", "[ptx][wgmma]") {
    Warpgroup group = small_group();
    const std::uint16_t one = 0x3C00, infinity = 0x7C00;
    const Placement a = placement(Majorness::k, 1, 0), b = placement(Majorness::k, 2, 4096);
    // Row 0 of A keeps k = 0 and 1 of every four; B has infinities where k % 4 is 2.
    for (unsigned k = 0; k < 16; ++k) std::memcpy(&group.shared[a.address(2, 0, k)], &one, 2);
    for (unsigned k = 0; k < 32; ++k)
        std::memcpy(&group.shared[b.address(2, 0, k)], k % 4 == 2 ? &infinity : &one, 2);
    group.metadata.assign(kThreads, 0x44444444);
    const std::string sparse = kSparse + "%da, %db, %m, 0, %p, 1, 1, 0, 0;";
    CHECK(std::bit_cast<float>(group.run(sparse)[0]) == 16.0f);
    group.metadata.assign(kThreads, 0x88888888);  // k = 0 and 2
    CHECK(group.run(sparse)[0] == 0x7F800000u);
    // Row 1 of A is zero: 0 times infinity.
    CHECK(group.run(sparse)[4 * 4] == 0x7FFFFFFFu);
}

TEST_CASE("wgmma: what a timing model is told", "[ptx][wgmma]") {
    Warpgroup group = small_group();
    group.d_registers = 64;
    group.d.resize(kThreads * 64);
    const auto info_of = [&](const std::string& instruction) {
        const Program program(group.text(instruction), "test");
        for (const InstructionInfo& info : program.kernel.instructions())
            if (info.asynchronous_tensor) return info;
        return InstructionInfo{};
    };
    const InstructionInfo dense = info_of("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " +
                                          registers("%d", 64) + ", %da, %db, %p, 1, 1, 0, 0;");
    CHECK(dense.pipeline == Pipeline::tensor);
    CHECK(4 * dense.tensor_macs == 64 * 128 * 16);
    CHECK(4 * dense.tensor_operand_bytes == (64 + 128) * 32);
    CHECK(dense.tensor_type == Type::bf16);
    CHECK(dense.writes.size() == 64);
    CHECK(dense.reads.size() == 64 + 3);  // D, two descriptors, scale-d
    const InstructionInfo fresh =
        info_of("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " + registers("%d", 64) + ", " +
                registers("%a", 4) + ", %db, 0, 1, 1, 0;");
    CHECK(fresh.reads.size() == 4 + 1);  // D is not read
    CHECK(4 * fresh.tensor_operand_bytes == 128 * 32);
    const InstructionInfo sparse = info_of("wgmma.mma_async.sp.sync.aligned.m64n128k64.s32.s8.s8 " +
                                           registers("%d", 64) + ", %da, %db, %m, 0, %p;");
    CHECK(4 * sparse.tensor_macs == 64 * 128 * 32);
    CHECK(4 * sparse.tensor_operand_bytes == 64 * 32 + 128 * 64);
    const Program program(group.text("wgmma.wait_group.sync.aligned 3;"), "test");
    std::vector<Synchronisation> found;
    for (const InstructionInfo& info : program.kernel.instructions()) {
        const Synchronisation s = info.synchronisation;
        if (s != Synchronisation::wgmma_fence && s != Synchronisation::wgmma_commit &&
            s != Synchronisation::wgmma_wait)
            continue;
        if (found.size() == 1) CHECK(info.async_copy_groups_left == 3);
        found.push_back(s);
    }
    CHECK(found == std::vector<Synchronisation>{Synchronisation::wgmma_fence, Synchronisation::wgmma_wait,
                                                Synchronisation::wgmma_commit, Synchronisation::wgmma_wait});
}

TEST_CASE("wgmma: no warp passes a wait before the others have read their operands", "[ptx][wgmma]") {
    // Warp 0 clears shared memory as soon as its wait is over; the other warps come to the product later.
    Warpgroup group = small_group();
    const std::uint16_t two = 0x4000;
    for (unsigned at = 0; at < 8192; at += 2) std::memcpy(&group.shared[at], &two, 2);
    const std::string instruction =
        "mov.u32 %t, %tid.x; shr.u32 %t, %t, 5; mul.lo.u32 %z, %t, 50; setp.eq.u32 %q, %z, 0; @%q bra now;\n"
        "later: sub.u32 %z, %z, 1; setp.ne.u32 %q, %z, 0; @%q bra later;\n"
        "now: wgmma.fence.sync.aligned;\n" +
        kDense +
        "%da, %db, %p, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
        "setp.ne.u32 %q, %t, 0; @%q bra done; mov.u32 %s, tile; mov.u32 %v, 0;\n"
        "clear: st.shared.u32 [%s], %v; add.u32 %s, %s, 4; setp.lt.u32 %q, %s, 8192; @%q bra clear; done:\n";
    for (const std::uint32_t d : group.run(instruction)) REQUIRE(std::bit_cast<float>(d) == 16 * 2.0f * 2.0f);
    // A warp that never comes.
    const std::string absent = "mov.u32 %t, %tid.x; setp.ge.u32 %q, %t, 96; @%q exit;\n";
    CHECK(mentions(problem_of(group, absent), "wgmma.wait_group of warpgroup 0: 3 of 4 warps"));
}

TEST_CASE("wgmma: both modes take the same way", "[ptx][wgmma]") {
    Warpgroup group = small_group();
    group.scale_d = 0;
    const std::string plain = kDense + "%da, %db, %p, 1, 1, 0, 0;";
    // A branch that depends on a result: then the product is computed in timing mode too.
    const std::string steering = plain +
                                 "\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
                                 "setp.gt.f32 %q, %d0, 0f40000000; @!%q bra over; bar.sync 1; over:\n";
    const std::uint16_t two = 0x4000;
    for (unsigned at = 0; at < 8192; at += 2) std::memcpy(&group.shared[at], &two, 2);
    for (const std::string& instruction : {plain, steering}) {
        const Program program(group.text(instruction), "test");
        Device functional, timing;
        std::uint64_t d = 0;
        const LaunchContext first = group.launch(program, functional, d, Mode::functional, kThreads);
        const LaunchContext second = group.launch(program, timing, d, Mode::timing, kThreads);
        const ModeComparison comparison = compare_modes(first, second);
        CHECK(comparison.differences == 0);
        CHECK(comparison.steps > 500);
    }
}
