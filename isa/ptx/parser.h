// PTX text to Module.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Which instructions a text may have.
enum class Dialect : std::uint8_t {
    ptx,           ///< those of PTX
    machine_code,  ///< machine forms too (is_machine_form()): a text that isa/sass/translate has made
};

/// Parses a whole module. Every instruction is checked against the instruction table: opcode, modifiers,
/// number of operands, operand types and widths. Throws heddle::Error naming `file_name`, line and token,
/// with what was expected.
Module parse(std::string_view text, const std::string& file_name = "", Dialect dialect = Dialect::ptx);

/// Does the same and returns a shared module, as LoadedKernel takes it.
std::shared_ptr<const Module> parse_shared(std::string_view text, const std::string& file_name = "", Dialect dialect = Dialect::ptx);

}  // namespace heddle::ptx
