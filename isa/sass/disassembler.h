// nvdisasm as a stand-in for the decoder's tables: it comes with the CUDA toolkit and with Python packages.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle::sass {

/// What nvdisasm (the one that HEDDLE_NVDISASM names, else the one on PATH) prints for words of code of an architecture: a line
/// for each instruction, without address and semicolon. Nothing when it is not there or refuses the code.
std::optional<std::vector<std::string>> disassemble(std::span<const std::array<std::uint64_t, 2>> code, unsigned compute_capability);

}  // namespace heddle::sass
