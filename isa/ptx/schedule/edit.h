// Small edits of instructions and of a kernel's list of them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// The value of an unsigned constant of `bits` bits: what is above is cut off.
std::uint64_t cut(std::uint64_t value, unsigned bits);

/// An operand of kind `immediate`, its value cut to the size of `type`.
Operand make_immediate(std::uint64_t value, Type type);

/// Gives the instruction another opcode and suffixes ("wide.u32", written as words), and finds its form. The
/// operands must fit; false, and nothing is changed, when the table has no such form.
bool respell(Instruction& instruction, Opcode opcode, const std::vector<std::string_view>& suffixes);

/// Turns the instruction into `mov dest, source`, of the width of the destination. `dest` is a register.
void turn_into_move(Instruction& instruction, const Operand& dest, const Operand& source);

/// Leaves out the instructions that are marked; labels follow.
void remove_instructions(Kernel& kernel, const std::vector<bool>& removed);

/// Calls `visit(operand, written)` for every operand that is a register, elements of vectors, coordinates and
/// bases of addresses among them.
void for_each_register(Instruction& instruction, const std::function<void(Operand&, bool written)>& visit);

}  // namespace heddle::ptx
