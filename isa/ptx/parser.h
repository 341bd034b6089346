// PTX text to Module.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Parses a whole module. Every instruction is checked against the instruction table: opcode, modifiers,
/// number of operands, operand types and widths. Throws heddle::Error naming `file_name`, line and token,
/// with what was expected.
Module parse(std::string_view text, const std::string& file_name = "");

/// Does the same and returns a shared module, as LoadedKernel takes it.
std::shared_ptr<const Module> parse_shared(std::string_view text, const std::string& file_name = "");

}  // namespace heddle::ptx
