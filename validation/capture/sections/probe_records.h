// How probes are written down: what was asked, the raw bits that came back, what our model says.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "validation/capture/record.h"
#include "validation/capture/sections/matrix_instruction.h"
#include "validation/capture/sections/matrix_probe.h"

namespace heddle::capture {

std::string hexadecimal(std::uint64_t value, unsigned bits);
std::vector<std::string> hexadecimals(std::span<const std::uint64_t> values, unsigned bits);

/// Raw bits as little-endian elements of their own width (4-bit and 1-bit ones take a byte).
void append_elements(std::vector<std::byte>& bytes, std::span<const std::uint64_t> values, Element element);
unsigned stored_bytes(Element element);

/// "agrees" (or "agrees": "unknown" where nothing was predicted), "identical" of "rows", and of the first few
/// differences the row, its operands (as "k:bits" where not zero), what came and what was expected.
void add_agreement(Record& record, const MatrixInstruction& instruction, const DotProducts& products,
                   std::span<const std::uint64_t> results,
                   const std::optional<std::vector<std::uint64_t>>& expected);
/// The same for results alone.
void add_agreement(Record& record, unsigned bits, std::span<const std::uint64_t> results,
                   const std::optional<std::vector<std::uint64_t>>& expected);

}  // namespace heddle::capture
