// A kernel that ran on a GPU, as its tracer recorded it: machine instructions (SASS) in the order in which
// each warp executed them, with the active lanes and the addresses that they accessed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle::sass {

/// Three extents, or a position in three dimensions.
struct Dimensions {
    std::uint32_t x = 1, y = 1, z = 1;
    std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

/// The header of a kernel's trace.
struct KernelHeader {
    std::string name;
    std::uint64_t id = 0;
    Dimensions grid, block;
    std::uint32_t shared_bytes = 0;  ///< per thread block, static and dynamic
    std::uint32_t registers = 0;     ///< per thread
    unsigned binary_version = 0;     ///< compute capability of the machine code, as 80
    std::uint64_t stream = 0;
    std::uint64_t shared_base = 0, local_base = 0;  ///< windows of generic addresses
    unsigned tracer_version = 0;
    bool line_numbers = false;  ///< instruction lines begin with a line of the source
    Dimensions cluster;         ///< in thread blocks; Heddle's own key, which other readers pass over
    /// The trace contains everything about mbarriers and bulk copies that is needed to execute them again:
    /// tracer version 6, or Heddle's own traces.
    bool complete = false;
    /// "program counter written / read": identifiers of the scoreboard, where the trace says them.
    std::vector<std::string> registers_of;
    std::vector<std::string> copies;  ///< bulk copies, as sim/sass/copy_text.h writes them; by their number
};

inline constexpr std::uint8_t kZeroRegister = 255;  ///< RZ
inline constexpr unsigned kWarpSize = 32;

/// The parts of an instruction that are the same for each execution. There is one for each program counter,
/// and more where called functions have program counters that begin at 0 again.
struct Instruction {
    std::uint32_t program_counter = 0;
    std::string opcode;  ///< mnemonic and modifiers: LDG.E.128
    bool writes = false;
    std::uint8_t destination = kZeroRegister;
    std::uint8_t source_count = 0;
    static constexpr unsigned kMostSources = 5;
    std::array<std::uint8_t, kMostSources> sources{};
    std::uint8_t bytes_per_lane = 0;  ///< of its memory access; 0: none
    /// The first immediate operand, or 0 when there is none. For a bulk copy that is described it is the
    /// copy's number, for an mbarrier what arrivals.h defines, and for a barrier its number.
    std::int64_t immediate = 0;
    bool ends_group = false;  ///< of products of a warpgroup, where the trace says it
};

/// What the copy engine moves, where the trace contains it, as offsets from the address of the instruction's
/// step.
struct BulkCopy {
    enum class Kind : std::uint8_t { load, store, reduction, prefetch };
    Kind kind = Kind::load;
    std::uint32_t barrier = 0;  ///< in shared memory: learns of its end
    std::uint16_t ranks =
        0;  ///< thread blocks of the cluster that receive it, a bit for each; 0: the own one
    std::uint32_t bytes = 0;  ///< that the barrier is told of
    std::uint32_t piece_bytes = 0;
    std::vector<std::uint64_t> offsets;  ///< of the pieces in global memory
    bool operator==(const BulkCopy&) const = default;
};

/// One instruction that one warp executed.
struct Step {
    std::uint32_t instruction = 0;  ///< position in KernelTrace's table
    std::uint32_t lanes = 0;        ///< that were active and whose predicate held
    std::uint32_t addresses = 0;    ///< of a memory access: position of its first in WarpTrace::addresses
};

/// What one warp executed.
struct WarpTrace {
    std::uint32_t warp = 0;  ///< in its thread block
    std::vector<Step> steps;
    std::vector<std::uint64_t> addresses;  ///< one for each lane of Step::lanes, lowest lane first
};

/// What one thread block executed.
struct ThreadBlock {
    Dimensions position;  ///< in the grid, from 0
    std::vector<WarpTrace> warps;
};

}  // namespace heddle::sass
