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
#include <span>
#include <vector>

#include "isa/common/error.h"
#include "isa/ptx/execution.h"
#include "isa/ptx/machine/call_tables.h"
#include "isa/ptx/machine/zeroed_memory.h"
#include "isa/ptx/schedule/register_allocation.h"
#include "isa/ptx/tensor_memory.h"

namespace heddle::ptx {

inline constexpr std::uint32_t kAllLanes = 0xFFFFFFFFu;
inline constexpr std::uint32_t kConstantBank =
    0x80000000u;  ///< operand offset into the constants, not the registers
inline constexpr std::uint32_t kAbsent = 0x7FFFFFFFu;  ///< operand left out
inline constexpr std::uint32_t kNoGuard = 0xFFFFFFFFu;
inline constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;  ///< no instruction
inline constexpr std::size_t kNarrowRow = 128, kWideRow = 256, kPredicateRow = 4;
inline constexpr unsigned kBarrierCount = 16;
/// wgmma: four warps, one behind another. Each warpgroup has a barrier after the CTA's 16, for
/// wgmma.wait_group.
inline constexpr unsigned kWarpgroupSize = 4, kMaximumWarpgroups = 8;

/// Storage of rows: bytes, so that 32-bit and 64-bit rows may live in it, aligned for vector instructions.
struct alignas(64) Line {
    std::array<std::byte, 64> bytes{};  ///< rows lie in it one behind another
};

// Generic addresses: windows below global memory, which starts at 0x7f0000000000 (global_memory.h).
inline constexpr std::uint64_t kParameterWindow = 0x7b0000000000u;
inline constexpr std::uint64_t kConstantWindow = 0x7c0000000000u;
inline constexpr std::uint64_t kSharedWindow = 0x7d0000000000u;
inline constexpr std::uint64_t kLocalWindow = 0x7e0000000000u;
inline constexpr std::uint64_t kGlobalWindow = 0x7f0000000000u;

struct ClusterState;
class Checker;
struct DecodedInstruction;
/// Performs one instruction for the lanes of `mask`, which is not empty.
using Handler = void (*)(Warp::State&, const DecodedInstruction&, std::uint32_t mask);

/// One cache line. Operands are byte offsets of rows, or for vectors the index of the first of their offsets
/// in Program::elements. An address with coordinates takes two operands: the row of its base, and the index
/// in Program::elements of its coordinates, `elements` of them.
struct alignas(64) DecodedInstruction {
    Handler handler = nullptr;  ///< nullptr: nothing to evaluate
    std::array<std::uint32_t, 7> operand{};  ///< kAbsent: no such operand
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
    std::vector<DecodedInstruction> code;  ///< by index of the instruction, as in Kernel::instructions
    std::vector<std::uint32_t> elements;  ///< operand offsets of vectors
    std::vector<Line> constants;          ///< rows of immediates
    std::size_t register_bytes = 0;       ///< of one warp
    bool clear_registers = false;         ///< something may be read before it is written
    /// Special registers that are read like registers: rows filled by Cta::start().
    struct SpecialRow {
        SpecialRegister special;  ///< whose value fills the row
        std::uint32_t offset;     ///< byte offset of the row
    };
    std::vector<SpecialRow> specials;
    /// Constant rows that hold the address of a module variable in global memory, known at launch only.
    struct AddressRow {
        std::uint32_t offset;      ///< byte offset of the row
        std::string variable;      ///< name of the module variable
        std::uint64_t addend = 0;  ///< added to its address
    };
    std::vector<AddressRow> addresses;
    std::vector<DecodedCall> calls;          ///< DecodedInstruction::target of a call
    std::vector<DecodedFunction> functions;  ///< ... of a function's ret
    std::uint32_t frame_alignment = 16;      ///< of the frames of functions in local memory
};

struct LoadedKernel::Implementation {
    std::string file_name;  ///< for messages
    Kernel kernel;  ///< a copy, with an exit at its end
    std::vector<InstructionInfo> information;  ///< by instruction; what the timing model sees
    std::vector<std::string> source_files;  ///< with `inlined_calls`: of SourcePlace
    std::vector<InlinedCall> inlined_calls;  ///< of CUDA functions, by the module's debug information
    std::array<Program, 2> programs;  ///< by Mode
    std::size_t scoreboard_size = 0;  ///< registers, dense
    std::size_t steering_instructions = 0;    ///< evaluated in timing mode
    unsigned registers_per_thread = 0;        ///< 32-bit, by the allocation
    RegisterAllocation registers;             ///< physical registers
    std::vector<std::byte> constant_bank;     ///< initial bytes of .const variables
    std::uint32_t dynamic_shared_offset = 0;  ///< where dynamic shared memory starts
    bool uses_shared_memory = false;          ///< static, dynamic, or by a window
    bool uses_memory_barriers = false;  ///< mbarrier objects hold values in timing mode too
    bool uses_tensor_memory = false;    ///< any tcgen05
    /// Timing mode: byte offsets of pointer parameters through which steering loads read, and through which
    /// stores write that are not evaluated. They must not point into the same allocation.
    std::vector<std::uint32_t> steering_reads, skipped_writes;
    bool steering_writes = false, steering_reads_global = false;
    bool shared_memory_steers = true;  ///< timing mode: shared memory must hold values
    std::vector<bool> steers;          ///< [instruction] timing mode: its values are computed
};

/// What the lanes of a path wait for.
enum class PathWait : std::uint8_t {
    none,             ///< nothing: they can run
    lanes,            ///< for other lanes of the warp at a .sync instruction; `key`: the member mask
    cta_barrier,      ///< bar, barrier; `key`: its number
    cluster_barrier,  ///< barrier.cluster.wait
    memory_barrier,   ///< mbarrier.try_wait; `key`: the address in the CTA's shared memory
    tensor_memory,    ///< tcgen05.alloc: for columns that are free; `key`: how many
};

inline constexpr std::uint16_t kNoMeeting = 0xFFFF;

/// Lanes of a warp that run together and do not run at present. The running path is held in Warp::State
/// itself.
struct Path {
    std::uint32_t pc = 0;                ///< where they go on
    std::uint32_t lanes = 0;             ///< mask
    std::uint16_t meeting = kNoMeeting;  ///< where they meet others
    PathWait wait = PathWait::none;      ///< why they do not run
    bool timed_out = false;  ///< memory_barrier: has waited long enough
    std::uint64_t key = 0;   ///< see PathWait
};

/// A place where lanes that have parted come together: the first to arrive wait for the others.
struct Meeting {
    std::uint32_t pc = kNowhere;  ///< of the instruction where they meet
    std::uint32_t members = 0;  ///< lanes that are to come
    std::uint32_t arrived = 0;  ///< lanes that wait here
    std::uint16_t outer = kNoMeeting;  ///< the meeting around this one
    bool used = false;                 ///< the entry is taken
    /// Index in Warp::State::frames: lanes arrive by returning from a function, `pc` is kNowhere. Or
    /// kNoFrame.
    std::uint16_t frame = 0xFFFF;
};
inline constexpr std::uint16_t kNoFrame = 0xFFFF;

/// A call of a function that has not returned yet, of some lanes.
struct CallFrame {
    bool used = false;                     ///< the entry is taken
    std::uint32_t call = 0, function = 0;  ///< indices in Program::calls and functions
    std::uint32_t return_pc = 0;           ///< where the lanes go on
    std::vector<std::byte> saved;  ///< the function's rows as they were before the call
};

/// The first cache line is all that most steps touch, the second what a warp's beginning and end need
/// besides.
struct alignas(64) Warp::State : WarpStatus {
    std::uint32_t active = 0;                ///< lanes of the path that runs; 0 while all wait
    std::uint32_t reconvergence = kNowhere;  ///< pc of that path's meeting
    const DecodedInstruction* code = nullptr;  ///< Program::code of the launch's mode
    /// Registers and constants: an operand's bank is its top bit.
    std::array<std::byte*, 2> bank{};
    Cta::Implementation* cta = nullptr;
    std::uint64_t clock = 0;
    std::uint16_t meeting = kNoMeeting;  ///< of the path that runs
    std::uint16_t spins = 0;             ///< times that it went round a loop that waits for others
    std::uint16_t turns = 0;             ///< paths that have given way since one was let go early
    bool timed_out = false;              ///< its wait ended without success

    std::uint32_t live = 0;             ///< lanes that have not exited
    std::uint32_t cluster_arrived = 0;  ///< lanes that have arrived at the cluster's barrier
    std::vector<Path> paths;            ///< that do not run now; the last runnable one is the next
    std::vector<Meeting> meetings;      ///< entries are reused, see Meeting::used
    const std::uint32_t* elements = nullptr;  ///< Program::elements

    const InstructionInfo* information = nullptr;        ///< LoadedKernel::Implementation::information
    std::vector<CallFrame> frames;                       ///< entries are reused, see CallFrame::used
    std::array<std::uint64_t, kWarpSize> stack_bytes{};  ///< taken by alloca: machine/stack.h
};

/// A barrier of a CTA. It counts warps: one has arrived when all of its lanes that have not exited are here.
struct Barrier {
    std::uint32_t arrived_warps = 0;                ///< all of whose lanes are here
    std::uint32_t expected_warps = 0;               ///< 0: all that have not finished
    std::uint32_t waiting = 0;                      ///< bit per warp that has lanes waiting here
    std::array<std::uint32_t, 32> arrived_lanes{};  ///< of warps that are not complete
    std::uint32_t total = 0;                        ///< bar.red: lanes with a true predicate
    std::uint32_t lanes = 0;                        ///< bar.red: lanes that took part
    /// bar.red: where the result goes.
    struct Reduction {
        std::uint32_t warp, operand, mask;  ///< index of the warp, row of the predicate, lanes
    };
    std::vector<Reduction> reductions;
    std::uint8_t operation = 0;  ///< bar.red: 0 none, 1 popc, 2 and, 3 or

    /// Whether a warp has come since the barrier was last complete.
    bool in_use() const { return waiting != 0 || arrived_warps != 0; }
};

/// What the CTAs of a cluster share.
struct ClusterState {
    /// The CTAs by rank; nullptr for one that has not started yet or has exited, since its object may run a
    /// CTA of another cluster by then.
    std::array<Cta::Implementation*, kMaximumClusterSize> ctas{};
    std::uint32_t exited = 0;  ///< bit per rank
    unsigned size = 0;
    std::uint64_t live_threads = 0;     ///< of all CTAs, those not started yet among them
    std::uint64_t arrived_threads = 0;  ///< at the cluster's barrier
    std::uint64_t phase = 0;            ///< of the barrier

    /// Ends the phase when all live threads have arrived, and lets the waiting lanes go on.
    void complete_barrier_if_due();
    /// `lanes` are about to leave warp.live.
    void threads_exited(Warp::State& warp, std::uint32_t lanes);
    /// Tells the observers of all CTAs but `self` of warps that were released.
    void notify_others(const Cta::Implementation& self);
};

/// The first cache line is what every step looks at.
struct alignas(64) Cta::Implementation {
    const InstructionInfo* information = nullptr;  ///< of the kernel
    StepScratch* scratch = nullptr;                ///< may be shared with other CTAs
    Checker* checker = nullptr;           ///< of a checked run
    ClusterState* cluster = nullptr;      ///< nullptr: no other CTA
    std::vector<AsyncOperation> started;  ///< by the present step
    std::uint32_t released_warps = 0;     ///< bit per warp, by the present step
    std::uint32_t shared_bytes = 0;  ///< static and dynamic

    LaunchContext launch;                                  ///< a copy; its pointers are not owned
    const LoadedKernel::Implementation* kernel = nullptr;  ///< of the launch
    const Program* program = nullptr;                      ///< of the launch's mode
    std::uint64_t changes = 0;             ///< events that another warp may wait for: see Cta::changes()
    ZeroedBytes shared;                    ///< empty when nothing there is evaluated
    bool shared_is_fresh = true;           ///< no CTA has run on it
    std::vector<std::byte> local;          ///< [warp][lane][byte]
    std::uint32_t local_bytes = 0;         ///< per thread; grows with the stack of calls
    std::uint64_t local_stride = 0;        ///< per thread, as the memory system sees it
    std::vector<Line> constants;           ///< a copy when the launch supplies addresses, else empty
    std::vector<std::byte> constant_bank;  ///< .const variables; a copy when they hold addresses, else empty
    std::vector<Line> registers;           ///< rows of all warps
    std::vector<Warp> warps;               ///< what callers hold; each refers to one of `states`
    std::vector<Warp::State> states;       ///< by warp
    std::array<Barrier, kBarrierCount + kMaximumWarpgroups> barriers;  ///< of the CTA, then of its warpgroups
    std::uint32_t used_barriers = 0;  ///< one bit for each that was used since start(); the others are as new
    Dim3 position;                    ///< in the grid
    std::uint64_t linear_index = 0;   ///< in the grid, x fastest
    std::uint32_t sm = 0;             ///< value of %smid
    unsigned unfinished = 0;          ///< warps with live lanes
    bool specials_filled = false;  ///< those that are the same for every block of the launch
    ClusterState alone;            ///< what stands for the cluster when there is no other CTA
    /// The state of the cluster, also where the CTA is the only one.
    ClusterState& own_cluster() { return cluster != nullptr ? *cluster : alone; }
    unsigned cluster_rank = 0;                 ///< of the CTA in its cluster
    std::shared_ptr<Checker> own_checker;      ///< where the caller gave none
    std::unique_ptr<StepScratch> own_scratch;  ///< where the caller gave none
    TensorMemory* tensor_memory = nullptr;     ///< of the SM, or `own_tensor_memory`; nullptr: the kernel uses none
    std::unique_ptr<TensorMemory> own_tensor_memory;  ///< where no SM gives one
    TensorPermits tensor_permits;              ///< what the CTA may do with it
    CtaObserver* observer = nullptr;           ///< told of released warps; may be nullptr
    std::uint32_t observer_tag = 0;            ///< the caller's own, passed to the observer

    /// Enters a cluster, or leaves it (nullptr); begin of start().
    void join(ClusterState* with);
    /// The barrier is complete: its lanes go on, and bar.red gets its results.
    void release(unsigned barrier);
    /// To be called when lanes of `warp` have exited: barriers may be complete without them.
    void lanes_exited(Warp::State& warp);
    /// Tells the observer of warps that were released by something else than a step of this CTA.
    void notify();
};

struct Cluster::Implementation : ClusterState {};

/// Errors of a running kernel; they name kernel, CTA, warp, lane and line. Never return.
[[noreturn]] void fail_running(const Warp::State& warp, unsigned lane, const std::string& problem,
                               const std::string& remedy = "", Error::Kind kind = Error::Kind::other);
[[noreturn]] void fail_access(const Warp::State& warp, std::uint32_t lanes, const MemoryAccess& access);

/// Writes the addresses that the initial value of `variable` holds into its `bytes`. `variables`: all of the
/// kernel's.
void fill_in_addresses(const Variable& variable, const GlobalMemory& memory,
                       std::span<const Variable> variables, std::span<std::byte> bytes);

/// wgmma: fails unless all lanes run and the warp's warpgroup is complete.
void require_warpgroup(const Warp::State& warp, std::uint32_t mask);

/// Out of line, used by handlers.
Allocation* find_allocation(Warp::State& warp, const DecodedInstruction& instruction, std::uint64_t address,
                            std::uint64_t bytes);

/// The state of an mbarrier in the CTA's shared memory, in words.
std::string describe_memory_barrier(const Cta::Implementation& cta, std::uint64_t address);
/// Performs what the end of asynchronous work does to barriers.
void signal_completion(Cta::Implementation& cta, const AsyncOperation& operation);

/// Addresses in shared::cluster: offsets with the CTA's rank plus one in bits 24 and up; zero there means the
/// own CTA.
inline constexpr unsigned kClusterRankShift = 24;
inline constexpr std::uint64_t kClusterOffsetMask = (std::uint64_t{1} << kClusterRankShift) - 1;
inline std::uint64_t cluster_address(unsigned rank, std::uint64_t offset) {
    return (std::uint64_t{rank} + 1) << kClusterRankShift | offset;
}
/// Whether a shared::cluster address belongs to a CTA of the cluster that has exited.
bool has_exited(const Cta::Implementation& self, std::uint64_t address);
/// The CTA that a shared::cluster address belongs to and, in `offset`, where there. nullptr: no such CTA.
Cta::Implementation* cta_of_address(Cta::Implementation& self, std::uint64_t address, std::uint64_t& offset);

}  // namespace heddle::ptx
