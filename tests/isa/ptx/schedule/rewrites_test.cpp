// The single rewrites of the pass, each on a few instructions whose outcome can be written down.
#include <algorithm>
#include <catch2/catch.hpp>

#include "../launch.h"
#include "isa/ptx/machine/machine.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

LoadedKernel load(const std::string& body, Assembly assembly) {
    return LoadedKernel(parse_shared(".version 8.0\n.target sm_80\n.address_size 64\n"
                                     ".visible .entry test(.param .u64 p)\n{\n.reg .pred %p<4>;\n"
                                     ".reg .b32 %r<16>;\n.reg .f32 %f<32>;\n.reg .b64 %rd<8>;\n" +
                                         body + "ret;\n}\n",
                                     "rewrite.ptx"),
                        "test", 80, assembly);
}

const std::vector<Instruction>& code(const LoadedKernel& kernel) {
    return kernel.implementation().kernel.instructions;
}

std::size_t count(const LoadedKernel& kernel, Opcode opcode) {
    return static_cast<std::size_t>(std::count_if(code(kernel).begin(), code(kernel).end(),
                                                  [&](const Instruction& n) { return n.opcode == opcode; }));
}

unsigned machine_operations(const LoadedKernel& kernel) {
    unsigned sum = 0;
    for (const InstructionInfo& info : kernel.instructions()) sum += info.machine_operations;
    return sum;
}

}  // namespace

TEST_CASE("rewrites: constant offsets of addresses go into the accesses", "[schedule]") {
    const std::string body =
        "ld.param.u64 %rd1, [p];\nadd.s64 %rd2, %rd1, 64;\nadd.s64 %rd3, %rd2, 64;\n"
        "ld.global.f32 %f1, [%rd2+4];\nld.global.f32 %f2, [%rd3];\nadd.f32 %f3, %f1, %f2;\n"
        "st.global.f32 [%rd1], %f3;\n";
    const LoadedKernel kernel = load(body, Assembly::scheduled);
    CHECK(count(load(body, Assembly::as_written), Opcode::add) == 3);
    CHECK(count(kernel, Opcode::add) == 1);  // that of the floats
    std::vector<std::uint64_t> offsets;
    for (const Instruction& n : code(kernel))
        if (n.opcode == Opcode::ld && n.space == StateSpace::global) offsets.push_back(n.operands[1].bits);
    std::sort(offsets.begin(), offsets.end());
    CHECK(offsets == std::vector<std::uint64_t>{68, 128});
}

TEST_CASE("rewrites: loads go ahead of the arithmetic that does not feed them", "[schedule]") {
    std::string body = "ld.param.u64 %rd1, [p];\n";
    for (unsigned i = 0; i < 4; ++i) {
        const std::string f = std::to_string(i);
        body += "ld.global.f32 %f" + f + ", [%rd1+" + std::to_string(4 * i) + "];\nmul.f32 %f1" + f + ", %f" +
                f + ", %f" + f + ";\n";
    }
    body +=
        "add.f32 %f20, %f10, %f11;\nadd.f32 %f21, %f12, %f13;\nadd.f32 %f22, %f20, %f21;\n"
        "st.global.f32 [%rd1], %f22;\n";
    const auto first_product_and_last_load = [&](Assembly assembly) {
        const LoadedKernel kernel = load(body, assembly);
        std::size_t product = code(kernel).size(), last = 0;
        for (std::size_t i = 0; i < code(kernel).size(); ++i) {
            const Instruction& n = code(kernel)[i];
            if (n.opcode == Opcode::mul) product = std::min(product, i);
            if (n.opcode == Opcode::ld && n.space == StateSpace::global) last = i;
        }
        return std::pair{product, last};
    };
    const auto [written_product, written_load] = first_product_and_last_load(Assembly::as_written);
    CHECK(written_product < written_load);
    const auto [product, last] = first_product_and_last_load(Assembly::scheduled);
    CHECK(product > last);
}

TEST_CASE("rewrites: a load stays behind a store that it may meet, and behind a barrier", "[schedule]") {
    for (const std::string between : {"st.global.f32 [%rd2], %f1;\n", "bar.sync 0;\n"}) {
        const LoadedKernel kernel =
            load("ld.param.u64 %rd1, [p];\nld.global.u64 %rd2, [%rd1+64];\nld.global.f32 %f1, [%rd1];\n" +
                     between +
                     "ld.global.f32 %f2, [%rd1+4];\nmul.f32 %f3, %f1, %f1;\nadd.f32 %f3, %f3, %f2;\n"
                     "st.global.f32 [%rd1+8], %f3;\n",
                 Assembly::scheduled);
        std::size_t wall = 0, after = 0;
        for (std::size_t i = 0; i < code(kernel).size(); ++i) {
            const Instruction& n = code(kernel)[i];
            if (wall == 0 && (n.opcode == Opcode::st || n.opcode == Opcode::bar)) wall = i;
            if (n.opcode == Opcode::ld && n.operands[1].bits == 4) after = i;
        }
        CAPTURE(between);
        CHECK(wall != 0);
        CHECK(after > wall);
    }
}

TEST_CASE("rewrites: integer products and sums become one, floating-point ones stay two", "[schedule]") {
    const std::string integers =
        "ld.param.u64 %rd1, [p];\nld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];\n"
        "mul.lo.s32 %r5, %r1, %r2;\nadd.s32 %r6, %r5, %r3;\nst.global.u32 [%rd1], %r6;\n";
    const std::string floats =
        "ld.param.u64 %rd1, [p];\nld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\n"
        "mul.rn.f32 %f5, %f1, %f2;\nadd.rn.f32 %f6, %f5, %f3;\nst.global.f32 [%rd1], %f6;\n";
    CHECK(machine_operations(load(integers, Assembly::scheduled)) ==
          machine_operations(load(integers, Assembly::as_written)) - 1);
    CHECK(machine_operations(load(floats, Assembly::scheduled)) ==
          machine_operations(load(floats, Assembly::as_written)));
}

TEST_CASE("rewrites: independent chains of products lie side by side", "[schedule]") {
    // Two chains of four, one after the other in the text: an order that waits for every result.
    std::string body = "ld.param.u64 %rd1, [p];\nld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\n";
    for (const auto& [sum, factor] : {std::pair{"%f10", "%f2"}, std::pair{"%f11", "%f3"}}) {
        body += "mov.f32 " + std::string(sum) + ", %f4;\n";
        for (unsigned i = 0; i < 4; ++i)
            body += "fma.rn.f32 " + std::string(sum) + ", %f1, " + factor + ", " + sum + ";\n";
    }
    body += "add.f32 %f12, %f10, %f11;\nst.global.f32 [%rd1], %f12;\n";
    const LoadedKernel kernel = load(body, Assembly::scheduled);
    unsigned waits = 0;  // products whose summand the product just before made
    std::uint32_t last = kNoInstruction;
    for (const Instruction& n : code(kernel)) {
        if (n.opcode != Opcode::fma) continue;
        waits += n.operands[3].index == last ? 1 : 0;
        last = n.operands[0].index;
    }
    CHECK(count(kernel, Opcode::fma) == 8);
    CHECK(waits <= 1);
}
