// The border between what an instruction means (isa/ptx) and when it happens (models/gpu).
//
// A LoadedKernel is a PTX kernel decoded once. A Cta is one thread block of a launch: shared memory, barriers
// and warps. Warp::step() performs one instruction of one warp and says what a timing model must know of it.
// Nothing here knows of cycles. A plain functional run (run_functionally) and the SystemC streaming
// multiprocessor drive the same objects.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "isa/ptx/global_memory.h"
#include "isa/ptx/module.h"

namespace heddle::ptx {

inline constexpr unsigned kWarpSize = 32;

struct Dim3 {
    std::uint32_t x = 1, y = 1, z = 1;
    std::uint64_t count() const { return std::uint64_t{x} * y * z; }
    bool operator==(const Dim3&) const = default;
};

/// The execution unit that a machine operation occupies.
enum class Pipeline : std::uint8_t {
    none,     ///< costs no issue slot: removed by the assembler (cvta of one space, register renaming)
    fp32,     ///< FADD, FMUL, FFMA, FSETP, ...
    integer,  ///< IADD3, LOP3, SHF, IMAD (32 bit), ISETP, moves, selects
    fp64,
    half,        ///< HADD2, HFMA2 (fp16 and bf16)
    special,     ///< MUFU: ex2, lg2, rcp, rsqrt, sqrt, sin, cos, tanh; conversions
    tensor,      ///< HMMA, IMMA, DMMA
    load_store,  ///< LSU: global, shared, local, constant through LSU, ldmatrix, shuffles
    branch,      ///< branches, exit, warp-level synchronisation
    barrier,     ///< bar.sync, bar.arrive, membar, cp.async.wait
};
inline constexpr std::size_t kPipelineCount = 10;

enum class Synchronisation : std::uint8_t {
    none,
    cta_barrier,        ///< the warp may have to wait: see Warp::blocked()
    async_copy_commit,  ///< cp.async.commit_group
    async_copy_wait,  ///< cp.async.wait_group N: at most `async_copy_groups_left` groups may stay unfinished
    memory_fence,
    exit,
    wgmma_fence,   ///< registers written before may be read by wgmma.mma_async after it
    wgmma_commit,  ///< wgmma.commit_group
    /// wgmma.wait_group N: at most `async_copy_groups_left` groups of products may stay unfinished. The warps
    /// of a warpgroup meet here: see Warp::blocked().
    wgmma_wait,
};

/// What is the same for every execution of an instruction. Scoreboard identifiers name virtual registers
/// (predicates too) of the kernel, dense from 0 to LoadedKernel::scoreboard_size() - 1.
struct InstructionInfo {
    Pipeline pipeline = Pipeline::none;
    /// Warp instructions that the hardware issues for this PTX instruction (a 64-bit multiply is several); 0
    /// when none.
    std::uint8_t machine_operations = 1;
    StateSpace space = StateSpace::none;
    bool reads_memory = false;
    bool writes_memory = false;
    bool atomic = false;
    bool async_copy = false;  ///< cp.async: global -> shared without registers
    bool bypass_l1 = false;   ///< .cg, .cs volatile and the like
    Synchronisation synchronisation = Synchronisation::none;
    std::uint16_t async_copy_groups_left = 0;
    /// Tensor core work: multiply-accumulates of the whole warp instruction (m * n * k), and the input type.
    std::uint32_t tensor_macs = 0;
    Type tensor_type = Type::none;
    /// wgmma.mma_async: its registers may not be touched before a wait for its group. `tensor_macs` and
    /// `tensor_operand_bytes` are one warp's quarter of the instruction.
    bool asynchronous_tensor = false;
    std::uint32_t tensor_operand_bytes = 0;  ///< read from shared memory
    std::vector<std::uint16_t> reads;  ///< scoreboard identifiers, the guard predicate among them
    std::vector<std::uint16_t> writes;
    std::uint32_t line = 0;  ///< 1-based line of the PTX text
};

/// One warp's access to memory, as it leaves the address unit. Addresses of inactive lanes are undefined.
struct MemoryAccess {
    StateSpace space = StateSpace::none;
    bool write = false;
    bool atomic = false;
    std::uint8_t bytes_per_lane = 0;  ///< 1..16
    std::uint32_t lanes = 0;          ///< active lanes
    std::array<std::uint64_t, kWarpSize> address;
    /// cp.async: the shared-memory side; `address` is the global side.
    std::array<std::uint32_t, kWarpSize> shared_address;
    /// cp.async: active lanes with a source size of 0, which write zeros and read nothing. They are not in
    /// `lanes`.
    std::uint32_t zero_filled_lanes = 0;
};

/// What one step did.
struct StepResult {
    const InstructionInfo* info = nullptr;
    std::uint32_t active_lanes = 0;        ///< after the guard predicate; may be 0
    const MemoryAccess* access = nullptr;  ///< valid until the next step of any warp of this Executor thread
    bool finished = false;                 ///< the warp has no live lane left
    std::uint32_t released_warps =
        0;  ///< barrier: bit i set when warp i of the CTA (i < 32) was released by this step
};

/// How much is evaluated.
enum class Mode : std::uint8_t {
    functional,  ///< every value
    timing,      ///< only what steers: addresses, predicates, loop counters, synchronisation
};

/// A kernel decoded for execution. Immutable, shared by all CTAs. Throws heddle::Error (with the PTX line)
/// when the kernel uses an instruction or operand form that is not supported.
class LoadedKernel {
  public:
    /// The module must outlive nothing: what is needed is copied. `entry` is the kernel's name.
    /// `compute_capability` chooses the machine operations per instruction; 0: that of the module's .target.
    LoadedKernel(std::shared_ptr<const Module> module, const std::string& entry,
                 unsigned compute_capability = 0);
    ~LoadedKernel();
    LoadedKernel(LoadedKernel&&) noexcept;

    const std::string& name() const;
    std::span<const InstructionInfo> instructions() const;
    std::size_t scoreboard_size() const;
    /// Registers per thread (32 bit) by liveness: the peak of live values, plus the few the hardware
    /// reserves, rounded up to the allocation unit of 8. Decides occupancy.
    unsigned registers_per_thread() const;
    std::uint32_t static_shared_bytes() const;
    std::uint32_t parameter_bytes() const;
    /// Byte offset, size and type of each parameter, in order.
    std::span<const Parameter> parameters() const;
    /// Instructions whose values must be computed in timing mode, of all instructions.
    std::size_t steering_instructions() const;

    struct Implementation;
    const Implementation& implementation() const { return *implementation_; }

  private:
    std::unique_ptr<Implementation> implementation_;
};

/// One launch: a kernel with its grid, parameters and memory.
struct LaunchContext {
    const LoadedKernel* kernel = nullptr;
    Dim3 grid, block;
    std::uint32_t dynamic_shared_bytes = 0;
    std::vector<std::byte> parameters;  ///< laid out as LoadedKernel::parameters() says
    GlobalMemory* memory = nullptr;
    Mode mode = Mode::functional;
    unsigned compute_capability = 90;  ///< decides the arithmetic of mma.sync
};

class Cta;

/// What a scheduler asks in every cycle, kept where it costs one load.
struct WarpStatus {
    std::uint32_t pc = 0;
    std::uint16_t index = 0;
    bool blocked = false;
    bool finished = false;
};

/// 32 threads that issue together.
class Warp {
  public:
    bool finished() const { return status->finished; }
    /// True while the warp waits at a barrier that others have not reached.
    bool blocked() const { return status->blocked; }
    /// Index, in LoadedKernel::instructions(), of the instruction that step() would perform. Undefined when
    /// finished.
    std::uint32_t next() const { return status->pc; }
    /// Performs the next instruction. `clock` is what %clock and %clock64 read.
    StepResult step(std::uint64_t clock);
    unsigned index() const { return status->index; }  ///< within the CTA

    struct State;
    State* state = nullptr;              ///< owned by the Cta
    const WarpStatus* status = nullptr;  ///< part of `state`
};

/// One thread block. Reusable: start() begins another block of the same launch without allocating again.
class Cta {
  public:
    explicit Cta(const LaunchContext& launch);
    ~Cta();
    Cta(Cta&&) noexcept;
    /// `linear_index` counts blocks x fastest; `sm` is what %smid reads.
    void start(std::uint64_t linear_index, std::uint32_t sm = 0);
    unsigned warp_count() const;
    Warp& warp(unsigned index);
    bool finished() const;
    /// What each unfinished warp waits for, one line each, for a deadlock report.
    std::string describe_waiting() const;

    struct Implementation;
    Implementation& implementation() { return *implementation_; }

  private:
    std::unique_ptr<Implementation> implementation_;
};

/// Runs a whole launch without time: CTAs one after another, warps round-robin. Throws heddle::Error on an
/// out-of-bounds or misaligned access and on deadlock (every unfinished warp blocked). Returns warp
/// instructions run.
std::uint64_t run_functionally(const LaunchContext& launch);

/// Gives the module's .global variables that the kernel may name a place in `memory`, with their initial
/// values. Variables that have one already keep it and their values. Needed before a Cta of a kernel that
/// names such a variable.
void allocate_module_variables(const LoadedKernel& kernel, GlobalMemory& memory);
/// Where a .global variable lies, 0 when it has no place.
std::uint64_t module_variable_address(const GlobalMemory& memory, const std::string& variable);

/// Lays `values` out as the kernel's parameters. Each value is given as raw bytes of exactly the parameter's
/// size.
std::vector<std::byte> pack_parameters(const LoadedKernel& kernel,
                                       std::span<const std::vector<std::byte>> values);

}  // namespace heddle::ptx
