// Which instruction do 128 bits of machine code say? A table of rows answers, one per form of an opcode.
//
// A row asks for bits (mask and value) and says where operands and their signs stand. The rows are in
// isa/sass/encoding/decode_rows.inc, for sm_80, sm_86, sm_89 and sm_90. The table is not finished: some rows read negative offsets of
// addresses as large numbers or lose marks of reuse, so that functions are still decoded by nvdisasm. scripts/sass/learn_decode_table.py makes them out of what nvdisasm prints.
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
/// but for the marks of reuse. False when no row has the bits: `result` is then as before.
bool decode_by_table(const std::array<std::uint64_t, 2>& code, unsigned compute_capability, std::uint64_t address, Instruction& result);

}  // namespace heddle::sass
