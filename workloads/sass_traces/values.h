// What the tracer's version 6, which records Hopper, writes beside the fields of older versions: uniform
// registers, values of registers, and what the copy engine moves.
//
// Behind the sources stands, for products of warpgroups, whether their group ends. A copy's line has in the
// place of addresses
//     width mbarrier multicast [ranks] bytes bytes_out_of_bounds mode, then with mode 3: count addresses; 4:
//     base count differences
// where the mbarrier, the ranks and addresses are hexadecimal. Every line ends with one or two immediates and
// "NoVal", or "Val" and for each register, destinations first, 1 or 32 and so many hexadecimal values.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "workloads/sass_traces/kernel_trace.h"
#include "workloads/sass_traces/line_tokens.h"

namespace heddle::sass {

inline constexpr unsigned kFirstVersionWithValues = 6;
inline constexpr unsigned kMostRegisters = 2 + Instruction::kMostSources;  ///< of a line

/// The values of the first active lane, by position: destinations, then sources.
struct RegisterValues {
    bool known = false;
    std::array<std::uint64_t, kMostRegisters> of{};
};

/// Reads the end of a line, "Val ..." or "NoVal". `lanes` are the active lanes.
RegisterValues read_values(LineTokens& tokens, const LineSource& lines, unsigned registers,
                           std::uint32_t lanes);

/// Returns whether the copy engine executes the instruction.
bool is_bulk_copy(std::string_view opcode);
/// Reads the text between the width and the addresses, which follow, one for each piece.
BulkCopy read_bulk_copy(LineTokens& tokens, const LineSource& lines, std::string_view opcode,
                        std::uint64_t& first_address);

/// Returns the immediate of a SYNCS: what arrivals.h defines, the number of arrivals of an initialisation, or
/// the parity of a wait.
std::int64_t barrier_immediate(std::string_view opcode, std::uint64_t value);
/// Returns the place of the mbarrier. Such traces contain offsets in shared memory; for remote arrivals the
/// highest byte is the rank of the thread block.
std::uint64_t barrier_address(std::string_view opcode, std::uint64_t address, std::uint64_t shared_base);

}  // namespace heddle::sass
