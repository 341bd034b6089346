// What the timing model is told: machine operations, registers, dependences, synchronisation.
#include <catch2/catch.hpp>

#include "launch.h"

using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

constexpr const char* kRegisters =
    ".reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<20>; .reg .b64 %rd<8>; .reg .f32 %f<20>; .reg .f64 "
    "%d<4>; .shared .b8 buffer[512];\n";

InstructionInfo info_of(const std::string& instruction, unsigned compute_capability = 90) {
    const LoadedKernel kernel(
        parse_shared(module_text(".param .u64 x", std::string(kRegisters) + instruction + " ret;")), "test",
        compute_capability);
    return kernel.instructions()[0];
}

unsigned registers_of(const std::string& text, const std::string& entry) {
    return LoadedKernel(parse_shared(text), entry).registers_per_thread();
}

}  // namespace

TEST_CASE("Machine operations as ptxas emits them", "[ptx][info]") {
    // Counted in the machine code that ptxas 13.0 writes for sm_90, see instruction_table.cpp.
    const std::pair<const char*, unsigned> counts[] = {{"add.s32 %r1, %r2, %r3;", 1},
                                                       {"add.s64 %rd1, %rd2, %rd3;", 2},
                                                       {"mul.lo.s32 %r1, %r2, %r3;", 1},
                                                       {"mul.wide.s32 %rd1, %r2, %r3;", 1},
                                                       {"mul.lo.s64 %rd1, %rd2, %rd3;", 4},
                                                       {"mul.hi.u64 %rd1, %rd2, %rd3;", 7},
                                                       {"mad.lo.s64 %rd1, %rd2, %rd3, %rd1;", 4},
                                                       {"div.u32 %r1, %r2, %r3;", 18},
                                                       {"rem.s32 %r1, %r2, %r3;", 21},
                                                       {"setp.lt.s32 %p1, %r1, %r2;", 1},
                                                       {"shl.b64 %rd1, %rd2, %r1;", 2},
                                                       {"lop3.b32 %r1, %r2, %r3, %r4, 0x96;", 1},
                                                       {"bfe.u32 %r1, %r2, %r3, %r4;", 5},
                                                       {"bfe.u32 %r1, %r2, 4, 5;", 2},
                                                       {"popc.b64 %r1, %rd1;", 3},
                                                       {"fma.rn.f32 %f1, %f2, %f3, %f4;", 1},
                                                       {"ex2.approx.ftz.f32 %f1, %f2;", 1},
                                                       {"rsqrt.approx.f32 %f1, %f2;", 4},
                                                       {"sin.approx.f32 %f1, %f2;", 2},
                                                       {"div.full.f32 %f1, %f2, %f3;", 8},
                                                       {"tanh.approx.f32 %f1, %f2;", 1},
                                                       {"ex2.approx.f16x2 %r1, %r2;", 2},
                                                       {"add.f64 %d1, %d2, %d3;", 1},
                                                       {"fma.rn.bf16x2 %r1, %r2, %r3, %r4;", 1},
                                                       {"cvt.rn.bf16x2.f32 %r1, %f1, %f2;", 1},
                                                       {"cvt.f32.f16 %f1, %h1;", 1},
                                                       {"cvt.u32.u64 %r1, %rd1;", 0},
                                                       {"mov.b64 %rd1, {%r1, %r2};", 0},
                                                       {"mov.u32 %r1, %r2;", 0},
                                                       {"mov.u32 %r1, 5;", 1},
                                                       {"ld.param.u64 %rd1, [x];", 0},
                                                       {"cvta.to.global.u64 %rd1, %rd2;", 0},
                                                       {"ld.global.f32 %f1, [%rd1];", 1},
                                                       {"bar.sync 0;", 1},
                                                       {"membar.cta;", 1},
                                                       {"shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", 1}};
    for (const auto& [instruction, count] : counts) {
        INFO(instruction);
        CHECK(info_of(instruction).machine_operations == count);
    }
    // m16n8k16 is two instructions on Turing.
    const std::string mma =
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
        "{%f0,%f1,%f2,%f3};";
    CHECK(info_of(mma, 75).machine_operations == 2);
    CHECK(info_of(mma, 80).machine_operations == 1);
    CHECK(info_of(mma).tensor_macs == 16 * 8 * 16);
    CHECK(info_of(mma).tensor_type == Type::f16);
    CHECK(info_of(mma).pipeline == Pipeline::tensor);
    CHECK(info_of(mma).reads.size() == 10);
    CHECK(info_of(mma).writes.size() == 4);
}

TEST_CASE("Dependences, memory and synchronisation of instructions", "[ptx][info]") {
    const InstructionInfo guarded = info_of("@%p1 add.s32 %r1, %r2, 5;");
    CHECK(guarded.reads.size() == 2);  // %r2 and the guard
    CHECK(guarded.writes.size() == 1);
    const InstructionInfo load = info_of("ld.global.v4.f32 {%f1, %f2, %f3, _}, [%rd1+16];");
    CHECK(load.reads_memory);
    CHECK(!load.writes_memory);
    CHECK(!load.bypass_l1);
    CHECK(load.space == StateSpace::global);
    CHECK(load.reads.size() == 1);
    CHECK(load.writes.size() == 3);
    CHECK(info_of("ld.global.cg.f32 %f1, [%rd1];").bypass_l1);
    CHECK(info_of("ld.volatile.global.f32 %f1, [%rd1];").bypass_l1);
    CHECK(info_of("ld.relaxed.gpu.global.f32 %f1, [%rd1];").bypass_l1);
    CHECK(!info_of("ld.global.nc.f32 %f1, [%rd1];").bypass_l1);
    const InstructionInfo atomic = info_of("red.shared.add.u32 [%r1], %r2;");
    CHECK((atomic.atomic && atomic.reads_memory && atomic.writes_memory));
    CHECK(atomic.space == StateSpace::shared);
    const InstructionInfo copy = info_of("cp.async.cg.shared.global [%r1], [%rd1], 16;");
    CHECK((copy.async_copy && copy.bypass_l1));
    CHECK(info_of("cp.async.commit_group;").synchronisation == Synchronisation::async_copy_commit);
    CHECK(info_of("cp.async.wait_group 3;").synchronisation == Synchronisation::async_copy_wait);
    CHECK(info_of("cp.async.wait_group 3;").async_copy_groups_left == 3);
    CHECK(info_of("cp.async.wait_all;").async_copy_groups_left == 0);
    CHECK(info_of("bar.sync 0;").synchronisation == Synchronisation::cta_barrier);
    CHECK(info_of("bar.warp.sync -1;").synchronisation == Synchronisation::none);
    CHECK(info_of("fence.acq_rel.gpu;").synchronisation == Synchronisation::memory_fence);
    CHECK(info_of("exit;").synchronisation == Synchronisation::exit);
    CHECK(info_of("ld.param.u64 %rd1, [x];").pipeline == Pipeline::none);
    CHECK(!info_of("ld.param.u64 %rd1, [x];").reads_memory);
    CHECK(info_of("tanh.approx.f32 %f1, %f2;").pipeline == Pipeline::special);
    CHECK(info_of("add.f64 %d1, %d2, %d3;").pipeline == Pipeline::fp64);
}

TEST_CASE("Registers per thread", "[ptx][info]") {
    // ptxas 13.0 -v for sm_90, rounded up to the allocation unit of 8 registers.
    const std::string text = read_text(std::string(HEDDLE_SOURCE_DIR) + "/tests/isa/ptx/cuda/kernels.ptx");
    CHECK(registers_of(text, "saxpy") == 16);         // ptxas: 10
    CHECK(registers_of(text, "reduce_sum") == 16);    // 12
    CHECK(registers_of(text, "histogram") == 16);     // 12
    CHECK(registers_of(text, "collatz") == 16);       // 14
    CHECK(registers_of(text, "compact") == 16);       // 14
    CHECK(registers_of(text, "softmax_rows") == 32);  // 30
    CHECK(LoadedKernel(parse_shared(text), "sgemm_tiled").static_shared_bytes() == 2112);
    CHECK(LoadedKernel(parse_shared(text), "transpose").static_shared_bytes() == 4224);
    // Forty values that live at once, one pointer of two registers, and R1, the stack pointer.
    std::string body = ".reg .b32 %v<40>; .reg .b64 %x, %y; ld.param.u64 %x, [x]; add.u64 %y, %x, 64;\n";
    for (int i = 0; i < 40; ++i)
        body += "ld.global.u32 %v" + std::to_string(i) + ", [%y+" + std::to_string(4 * i) + "];\n";
    for (int i = 0; i < 40; ++i)
        body += "st.global.u32 [%y+" + std::to_string(4 * i) + "], %v" + std::to_string(39 - i) + ";\n";
    CHECK(registers_of(module_text(".param .u64 x", body + "ret;"), "test") == 43);
    // Launch bounds cap them: 1024 threads, one CTA per SM, 65536 registers.
    const std::string bounded =
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry test(.param .u64 x) .maxntid 1024 "
        ".minnctapersm 2 {" +
        body + "ret; }";
    CHECK(registers_of(bounded, "test") == 32);
}
