// Asynchronous copies in the header of a trace that Heddle wrote: "-heddle copy = ...", one line for each
// different one. The format has no place for what a bulk copy moves, so an instruction's immediate is the
// number of its line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"
#include "workloads/sass_traces/kernel_trace.h"

namespace heddle::sass {

/// Operations that one instruction begins. Global addresses are relative to `base`. Fields, separated by
/// blanks: kind, reduces, in_bulk_group, bytes, destinations, shared address, pieces (number, then address
/// and bytes of each; "n*step" stands for equal ones at equal distances), signals (number, then rank,
/// address, arrivals, bytes of each).
std::string to_text(std::span<const ptx::AsyncOperation> operations, std::uint64_t base);
/// Throws heddle::Error when the text is not what to_text() wrote.
std::vector<ptx::AsyncOperation> operations_from_text(const std::string& text);

/// What a tracer wrote down of a copy. Ranks and destinations are those of the own thread block where it goes
/// to no others: kOwnRank, and 0.
ptx::AsyncOperation operation_of(const BulkCopy& copy);
inline constexpr std::uint16_t kOwnRank = 0xFFFF;

/// The address that a line of the trace holds for them: of the first piece; 0 without one.
std::uint64_t base_of(std::span<const ptx::AsyncOperation> operations);

}  // namespace heddle::sass
