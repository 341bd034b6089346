#include "isa/ptx/text/local_memory.h"

#include "isa/common/error.h"
#include "isa/ptx/text/instruction_edit.h"

namespace heddle::ptx {
namespace {

constexpr std::uint64_t kLocalMemoryMaximumBytes = 512 * 1024;  // per thread: CUDA programming guide, table of limits

}  // namespace

void LocalMemory::place(Variable& variable, std::size_t region, std::uint32_t line) {
    std::uint64_t& bytes = regions[region].bytes;
    variable.space = StateSpace::local;
    variable.offset = align_up(bytes, variable.alignment);
    if (variable.offset + variable.bytes > kLocalMemoryMaximumBytes)
        fail("more than 512 KiB of local memory per thread", line);
    bytes = variable.offset + variable.bytes;
}

void LocalMemory::point_into_frame(Operand& operand, std::size_t region) const {
    const Variable& variable = kernel_.variables[operand.index];
    operand.base = Operand::Kind::reg;
    operand.type = Type::b64;
    operand.bits += variable.offset;
    operand.index = regions[region].frame_register;
}

Instruction LocalMemory::frame_address(const Instruction& n, std::size_t region) const {
    if (bits_of(n.type()) != 64) fail("addresses have 64 bits", n.line, "use mov.u64");
    Instruction sum = instruction_like(n, Opcode::add, {"u64"});
    Operand base, offset;
    base.kind = Operand::Kind::reg;
    base.type = Type::b64;
    base.index = regions[region].frame_register;
    offset.kind = Operand::Kind::immediate;
    offset.type = Type::u64;
    offset.bits = kernel_.variables[n.operands[1].index].offset + n.operands[1].bits;
    sum.operands = {n.operands[0], base, offset};
    return sum;
}

void LocalMemory::fail(const std::string& problem, std::uint32_t line, const std::string& remedy) const {
    throw Error(problem, {file_name_, line, kernel_.name}, remedy);
}

}  // namespace heddle::ptx
