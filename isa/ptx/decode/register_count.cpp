// How many registers a thread of the kernel needs: decides how many fit on a multiprocessor.
#include <algorithm>

#include "isa/ptx/decode/data_flow.h"

namespace heddle::ptx {
namespace {

// Registers that only ever hold a kernel parameter: operands from the constant bank on the machine.
std::vector<bool> parameter_registers(const Kernel& kernel, std::span<const RegisterUse> uses) {
    std::vector<bool> constant(kernel.registers.size() + 1, true);
    constant.back() = false;
    for (const CalledFunction& function : kernel.functions) {  // calls write these
        constant[function.frame_register] = false;
        for (const Operand& argument : function.arguments) {
            if (argument.kind == Operand::Kind::reg) constant[argument.index] = false;
        }
    }
    // What is moved from a register that holds something else does so, too.
    std::vector<std::vector<std::uint32_t>> moves(constant.size());  // instructions that move from it
    std::vector<std::uint32_t> others;
    const auto write = [&](std::size_t i) {
        for (const std::uint32_t r : uses[i].writes) {
            if (constant[r]) others.push_back(r);
            constant[r] = false;
        }
    };
    for (std::uint32_t r = 0; r < constant.size(); ++r)
        if (!constant[r]) others.push_back(r);
    for (std::uint32_t i = 0; i < uses.size(); ++i) {
        const Instruction& instruction = kernel.instructions[i];
        const bool moved = (instruction.opcode == Opcode::cvta || instruction.opcode == Opcode::mov) &&
                           uses[i].reads.size() == 1;
        const bool loaded = instruction.opcode == Opcode::ld && instruction.space == StateSpace::parameter;
        if (instruction.guard >= 0 || !(moved || loaded))
            write(i);
        else if (moved)
            moves[uses[i].reads[0]].push_back(i);
    }
    while (!others.empty()) {
        const std::uint32_t r = others.back();
        others.pop_back();
        for (const std::uint32_t i : moves[r]) write(i);
    }
    return constant;
}

// 0: the kernel itself, else one more than the index of the function.
std::size_t body_of(const Kernel& kernel, std::uint32_t instruction) {
    std::size_t body = 0;
    while (body < kernel.functions.size() && kernel.functions[body].first_instruction <= instruction) ++body;
    return body;
}

bool calls(const CallSite& site, std::size_t function, const CalledFunction& called) {
    if (site.kind == CallSite::Kind::function) return site.function == function;
    return site.kind == CallSite::Kind::pointer && called.argument_bytes == site.argument_bytes &&
           called.result_bytes == site.result_bytes;
}

// Peak of a body and of the deepest chain of calls below it. Between functions that are recursive it is not
// followed: they keep the registers of their callers on the stack.
unsigned registers_of_calls(const Kernel& kernel, std::span<const unsigned> peaks, std::size_t body,
                            std::vector<unsigned>& known) {
    if (known[body] != 0) return known[body];
    const bool recursive = body != 0 && kernel.functions[body - 1].recursive;
    unsigned deepest = 0;
    for (const CallSite& site : kernel.calls) {
        if (std::int64_t{site.caller} + 1 != static_cast<std::int64_t>(body)) continue;
        for (std::size_t f = 0; f < kernel.functions.size(); ++f) {
            if (!calls(site, f, kernel.functions[f]) || (recursive && kernel.functions[f].recursive))
                continue;
            deepest = std::max(deepest, registers_of_calls(kernel, peaks, f + 1, known));
        }
    }
    known[body] = peaks[body] + deepest;
    return known[body];
}

}  // namespace

std::vector<unsigned> register_weights(const Kernel& kernel, std::span<const RegisterUse> uses) {
    const std::vector<bool> constant = parameter_registers(kernel, uses);
    std::vector<unsigned> weights(constant.size(), 0);
    for (std::uint32_t r = 0; r < kernel.registers.size(); ++r) {
        if (constant[r] || kernel.registers[r].type == Type::pred) continue;
        weights[r] = bits_of(kernel.registers[r].type) > 32 ? 2 : 1;
    }
    return weights;
}

unsigned count_registers(const Kernel& kernel, std::span<const RegisterUse> uses, const ControlFlow& flow,
                         const Liveness& liveness) {
    // A few for the stack pointer, the exit address and alignment of pairs: what ptxas reports for kernels
    // whose live values can be counted by hand.
    constexpr unsigned kReserved = 4;
    constexpr unsigned kAllocationUnit = 8;
    const std::vector<unsigned> weights = register_weights(kernel, uses);
    const auto weight = [&](std::uint32_t r) { return weights[r]; };
    std::vector<unsigned> peaks(kernel.functions.size() + 1, 0);  // of the kernel and each function
    std::vector<bool> live(weights.size(), false);
    std::vector<std::uint32_t> touched;  // registers that have been live in the block
    for (std::size_t b = 0; b < flow.blocks.size(); ++b) {
        unsigned& peak = peaks[body_of(kernel, flow.blocks[b].first)];
        for (const std::uint32_t r : touched) live[r] = false;
        touched.clear();
        unsigned now = 0;
        const auto begin = [&](std::uint32_t r) {
            live[r] = true;
            touched.push_back(r);
            now += weight(r);
        };
        liveness.live_out[b].for_each(begin);
        peak = std::max(peak, now);
        for (std::uint32_t i = flow.blocks[b].last + 1; i-- > flow.blocks[b].first;) {
            for (const std::uint32_t r : uses[i].writes) {
                if (!live[r]) {
                    peak = std::max(peak, now + weight(r));  // written and never read: lives for an instant
                } else if (kernel.instructions[i].guard < 0) {
                    live[r] = false;
                    now -= weight(r);
                }
            }
            for (const std::uint32_t r : uses[i].reads) {
                if (!live[r]) begin(r);
            }
            peak = std::max(peak, now);
        }
    }
    std::vector<unsigned> known(peaks.size(), 0);
    const unsigned peak = registers_of_calls(kernel, peaks, 0, known);
    unsigned total = (peak + kReserved + kAllocationUnit - 1) / kAllocationUnit * kAllocationUnit;
    total = std::clamp(total, 16u, 255u / kAllocationUnit * kAllocationUnit + kAllocationUnit);
    if (kernel.maximum_registers != 0)
        total = std::min(total, std::max(16u, kernel.maximum_registers / 8 * 8));
    return std::min(total, 255u);
}

}  // namespace heddle::ptx
