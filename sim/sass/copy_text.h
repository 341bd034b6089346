// Asynchronous copies in the header of a trace that Heddle wrote: one line "-heddle copy = ..." for each
// different copy. The format has no field for what a bulk copy moves, so the immediate of an instruction is
// the number of its line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"
#include "workloads/sass_traces/kernel_trace.h"

namespace heddle::sass {

/// Writes the operations that one instruction starts. Global addresses are relative to `base`. Fields are
/// separated by blanks: kind, reduces, in_bulk_group, bytes, destinations, shared address, pieces (number,
/// then address and bytes of each; "n*step" stands for equal pieces at equal distances), signals (number,
/// then rank, address, arrivals and bytes of each).
std::string to_text(std::span<const ptx::AsyncOperation> operations, std::uint64_t base);
/// Reads what to_text() wrote. Throws heddle::Error for any other text.
std::vector<ptx::AsyncOperation> operations_from_text(const std::string& text);

/// Converts what a tracer recorded about a copy. Where the copy goes to the thread block itself only, the
/// rank is kOwnRank and the destinations are 0.
ptx::AsyncOperation operation_of(const BulkCopy& copy);
inline constexpr std::uint16_t kOwnRank = 0xFFFF;

/// Returns the address that a line of the trace contains for these operations: that of the first piece, or 0
/// without pieces.
std::uint64_t base_of(std::span<const ptx::AsyncOperation> operations);

}  // namespace heddle::sass
