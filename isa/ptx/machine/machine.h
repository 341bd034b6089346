// The state that executing PTX instructions work on, and the decoded form of an instruction. Internal to
// isa/ptx.
//
// A warp's registers are rows of 32 lanes: 128 bytes for values up to 32 bits (16-bit values zero-extended),
// 256 bytes for 64-bit values, one 32-bit mask for a predicate. A handler works on whole rows and must leave
// the lanes that are not in its mask as they are: register rows are shared by values that are never live in
// the same lane.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/ptx/execution.h"

namespace heddle::ptx {

inline constexpr std::uint32_t kAllLanes = 0xFFFFFFFFu;
inline constexpr std::uint32_t kConstantBank =
    0x80000000u;  ///< operand offset into the constants, not the registers
inline constexpr std::uint32_t kAbsent = 0x7FFFFFFFu;  ///< operand left out
inline constexpr std::uint32_t kNoGuard = 0xFFFFFFFFu;
inline constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;  ///< no instruction
inline constexpr std::size_t kNarrowRow = 128, kWideRow = 256, kPredicateRow = 4;
inline constexpr unsigned kBarrierCount = 16;

/// Storage of rows: bytes, so that 32-bit and 64-bit rows may live in it, aligned for vector instructions.
struct alignas(64) Line {
    std::array<std::byte, 64> bytes{};
};

// Generic addresses: windows below global memory, which starts at 0x7f0000000000 (global_memory.h).
inline constexpr std::uint64_t kParameterWindow = 0x7b0000000000u;
inline constexpr std::uint64_t kConstantWindow = 0x7c0000000000u;
inline constexpr std::uint64_t kSharedWindow = 0x7d0000000000u;
inline constexpr std::uint64_t kLocalWindow = 0x7e0000000000u;
inline constexpr std::uint64_t kGlobalWindow = 0x7f0000000000u;

struct DecodedInstruction;
/// Performs one instruction for the lanes of `mask`, which is not empty.
using Handler = void (*)(Warp::State&, const DecodedInstruction&, std::uint32_t mask);

/// One cache line. Operands are byte offsets of rows, or for vectors the index of the first of their offsets
/// in Program::elements. An address with coordinates takes two operands: the row of its base, and the index
/// in Program::elements of its coordinates, `elements` of them.
struct alignas(64) DecodedInstruction {
    Handler handler = nullptr;  ///< nullptr: nothing to evaluate
    std::array<std::uint32_t, 7> operand{};
    std::uint32_t guard = kNoGuard;  ///< offset of the predicate
    /// Address offset, or an immediate of the instruction. Without an address operand: all `imm` operands, 8
    /// bits each, the first one lowest.
    std::int64_t offset = 0;
    std::uint32_t target = 0;                ///< branch
    std::uint32_t reconvergence = kNowhere;  ///< branch
    bool guard_negated = false;
    bool accesses = false;             ///< reports a MemoryAccess
    bool wide_address = false;         ///< the address register has 64 bits
    std::uint8_t elements = 1;         ///< of the vector that is loaded or stored
    std::uint16_t immediate = 0;       ///< the first `imm` operand: lop3 table, barrier, ...
    bool negated = false;              ///< the predicate operand is negated
    bool wide_shared_address = false;  ///< cp.async: same of the shared side
};
static_assert(sizeof(DecodedInstruction) == 64);

/// A kernel decoded for one mode. Constants are rows like registers.
struct Program {
    std::vector<DecodedInstruction> code;
    std::vector<std::uint32_t> elements;  ///< operand offsets of vectors
    std::vector<Line> constants;          ///< rows of immediates
    std::size_t register_bytes = 0;       ///< of one warp
    bool clear_registers = false;         ///< something may be read before it is written
    /// Special registers that are read like registers: rows filled by Cta::start().
    struct SpecialRow {
        SpecialRegister special;
        std::uint32_t offset;
    };
    std::vector<SpecialRow> specials;
    /// Constant rows that hold the address of a module variable in global memory, known at launch only.
    struct AddressRow {
        std::uint32_t offset;
        std::string variable;
    };
    std::vector<AddressRow> addresses;
};

struct LoadedKernel::Implementation {
    std::string file_name;
    Kernel kernel;  ///< a copy, with an exit at its end
    std::vector<InstructionInfo> information;
    std::array<Program, 2> programs;  ///< by Mode
    std::size_t scoreboard_size = 0;
    std::size_t steering_instructions = 0;
    unsigned registers_per_thread = 0;
    std::vector<std::byte> constant_bank;
    std::uint32_t dynamic_shared_offset = 0;  ///< where dynamic shared memory starts
    bool uses_shared_memory = false;
    /// Timing mode: byte offsets of pointer parameters through which steering loads read, and through which
    /// stores write that are not evaluated. They must not point into the same allocation.
    std::vector<std::uint32_t> steering_reads, skipped_writes;
    bool shared_memory_steers = true;  ///< timing mode: shared memory must hold values
};

/// Lanes that wait at the same place. The innermost path is held in Warp::State itself.
struct DivergentPath {
    std::uint32_t pc = 0;
    std::uint32_t lanes = 0;
    std::uint32_t reconvergence = kNowhere;
};

struct Warp::State : WarpStatus {
    /// Registers and constants: an operand's bank is its top bit.
    std::array<std::byte*, 2> bank{};
    std::uint32_t active = 0;                ///< lanes of the path that runs
    std::uint32_t reconvergence = kNowhere;  ///< where that path waits for the others
    std::uint32_t live = 0;                  ///< lanes that have not exited
    std::uint8_t barrier = 0;                ///< blocked: at which
    std::uint64_t clock = 0;
    const DecodedInstruction* code = nullptr;
    const InstructionInfo* information = nullptr;
    const std::uint32_t* elements = nullptr;  ///< Program::elements
    Cta::Implementation* cta = nullptr;
    std::vector<DivergentPath> paths;  ///< below the one that runs
};

struct Barrier {
    std::uint32_t arrived_warps = 0;
    std::uint32_t expected_warps = 0;  ///< 0: all that have not finished
    std::uint32_t waiting = 0;         ///< bit per warp
    std::uint32_t total = 0;           ///< bar.red: lanes with a true predicate
    std::uint32_t lanes = 0;           ///< bar.red: lanes that took part
    /// bar.red: where the result goes.
    struct Reduction {
        std::uint32_t operand, mask;
    };
    std::array<Reduction, 32> reductions{};
    std::uint8_t operation = 0;  ///< bar.red: 0 none, 1 popc, 2 and, 3 or
};

struct Cta::Implementation {
    LaunchContext launch;
    const LoadedKernel::Implementation* kernel = nullptr;
    const Program* program = nullptr;
    MemoryAccess access;
    std::uint32_t released_warps = 0;
    std::uint32_t shared_bytes = 0;  ///< static and dynamic
    std::vector<std::byte> shared;   ///< empty when nothing there is evaluated
    std::vector<std::byte> local;    ///< [warp][lane][byte]
    std::uint32_t local_bytes = 0;   ///< per thread
    std::vector<Line> constants;     ///< a copy when the launch supplies addresses, else empty
    std::vector<Line> registers;     ///< rows of all warps
    std::vector<Warp> warps;
    std::vector<Warp::State> states;
    std::array<Barrier, kBarrierCount> barriers;
    /// The allocation that each instruction last accessed: nearly always the right one.
    std::vector<Allocation*> last_allocation;
    Dim3 position;
    std::uint64_t linear_index = 0;
    std::uint32_t sm = 0;
    unsigned unfinished = 0;

    void release(unsigned barrier);
    /// After an exit, barriers that wait for all warps may be complete.
    void warp_finished(Warp::State& warp);
};

/// Errors of a running kernel; they name kernel, CTA, warp, lane and line. Never return.
[[noreturn]] void fail_running(const Warp::State& warp, unsigned lane, const std::string& problem,
                               const std::string& remedy = "");
[[noreturn]] void fail_access(const Warp::State& warp, std::uint32_t lanes, const MemoryAccess& access);

/// Out of line, used by handlers.
Allocation* find_allocation(Warp::State& warp, const DecodedInstruction& instruction, std::uint64_t address,
                            std::uint64_t bytes);

}  // namespace heddle::ptx
