// What the timing model is told of matrix instructions.
#include <catch2/catch.hpp>

#include "../launch.h"
#include "isa/common/error.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

InstructionInfo info_of(const std::string& instruction) {
    const std::string registers = ".reg .b32 %r<40>; .reg .f32 %f<8>; .reg .f64 %d<16>; .reg .b64 %x;\n";
    const LoadedKernel kernel(parse_shared(module_text(".param .u64 x", registers + instruction + " ret;")),
                              "test");
    return kernel.instructions()[0];
}

}  // namespace

TEST_CASE("Multiply-accumulates and types of matrix instructions", "[ptx][matrix][info]") {
    struct Row {
        const char* instruction;
        unsigned macs;
        Type type;
        std::size_t reads, writes;
    };
    // m n k each; of a sparse A half; m8n8k4 in f16 four times.
    const Row rows[] = {
        {"mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e5m2.f16 {%r0,%r1}, {%r2,%r3,%r4,%r5}, {%r6,%r7}, "
         "{%r8,%r9};",
         16 * 8 * 32, Type::e4m3, 8, 2},
        {"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%d0,%d1,%d2,%d3}, "
         "{%d4,%d5,%d6,%d7,%d8,%d9,%d10,%d11}, {%d12,%d13,%d14,%d15}, {%d0,%d1,%d2,%d3};",
         16 * 8 * 16, Type::f64, 16, 4},
        {"mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, "
         "{%r8,%r9}, {%r10,%r11,%r12,%r13};",
         16 * 8 * 256, Type::b1, 10, 4},
        {"mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16 {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r6,%r7}, "
         "{%r8,%r9,%r10,%r11};",
         4 * 8 * 8 * 4, Type::f16, 8, 4},
        {"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.u8.s32 {%r0,%r1,%r2,%r3}, "
         "{%r4,%r5,%r6,%r7}, {%r8,%r9,%r10,%r11}, {%r12,%r13,%r14,%r15}, %r16, 0;",
         16 * 8 * 32, Type::s8, 13, 4},
        {"wmma.mma.sync.aligned.row.col.m32n8k16.f32.f16 {%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7}, "
         "{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, {%r8,%r9,%r10,%r11,%r12,%r13,%r14,%r15}, {%r16,%r17,%r18,%r19};",
         32 * 8 * 16, Type::f16, 20, 8},
    };
    for (const Row& row : rows) {
        const InstructionInfo info = info_of(row.instruction);
        INFO(row.instruction);
        CHECK(info.tensor_macs == row.macs);
        CHECK(info.tensor_type == row.type);
        CHECK(info.pipeline == Pipeline::tensor);
        CHECK(info.reads.size() == row.reads);
        CHECK(info.writes.size() == row.writes);
        CHECK((!info.reads_memory && !info.writes_memory));
    }
}

TEST_CASE("Memory sides of matrix instructions", "[ptx][matrix][info]") {
    const InstructionInfo load =
        info_of("wmma.load.b.sync.aligned.col.m16n16k16.shared.u8 {%r0,%r1}, [%x], %r2;");
    CHECK((load.reads_memory && !load.writes_memory && load.space == StateSpace::shared));
    CHECK(load.reads.size() == 2);  // address and stride
    CHECK(load.tensor_macs == 0);
    const InstructionInfo store = info_of("wmma.store.d.sync.aligned.row.m8n8k32.s32 [%x], {%r0,%r1};");
    CHECK((!store.reads_memory && store.writes_memory && store.space == StateSpace::generic));
    CHECK(store.reads.size() == 3);
    CHECK(store.writes.empty());
    const InstructionInfo matrix = info_of("stmatrix.sync.aligned.m8n8.x2.b16 [%x], {%r0,%r1};");
    CHECK((matrix.writes_memory && matrix.space == StateSpace::shared &&
           matrix.pipeline == Pipeline::load_store));
    CHECK(info_of("movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;").pipeline == Pipeline::load_store);
}

TEST_CASE("Matrix forms that do not exist are errors of the text", "[ptx][matrix]") {
    // Each is one that ptxas 13.0 rejects for sm_90a.
    for (const char* wrong : {
             "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16 "
             "{%f0,%f1,%f2,%f3},{%r0,%r1,%r2,%r3},{%r4,%r5},{%r6,%r7};",
             "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32 "
             "{%r0,%r1,%r2,%r3},{%r4,%r5},{%r6,%r7},{%f0,%f1,%f2,%f3,%f4,%f5,%f6,%f7};",
             "mma.sync.aligned.m16n8k32.row.col.s32.s8.s4.s32 "
             "{%r0,%r1,%r2,%r3},{%r4,%r5,%r6,%r7},{%r8,%r9},{%r0,%r1,%r2,%r3};",
             "wmma.load.a.sync.aligned.col.m8n8k32.global.s4 {%r0},[%x],%r1;",
             "wmma.mma.sync.aligned.row.col.m16n16k16.s32.u8.s8.s32 "
             "{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7},{%r8,%r9},{%r10,%r11},{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7};",
             "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
             "{%f0,%f1,%f2,%f3},{%r0,%r1},{%r2,%r3},{%f0,%f1,%f2,%f3},%r4,%r5;",
         }) {
        INFO(wrong);
        CHECK_THROWS_AS(info_of(wrong), Error);
    }
}
