// Which registers values get: the allocation against a plain liveness, instruction by instruction.
#include <algorithm>
#include <catch2/catch.hpp>

#include "../launch.h"
#include "isa/ptx/machine/machine.h"
#include "isa/ptx/register_operands.h"
#include "isa/ptx/schedule/register_allocation.h"
#include "random_program.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

/// Registers live after each instruction, by going over all instructions until nothing changes.
std::vector<std::vector<bool>> plain_liveness(const Kernel& kernel, const std::vector<RegisterUse>& uses) {
    const std::size_t count = kernel.instructions.size(), registers = kernel.registers.size() + 1;
    std::vector<std::vector<bool>> before(count + 1, std::vector<bool>(registers, false)), after(before);
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t i = count; i-- > 0;) {
            const Instruction& n = kernel.instructions[i];
            const bool leaves = n.opcode == Opcode::ret || n.opcode == Opcode::exit;
            const bool jumps = n.opcode == Opcode::bra && n.guard < 0;
            std::vector<bool> live(registers, false);
            const auto join = [&](std::size_t from) {
                for (std::size_t r = 0; r < registers; ++r) live[r] = live[r] || before[from][r];
            };
            if (!jumps && (!leaves || n.guard >= 0)) join(i + 1);
            for (const Operand& operand : n.operands)
                if (operand.kind == Operand::Kind::label) join(operand.index);
            after[i] = live;
            if (n.guard < 0)
                for (const std::uint32_t r : uses[i].writes) live[r] = false;
            for (const std::uint32_t r : uses[i].reads) live[r] = true;
            changed = changed || live != before[i];
            before[i] = std::move(live);
        }
    }
    return after;
}

unsigned words_of(const Kernel& kernel, std::uint32_t r) {
    return bits_of(kernel.registers[r].type) > 32 ? 2 : 1;
}

/// No two values that live at the same time share a register; values of 64 bits lie in even pairs.
bool is_sound(const Kernel& kernel, const std::vector<std::uint16_t>& physical) {
    const std::vector<RegisterUse> uses = register_uses(kernel);
    const std::vector<std::vector<bool>> after = plain_liveness(kernel, uses);
    for (std::size_t i = 0; i < kernel.instructions.size(); ++i) {
        std::vector<std::uint32_t> owner(256, kNoInstruction);
        std::vector<bool> live = after[i];
        for (const std::uint32_t r : uses[i].writes) live[r] = true;
        for (std::uint32_t r = 0; r < kernel.registers.size(); ++r) {
            if (!live[r] || physical[r] == RegisterAllocation::kNone) continue;
            if (words_of(kernel, r) == 2 && physical[r] % 2 != 0) return false;
            for (unsigned w = 0; w < words_of(kernel, r); ++w) {
                if (owner.at(physical[r] + w) != kNoInstruction) return false;
                owner[physical[r] + w] = r;
            }
        }
    }
    return true;
}

/// Operands of all instructions that have to wait for another one of the same bank, without a reuse cache.
unsigned conflicts(const LoadedKernel& kernel, std::span<const std::uint16_t> physical) {
    unsigned sum = 0;
    for (const RegisterOperands& operands : register_operands(kernel.instructions(), physical)) {
        unsigned in_bank[kRegisterBanks] = {};
        for (const std::uint16_t r : operands)
            if (r != LoadedKernel::kNoRegister) ++in_bank[r % kRegisterBanks];
        for (const unsigned reads : in_bank) sum += reads > 1 ? reads - 1 : 0;
    }
    return sum;
}

}  // namespace

TEST_CASE("registers: no two values that live at once share one, whether spread over banks or not",
          "[schedule]") {
    unsigned before = 0, after = 0;
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
        const LoadedKernel kernel(parse_shared(random_module(seed), "random.ptx"), "test", 90,
                                  Assembly::scheduled);
        const Kernel& code = kernel.implementation().kernel;
        const RegisterAllocation plain = allocate_registers(code);
        const std::vector<std::uint16_t> spread(kernel.register_assignment().begin(),
                                                kernel.register_assignment().end());
        CAPTURE(seed);
        REQUIRE(is_sound(code, plain.physical));
        REQUIRE(is_sound(code, spread));
        REQUIRE(kernel.register_count() == plain.count);
        for (const std::uint16_t r : spread) REQUIRE((r == RegisterAllocation::kNone || r < plain.count));
        before += conflicts(kernel, plain.physical);
        after += conflicts(kernel, spread);
    }
    CHECK(before > 1000);
    CHECK(after < 0.6 * before);
}

TEST_CASE("registers: an outer product meets no more operands in one bank than it must", "[schedule]") {
    // Values that come one at a time, so that nothing but their operations says where they should lie.
    std::string body = "ld.param.u64 %rd1, [p];\nmov.u32 %r1, 64;\n";
    const auto f = [](unsigned n) { return "%f" + std::to_string(n); };
    for (unsigned c = 0; c < 16; ++c) body += "mov.f32 " + f(c) + ", 0f00000000;\n";
    body += "loop:\n";
    for (unsigned v = 16; v < 24; ++v)
        body += "ld.global.f32 " + f(v) + ", [%rd1+" + std::to_string(4 * v) + "];\n";
    for (unsigned i = 0; i < 4; ++i)
        for (unsigned j = 0; j < 4; ++j)
            body += "fma.rn.f32 " + f(4 * i + j) + ", " + f(16 + i) + ", " + f(20 + j) + ", " + f(4 * i + j) +
                    ";\n";
    body += "add.s32 %r1, %r1, -1;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra loop;\n";
    for (unsigned c = 0; c < 16; ++c)
        body += "st.global.f32 [%rd1+" + std::to_string(256 + 4 * c) + "], " + f(c) + ";\n";
    const std::string text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry test(.param .u64 p)\n{\n"
        ".reg .pred %p<2>;\n.reg .b32 %r<2>;\n.reg .f32 %f<24>;\n.reg .b64 %rd<2>;\n" +
        body + "ret;\n}\n";
    const LoadedKernel kernel(parse_shared(text, "outer.ptx"), "test", 80, Assembly::as_written);
    // The next three products find a in the reuse cache and read b and the accumulator. Only the first of
    // each row reads three operands, of which two must meet.
    const auto operands = register_operands(kernel.instructions(), kernel.register_assignment());
    unsigned products = 0, meet = 0;
    std::uint16_t held = LoadedKernel::kNoRegister;
    for (const RegisterOperands& one : operands) {
        if (one[2] == LoadedKernel::kNoRegister) continue;
        unsigned reads[kRegisterBanks] = {};
        for (const std::uint16_t r : one) reads[r % kRegisterBanks] += r != held ? 1 : 0;
        meet += std::max(reads[0], reads[1]) - 1;
        held = one[0];
        ++products;
    }
    CHECK(meet == 4);
    CHECK(products == 16);
}
