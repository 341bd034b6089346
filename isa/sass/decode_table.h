// Which instruction do 128 bits of machine code say? A table of rows answers, one per form of an opcode.
//
// A row asks for bits (mask and value) and says where operands and their signs stand. The rows are in
// isa/sass/encoding/decode_rows.inc. scripts/sass/learn_decode_table.py makes them: it asks nvdisasm for the text of words that differ
// in one bit. scripts/sass/compare_decoder.py compares the result with nvdisasm on programs and libraries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/sass/instruction.h"

namespace heddle::sass {

/// Whether there are rows for the architecture (80 for sm_80).
bool has_decode_table(unsigned compute_capability);

/// How many rows there are for the architecture.
std::size_t decode_rows(unsigned compute_capability);

/// Decodes the 128 bits (low half first) of the instruction at byte `address` of its function. The control word is not looked at,
/// but for the marks of reuse. May be called by several threads. False when no row has the bits: `result` is then as before.
bool decode_by_table(const std::array<std::uint64_t, 2>& code, unsigned compute_capability, std::uint64_t address, Instruction& result);

}  // namespace heddle::sass
