// What follows from an instruction's text alone for the handler that performs it. Problems are thrown as
// heddle::Error without a place, which the decoder adds.
#pragma once

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// The generic address at which a state space begins.
std::uint64_t window_of(StateSpace space);

/// Modifiers, state space and selectors as `immediate`, `offset` and `target` of the handlers' conventions,
/// and whether memory is accessed. `decoded` has its operands and packed immediates.
void set_instruction_details(const Instruction& n, DecodedInstruction& decoded);

/// The clock runs while a kernel does: it is read by a mov of its own.
void check_clock(const Instruction& n);

/// Bits of the register on the other side of memory or of a conversion.
unsigned register_bits(const Instruction& n);

/// The registers of a vector that memory fills or takes are of one width.
void check_register_widths(const Instruction& n);

}  // namespace heddle::ptx
