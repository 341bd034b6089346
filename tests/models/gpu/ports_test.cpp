// Rates of instructions on the model's devices against the table "Throughput of Native Arithmetic
// Instructions" of the CUDA C++ Programming Guide: results per cycle and multiprocessor.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"

using namespace heddle;
using namespace heddle::models::gpu;

namespace {

enum Device { v100, a100, a6000, h100 };

/// `text`: $d and $e are one of 16 and one of 12 registers, $a and $b are two more; $f, $g, $h are the same
/// in single precision, $x, $y, $z in double precision. `results`: of one thread.
struct Row {
    const char* name;
    const char* text;
    int results;
    double published[4];  // compute capability 7.0, 8.0, 8.6, 9.0; 0: not there
};

constexpr Row kRows[] = {
    {"16-bit floating point", "fma.rn.f16x2 $d, $d, $a, $b", 2, {128, 256, 128, 256}},
    {"bfloat16", "fma.rn.bf16x2 $d, $d, $a, $b", 2, {0, 128, 128, 256}},
    {"32-bit floating point", "fma.rn.f32 $f, $f, $g, $h", 1, {64, 64, 128, 128}},
    {"64-bit floating point", "fma.rn.f64 $x, $x, $y, $z", 1, {32, 32, 2, 64}},
    {"exponential", "ex2.approx.ftz.f32 $f, $f", 1, {16, 16, 16, 16}},
    {"reciprocal square root", "rsqrt.approx.ftz.f32 $f, $f", 1, {16, 16, 16, 16}},
    {"integer addition", "add.s32 $d, $d, $a", 1, {64, 64, 64, 64}},
    {"integer multiply-add", "mad.lo.s32 $d, $d, $a, $b", 1, {64, 64, 64, 64}},
    {"shift", "shf.l.wrap.b32 $d, $d, $a, $b", 1, {64, 64, 64, 64}},
    {"integer minimum", "min.s32 $d, $d, $a", 1, {64, 64, 64, 64}},
    {"minimum", "min.f32 $f, $f, $g", 1, {64, 64, 64, 64}},
    {"logic", "xor.b32 $d, $d, $a", 1, {64, 64, 64, 64}},
    {"bit reversal", "brev.b32 $d, $d", 1, {16, 16, 16, 16}},
    {"most significant bit", "bfind.u32 $d, $d", 1, {16, 16, 16, 16}},
    {"population count", "popc.b32 $d, $d", 1, {16, 16, 16, 16}},
    {"shuffle", "shfl.sync.bfly.b32 $d, $d, 1, 31, 0xffffffff", 1, {32, 32, 32, 32}},
    {"warp reduction", "redux.sync.add.s32 $d, $d, 0xffffffff", 1, {0, 16, 16, 16}},
    {"vote", "vote.sync.ballot.b32 $d, %p2, 0xffffffff", 1, {64, 64, 64, 64}},
    {"sum of absolute differences", "sad.s32 $d, $d, $a, $b", 1, {64, 64, 64, 64}},
    {"conversion of 8-bit integers", "cvt.u32.u8 $d, $d", 1, {64, 64, 64, 64}},
    {"conversion to 64 bits", "cvt.rn.f64.s32 $x, $a", 1, {16, 16, 2, 16}},
    {"conversion to floating point", "cvt.rn.f32.s32 $f, $a", 1, {16, 16, 16, 16}},
};

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
    return text;
}

std::string line(const std::string& pattern, unsigned i) {
    const std::string n = std::to_string(12 + i % 16);
    std::string text = replaced(replaced(replaced(pattern, "$d", "%r" + n), "$a", "%r40"), "$b", "%r41");
    text = replaced(text, "$e", "%r" + std::to_string(28 + i % 12));
    text = replaced(replaced(replaced(text, "$f", "%f" + n), "$g", "%f40"), "$h", "%f41");
    return replaced(replaced(replaced(text, "$x", "%x" + n), "$y", "%x40"), "$z", "%x41");
}

std::string loop(const std::vector<std::string>& patterns, unsigned turns) {
    std::string body = "    .reg .f64 %x<64>;\n    mov.u32 %r10, %laneid;\n    mov.u32 %r1, " +
                       std::to_string(turns) + ";\n    setp.ne.u32 %p2, %r10, 0;\n";
    for (unsigned i = 11; i < 48; ++i) {
        const std::string n = std::to_string(i);
        body += "    add.u32 %r" + n + ", %r10, " + n + ";\n    mov.b32 %f" + n + ", %r" + n +
                ";\n    mov.f64 %x" + n + ", 0d3FF0000000000000;\n";
    }
    body += "loop:\n";
    for (unsigned i = 0; i < 240; ++i)
        body +=
            "    " + line(patterns[i % patterns.size()], i / static_cast<unsigned>(patterns.size())) + ";\n";
    return kernel_text(body + "    add.s32 %r1, %r1, -1;\n    setp.ne.s32 %p1, %r1, 0;\n    @%p1 bra loop;\n",
                       0);
}

/// Warp instructions per cycle and SM, with 16 warps.
double rate(GpuTestBench& bench, const std::vector<std::string>& patterns) {
    const double turn =
        bench.cycles_per_turn([&](unsigned turns) { return loop(patterns, turns); }, 1, 512, {}, 2, 4);
    return 16 * 240 / turn;
}

void check_table(const std::string& name, Device device) {
    GpuConfig config = sim::gpu_config(sim::load_hardware(name));
    config.sm.count = 2;
    config.l2.partitions = 1;
    config.sm.gpcs = 1;
    config.sm.gpc_sizes.clear();
    GpuTestBench bench(config);
    for (const Row& row : kRows) {
        if (row.published[device] == 0) continue;
        CAPTURE(name, row.name);
        CHECK(32 * row.results * rate(bench, {row.text}) == Approx(row.published[device]).epsilon(0.05));
    }
    // Additions and products beside one another. V100 and A100 whitepapers: 64 lanes of FP32 and 64 of INT32
    // that work at the same time. GA102: 16 lanes of a sub-core for FP32, 16 for either. "Demystifying the
    // Nvidia Ampere Architecture": integer products run on the floating-point pipe.
    const std::string ffma = "fma.rn.f32 $f, $f, $g, $h", iadd = "add.s32 $d, $d, $a",
                      imad = "mad.lo.s32 $e, $e, $a, $b";
    CHECK(32 * rate(bench, {ffma, iadd}) == Approx(128).epsilon(0.05));
    CHECK(32 * rate(bench, {ffma, imad}) ==
          Approx(device == v100 || device == a100 ? 64 : 128).epsilon(0.05));
    CHECK(32 * rate(bench, {iadd, imad}) == Approx(device == a6000 ? 64 : 128).epsilon(0.05));
}

}  // namespace

TEST_CASE("a V100 has the instruction rates of the programming guide") {
    check_table("v100-sxm", v100);
}
TEST_CASE("an A100 has the instruction rates of the programming guide") {
    check_table("a100-sxm", a100);
}
TEST_CASE("an RTX A6000 has the instruction rates of the programming guide") {
    check_table("rtx-a6000", a6000);
}
TEST_CASE("an H100 has the instruction rates of the programming guide") {
    check_table("h100-sxm", h100);
}
