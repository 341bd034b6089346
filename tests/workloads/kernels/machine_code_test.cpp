// The scheduling pass against the machine code that ptxas makes of the same kernels: instructions by class in
// the hot loop and in all, and registers per thread.
#include "support/machine_code.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <set>

#include "isa/ptx/machine/machine.h"
#include "isa/ptx/parser.h"
#include "workloads/kernels/library.h"

using namespace heddle;
using namespace heddle::test;
using kernels::LibraryKernel;

namespace {

/// [first, last] of a list of instructions.
struct Range {
    std::size_t first = 0, last = 0;
};

/// The longest of the loops that have no loop inside; all instructions when there is none.
Range hot_loop(const std::vector<Range>& loops, std::size_t count) {
    Range best{0, count == 0 ? 0 : count - 1};
    std::size_t longest = 0;
    for (const Range& loop : loops) {
        const bool inner = std::none_of(loops.begin(), loops.end(), [&](const Range& other) {
            return (other.first > loop.first && other.last <= loop.last) ||
                   (other.first >= loop.first && other.last < loop.last);
        });
        if (!inner || loop.last - loop.first <= longest) continue;
        longest = loop.last - loop.first;
        best = loop;
    }
    return best;
}

struct Code {
    MachineCounts all{}, loop{};
    double anchors = 0;  ///< of the loop: products, or accesses to global memory where there are none
    unsigned registers = 0;
};

Code measure(const MachineCode& code) {
    Code result;
    result.registers = code.registers;
    std::map<std::string, std::size_t> places;
    std::vector<Range> loops;
    for (std::size_t i = 0; i < code.instructions.size(); ++i) {
        const MachineInstruction& n = code.instructions[i];
        if (!n.label.empty()) places[n.label] = i;
        if (const auto target = places.find(n.target); !n.target.empty() && target != places.end())
            loops.push_back({target->second, i});
    }
    const Range loop = hot_loop(loops, code.instructions.size());
    for (std::size_t i = 0; i < code.instructions.size(); ++i) {
        const auto kind = static_cast<std::size_t>(class_of(code.instructions[i].opcode));
        if (code.instructions[i].opcode == "NOP") continue;
        result.all[kind] += 1;
        if (i >= loop.first && i <= loop.last) result.loop[kind] += 1;
    }
    return result;
}

MachineClass class_of(const ptx::Instruction& n, const ptx::InstructionInfo& info) {
    switch (info.pipeline) {
        case ptx::Pipeline::fp32:
            return MachineClass::fp32;
        case ptx::Pipeline::fp64:
            return MachineClass::fp64;
        case ptx::Pipeline::half:
            return MachineClass::half;
        case ptx::Pipeline::special:
            return MachineClass::special;
        case ptx::Pipeline::tensor:
            return MachineClass::tensor;
        case ptx::Pipeline::barrier:
            return MachineClass::barrier;
        case ptx::Pipeline::branch:
            return MachineClass::branch;
        case ptx::Pipeline::load_store:
            if (n.opcode == ptx::Opcode::shfl || info.space == ptx::StateSpace::shared)
                return MachineClass::shared;
            return n.opcode == ptx::Opcode::cp && n.operands.empty() ? MachineClass::barrier
                                                                     : MachineClass::global;
        default:
            return MachineClass::integer;
    }
}

Code measure(const ptx::LoadedKernel& kernel) {
    Code result;
    result.registers = kernel.register_count();
    const std::vector<ptx::Instruction>& instructions = kernel.implementation().kernel.instructions;
    std::vector<Range> loops;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
        for (const ptx::Operand& operand : instructions[i].operands) {
            if (operand.kind == ptx::Operand::Kind::label && operand.index <= i)
                loops.push_back({operand.index, i});
        }
    }
    const Range loop = hot_loop(loops, instructions.size());
    for (std::size_t i = 0; i < instructions.size(); ++i) {
        const ptx::InstructionInfo& info = kernel.instructions()[i];
        if (info.pipeline == ptx::Pipeline::none) continue;
        const auto kind = static_cast<std::size_t>(class_of(instructions[i], info));
        result.all[kind] += info.machine_operations;
        if (i >= loop.first && i <= loop.last) result.loop[kind] += info.machine_operations;
    }
    return result;
}

/// Instructions of the loop for each product, or for each global access: whatever unrolling did.
double per_anchor(const Code& code) {
    double anchors = code.loop[static_cast<std::size_t>(MachineClass::tensor)];
    if (anchors == 0)
        anchors = code.loop[static_cast<std::size_t>(MachineClass::fp32)] +
                  code.loop[static_cast<std::size_t>(MachineClass::fp64)];
    if (anchors == 0) anchors = code.loop[static_cast<std::size_t>(MachineClass::global)];
    return total(code.loop) / std::max(anchors, 1.0);
}

std::string classes(const MachineCounts& sass, const MachineCounts& model) {
    std::string text;
    for (std::size_t c = 0; c < kMachineClasses; ++c) {
        if (sass[c] == 0 && model[c] == 0) continue;
        char one[64];
        std::snprintf(one, sizeof one, " %s %.0f:%.0f", kMachineClassNames[c], sass[c], model[c]);
        text += one;
    }
    return text;
}

}  // namespace

TEST_CASE("machine instructions and registers beside those of ptxas") {
    const std::string ptxas = find_assembler(HEDDLE_PTXAS_FOUND);
    const std::string nvdisasm = ptxas.empty() ? "" : find_disassembler(ptxas);
    if (nvdisasm.empty()) {
        std::cout << "skipped: ptxas and nvdisasm are not both found\n";
        return;
    }
    const auto folder =
        std::filesystem::temp_directory_path() / ("heddle_machine_code_" + std::to_string(::getpid()));
    std::filesystem::create_directory(folder);
    // All samples for both targets take minutes of ptxas: HEDDLE_ALL_KERNELS=1 asks for them.
    const bool everything = std::getenv("HEDDLE_ALL_KERNELS") != nullptr;
    const bool detailed = std::getenv("HEDDLE_CLASSES") != nullptr;
    for (const unsigned capability : {80u, 90u}) {
        std::vector<LibraryKernel> samples = kernels::library_samples(capability);
        std::printf(
            "sm_%u | kernel | SASS | model | as written | loop per product: SASS | model | as written | "
            "registers: SASS | model\n",
            capability);
        unsigned compared = 0, close = 0, registers_close = 0;
        for (std::size_t s = 0; s < samples.size(); ++s) {
            const LibraryKernel& sample = samples[s];
            if (!everything && (capability == 80 || s % 6 != 0)) continue;
            const auto module = ptx::parse_shared(sample.kernel.text, sample.name);
            const auto code = assemble_text(ptxas, nvdisasm, sample.kernel.text,
                                            capability == 90 ? "sm_90a" : "sm_80", folder);
            const auto found = code.find(sample.kernel.entry);
            INFO(sample.name);
            REQUIRE(found != code.end());
            const Code sass = measure(found->second);
            const Code model =
                measure(ptx::LoadedKernel(module, sample.kernel.entry, capability, ptx::Assembly::scheduled));
            const Code written = measure(
                ptx::LoadedKernel(module, sample.kernel.entry, capability, ptx::Assembly::as_written));
            std::printf("%s | %.0f | %.0f | %.0f | %.2f | %.2f | %.2f | %u | %u\n", sample.name.c_str(),
                        total(sass.all), total(model.all), total(written.all), per_anchor(sass),
                        per_anchor(model), per_anchor(written), sass.registers, model.registers);
            if (detailed)
                std::printf("    loop:%s\n    all:%s\n", classes(sass.loop, model.loop).c_str(),
                            classes(sass.all, model.all).c_str());
            ++compared;
            close += std::abs(per_anchor(model) / per_anchor(sass) - 1) <= 0.1 ? 1 : 0;
            registers_close += std::abs(double(model.registers) / sass.registers - 1) <= 0.15 ? 1 : 0;
        }
        std::printf("sm_%u: %u kernels, loop within 10 %%: %u, registers within 15 %%: %u\n", capability,
                    compared, close, registers_close);
        CHECK(2 * close >= compared);  // see docs/scheduling.md for what the others lack
    }
    std::filesystem::remove_all(folder);
}
