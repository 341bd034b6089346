// The border between what an instruction means (isa/ptx) and when it happens (models/gpu).
//
// A LoadedKernel is a PTX kernel decoded once. A Cta is one thread block of a launch: shared memory, barriers
// and warps. Warp::step() performs one instruction of one warp and says what a timing model must know of it.
// Nothing here knows of cycles. A plain functional run (run_functionally) and the SystemC streaming
// multiprocessor drive the same objects.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/ptx/check.h"
#include "isa/ptx/extent.h"
#include "isa/ptx/global_memory.h"
#include "isa/ptx/module.h"
#include "isa/ptx/operation.h"

namespace heddle::ptx {

inline constexpr unsigned kWarpSize = 32;

/// What a warp does to others when it performs an instruction: how a timing model must let it wait.
enum class Synchronisation : std::uint8_t {
    none,
    cta_barrier,        ///< the warp may have to wait: see Warp::blocked()
    cluster_barrier,    ///< barrier.cluster.wait: the same
    cluster_arrive,     ///< barrier.cluster.arrive
    async_copy_commit,  ///< cp.async.commit_group
    async_copy_wait,  ///< cp.async.wait_group N: at most `async_copy_groups_left` groups may stay unfinished
    memory_fence,
    exit,
    wgmma_fence,   ///< registers written before may be read by wgmma.mma_async after it
    wgmma_commit,  ///< wgmma.commit_group
    /// wgmma.wait_group N: at most `async_copy_groups_left` groups of products may stay unfinished. The warps
    /// of a warpgroup meet here: see Warp::blocked().
    wgmma_wait,
    bulk_commit,  ///< cp.async.bulk.commit_group
    /// cp.async.bulk.wait_group N: at most `async_copy_groups_left` groups of bulk copies may stay
    /// unfinished.
    bulk_wait,
    bulk_wait_read,  ///< ... .read: they may still have to write, but have read their source
    /// setmaxnreg: each warp has `register_count` registers per thread from here on. .inc waits for them.
    fewer_registers,
    more_registers,
    launch_dependents,  ///< griddepcontrol.launch_dependents
    dependency_wait,    ///< griddepcontrol.wait: until the grids that this one depends on have ended
};

/// The use that an instruction makes of an mbarrier, as far as its latency depends on it.
enum class MemoryBarrierUse : std::uint8_t { none, arrive, try_wait, test_wait };

/// The use that an instruction makes of tensor memory, as far as its time depends on it.
enum class TensorMemoryUse : std::uint8_t {
    none,
    allocate,  ///< tcgen05.alloc, dealloc and relinquish_alloc_permit
    load,      ///< tcgen05.ld: InstructionInfo::tensor_memory_bytes from tensor memory to registers
    store,     ///< tcgen05.st: as many to tensor memory
    wait_load,   ///< tcgen05.wait::ld: until the warp's loads have ended
    wait_store,  ///< tcgen05.wait::st
    issue,  ///< tcgen05.mma, cp, shift, commit: one thread begins work that goes on by itself (AsyncOperation)
};

/// Which lines a cache gives up first (PTX ISA, "Cache eviction priority hints").
enum class CachePriority : std::uint8_t { none, normal, first, last, unchanged };

/// The cache operators and hints of an access.
struct CachePolicy {
    CachePriority l1 = CachePriority::none;         ///< priority in L1
    CachePriority primary = CachePriority::none;    ///< L2, of `sixteenths` of the lines
    CachePriority secondary = CachePriority::none;  ///< L2, of the others
    std::uint8_t sixteenths = 16;                   ///< part of the lines, 16: all
    bool allocate_l1 = true;                        ///< false: a miss leaves nothing in L1
    bool operator==(const CachePolicy&) const = default;
};

/// No identifier of a scoreboard.
inline constexpr std::uint16_t kNoScoreboard = 0xFFFF;

/// What is the same for every execution of an instruction. Scoreboard identifiers name virtual registers
/// (predicates too) of the kernel, dense from 0 to LoadedKernel::scoreboard_size() - 1.
struct InstructionInfo {
    Pipeline pipeline = Pipeline::none;     ///< which of the machine's pipelines it takes
    Operation operation = Operation::none;  ///< row of the table of latencies and intervals
    /// Integer work whose result is the same for all threads of a warp, by data flow: see
    /// decode/uniformity.h.
    bool uniform = false;
    std::int32_t parameter_offset = -1;  ///< of a load of a kernel parameter: its byte there
    /// Warp instructions that the hardware issues for this PTX instruction (a 64-bit multiply is several); 0
    /// when none.
    std::uint8_t machine_operations = 1;
    StateSpace space = StateSpace::none;
    bool reads_memory = false;
    bool writes_memory = false;
    bool atomic = false;
    bool texture = false;     ///< goes through the texture units: tex, tld4, txq
    bool async_copy = false;  ///< cp.async: global -> shared without registers
    bool bulk_copy = false;   ///< starts an AsyncOperation that copies: cp.async.bulk, st.async
    bool bypass_l1 = false;   ///< .cg, .cv, volatile and the like
    bool spill = false;       ///< local memory stands in for a register
    CachePolicy cache;        ///< of memory accesses and bulk copies
    Synchronisation synchronisation = Synchronisation::none;
    std::uint16_t async_copy_groups_left = 0;
    std::uint16_t register_count = 0;  ///< of setmaxnreg
    MemoryBarrierUse memory_barrier = MemoryBarrierUse::none;
    /// Tensor core work: multiply-accumulates of the whole warp instruction (m * n * k), and the input type.
    std::uint32_t tensor_macs = 0;
    Type tensor_type = Type::none;
    /// wgmma.mma_async: its registers may not be touched before a wait for its group. `tensor_macs` and
    /// `tensor_operand_bytes` are one warp's quarter of the instruction.
    bool asynchronous_tensor = false;
    std::uint32_t tensor_operand_bytes = 0;  ///< read from shared memory
    bool tensor_a_in_registers = false;
    TensorMemoryUse tensor_memory = TensorMemoryUse::none;
    std::uint32_t tensor_memory_bytes = 0;  ///< of the whole warp
    std::vector<std::uint16_t> reads;  ///< scoreboard identifiers, the guard predicate among them
    std::vector<std::uint16_t> writes;
    /// Machine code: cycles after which the warp's next instruction may issue, by the control word. 0: PTX, whose registers
    /// decide.
    std::uint8_t stall = 0;
    /// Machine code: the scoreboard identifier that is ready when this instruction has read its operands; kNoScoreboard: none.
    std::uint16_t operands_read = kNoScoreboard;
    std::uint32_t line = 0;  ///< 1-based line of the PTX text
    SourcePlace source;      ///< LoadedKernel::describe_source() says it in words
};

/// The texels that a texture instruction reads. Those of a border lie in no memory.
struct TexelAddresses {
    static constexpr unsigned kMost = 8;  ///< of a lane: a linear filter in three dimensions
    unsigned count = 0;                   ///< of the lane that has most
    std::array<std::uint32_t, kMost> lanes{};  ///< those that read their n-th texel
    std::array<std::array<std::uint64_t, kWarpSize>, kMost> address;
};

/// One warp's access to memory, as it leaves the address unit. Addresses of inactive lanes are undefined.
struct MemoryAccess {
    /// shared_cluster: some lanes reach the shared memory of another CTA; addresses then hold its rank plus
    /// one in bits 24 and up.
    StateSpace space = StateSpace::none;
    bool write = false;
    bool atomic = false;
    std::uint8_t bytes_per_lane = 0;  ///< 1..16; 32 for large tiles of wmma
    std::uint32_t lanes = 0;          ///< active lanes
    std::array<std::uint64_t, kWarpSize> address;
    /// cp.async: the shared-memory side; `address` is the global side.
    std::array<std::uint32_t, kWarpSize> shared_address;
    /// cp.async: active lanes with a source size of 0, which write zeros and read nothing. They are not in
    /// `lanes`.
    std::uint32_t zero_filled_lanes = 0;
    /// tex and tld4: all texels of the lanes, which may be several for each; `address` has the first of each
    /// lane. nullptr: an access of another kind.
    const TexelAddresses* texels = nullptr;
};

/// Memory that a step of a warp uses, one step at a time. Thread blocks of one launch may share one, so that
/// it stays in the host's caches.
struct StepScratch {
    MemoryAccess access;  ///< of the last memory instruction
    TexelAddresses texels;  ///< of the last texture instruction
    /// The allocation that each instruction last accessed: nearly always the right one.
    std::vector<Allocation*> last_allocation;
};

/// Work that an instruction begins and that ends later: a bulk copy, or arrivals at barriers in shared memory
/// that wait for copies. Values move when the instruction is performed, which a correct program cannot tell;
/// what ends later is the signal. Whoever drives the CTA calls Cta::complete() when the work is done.
struct AsyncOperation {
    /// What goes on after the instruction.
    enum class Kind : std::uint8_t {
        bulk_load,            ///< global memory to shared memory
        bulk_store,           ///< shared memory to global memory, also with reduction
        shared_copy,          ///< shared memory to that of another CTA, st.async, red.async
        prefetch,             ///< global memory to L2
        arrive_after_copies,  ///< cp.async.mbarrier.arrive: when this warp's earlier cp.async are done
        tensor_product,       ///< tcgen05.mma: see `tensor`
        tensor_copy,          ///< tcgen05.cp and shift: `bytes` to or within the tensor memory of each CTA
        tensor_commit,        ///< tcgen05.commit: when this CTA's tensor work so far is done
        answer,               ///< clusterlaunchcontrol.try_cancel: 16 bytes to shared memory
    };
    Kind kind = Kind::bulk_load;       ///< what goes on
    bool reduces = false;              ///< bulk_store: read-modify-write at L2
    bool in_bulk_group = false;        ///< belongs to the warp's open bulk group
    std::uint16_t warp = 0;            ///< that began it
    std::uint32_t bytes = 0;           ///< moved per destination, those filled in out of bounds among them
    std::uint16_t destinations = 0;    ///< to shared memory: bit per cluster rank that receives the data
    std::uint32_t shared_address = 0;  ///< of the data there
    /// Pieces of global memory, each contiguous.
    struct Piece {
        std::uint64_t address;  ///< byte address
        std::uint32_t bytes;    ///< size
    };
    std::vector<Piece> pieces;
    /// What completion does to barriers in shared memory.
    struct Signal {
        std::uint16_t rank;      ///< CTA of the cluster
        std::uint32_t address;   ///< in its shared memory
        std::uint32_t arrivals;  ///< counted
        std::uint32_t transaction_bytes;  ///< by which the barrier's expected bytes are lowered
    };
    std::vector<Signal> signals;
    CachePolicy cache;  ///< of the global side
    /// What a tcgen05.mma asks of the tensor core of each CTA that takes part.
    struct TensorProduct {
        std::uint64_t macs = 0;        ///< multiply-accumulates, of one CTA
        std::uint64_t slots = 0;       ///< the same with those that lanes without a row of D leave idle
        std::uint32_t fetched = 0;     ///< bytes of A and B read from the CTA's shared memory
        std::uint16_t ctas = 1;        ///< 2: both CTAs of a pair, each for its half
        std::uint8_t element_bits = 16;  ///< of A as it is multiplied: 32 tf32, 16, 8 (also of 6 and 4 bits), 4 where packed
        bool integer = false;          ///< 8-bit integers
    };
    TensorProduct tensor;
};

/// The effects of one step of a warp.
struct StepResult {
    const InstructionInfo* info = nullptr;  ///< the instruction that was performed; nullptr: none
    std::uint32_t active_lanes = 0;        ///< after the guard predicate; may be 0
    const MemoryAccess* access = nullptr;  ///< valid until the next step with the same StepScratch
    bool finished = false;                 ///< the warp has no live lane left
    /// Bit i set when warp i of the CTA, blocked before, was released by this step.
    std::uint32_t released_warps = 0;
    /// Work that goes on: see Cta::started(). Valid until the next step of this CTA.
    std::uint32_t started_operations = 0;
};

/// Which values are computed.
enum class Mode : std::uint8_t {
    functional,  ///< every value
    timing,      ///< only what steers: addresses, predicates, loop counters, synchronisation
};

/// What becomes of a kernel between its text and the machine.
enum class Assembly : std::uint8_t {
    as_written,  ///< every instruction of the text, in its order
    scheduled,   ///< as ptxas would: isa/ptx/schedule. The values are the same, bit by bit.
};

/// A kernel decoded for execution. Immutable, shared by all CTAs. Throws heddle::Error (with the PTX line)
/// when the kernel uses an instruction or operand form that is not supported.
class LoadedKernel {
  public:
    /// The module need not outlive this object, which copies what it needs. `entry` is the kernel's name, as
    /// Module::find() takes it. `compute_capability` chooses the machine operations per instruction; 0: that
    /// of the module's .target.
    LoadedKernel(const std::shared_ptr<const Module>& module, const std::string& entry,
                 unsigned compute_capability = 0, Assembly assembly = Assembly::as_written);
    ~LoadedKernel();
    LoadedKernel(LoadedKernel&&) noexcept;

    /// The symbol; the instructions in program order, valid as long as the kernel; the number of registers
    /// that scoreboards must hold.
    const std::string& name() const;
    std::span<const InstructionInfo> instructions() const;
    std::size_t scoreboard_size() const;
    /// Registers per thread (32 bit) by the allocation, within .maxnreg, launch bounds and what the machine
    /// has; up to 4 more below 32, where they cost no occupancy. Decides occupancy.
    unsigned registers_per_thread() const;
    /// Replaces the count by another one, such as that of NVIDIA's assembler.
    void set_registers_per_thread(unsigned registers);
    /// The same before any bounds: the highest register that the allocation uses, plus one.
    unsigned register_count() const;
    /// The 32-bit register that holds each register of `reads` and `writes` of InstructionInfo, the even one
    /// of a pair for 64 bits; kNoRegister for predicates and operands from the constant bank.
    std::span<const std::uint16_t> register_assignment() const;
    /// The kernel was translated from machine code: control words say when its instructions issue, and scoreboard identifiers
    /// are the barriers that they set, not registers. nullptr: it was not.
    const MachineCode* machine_code() const;
    static constexpr std::uint16_t kNoRegister = 0xFFFF;
    /// Values that found no register within the limit of the kernel (.maxnreg, launch bounds, 255) lie in
    /// local memory. Per thread, as ptxas -v counts them: each load and store in the text once.
    struct Spills {
        std::uint32_t stack_bytes = 0, store_bytes = 0, load_bytes = 0;  ///< of one thread
    };
    Spills spills() const;
    std::uint32_t static_shared_bytes() const;
    std::uint32_t parameter_bytes() const;
    /// Byte offset, size and type of each parameter, in order.
    std::span<const Parameter> parameters() const;
    /// Initial values of the module's .const variables, each at its Variable::offset.
    std::span<const std::byte> constants() const;
    /// Whether values may depend on time: the kernel reads %clock, %clock64 or %globaltimer.
    bool reads_clock() const;
    /// They may depend on where a thread runs: it reads %smid or %warpid.
    bool reads_its_place() const;
    /// Thread blocks (or clusters) of a launch tell each other nothing: no atomic operations on global memory, no volatile or ordered accesses
    /// to it, no output and no heap. Then they may run in any order and at the same time, with the same results.
    bool blocks_are_independent() const;
    /// Instructions whose values must be computed in timing mode, of all instructions.
    std::size_t steering_instructions() const;
    /// Timing mode: byte offsets of pointer parameters through which values that steer are read, and through
    /// which stores go whose values are not computed.
    std::span<const std::uint32_t> steering_reads() const;
    std::span<const std::uint32_t> skipped_writes() const;
    /// Timing mode: values are written to global memory, where other thread blocks may read them.
    bool steering_writes() const;
    /// No value in global memory or in a texture, no clock and no number of an SM or warp, decides about the kernel's time: launches of the same geometry and the same
    /// parameters take the same cycles, whatever lies in memory, and timing mode writes nothing there.
    bool time_depends_on_launch_alone() const;
    /// The CUDA source of an instruction: "blas.cu:12 (dot(float*) inlined at blas.cu:30)"; "" when the
    /// module was compiled without -lineinfo.
    std::string describe_source(std::size_t instruction) const;
    /// The files that the module names, to which InstructionInfo::source refers.
    std::span<const std::string> source_files() const;

    struct Implementation;
    /// For isa/ptx itself.
    const Implementation& implementation() const { return *implementation_; }

  private:
    std::unique_ptr<Implementation> implementation_;
};

class TextureTable;  // isa/ptx/texture.h

/// A launch attribute, as CUDA's cudaAccessPolicyWindow: how long lines of a range stay in L2. It has no
/// effect in functional runs.
struct AccessPolicyWindow {
    std::uint64_t base = 0, bytes = 0;  ///< no window: 0 bytes
    double hit_ratio = 1;  ///< part of the range's lines that get `hit`, in sixteenths; the others `miss`
    CachePriority hit = CachePriority::none;  ///< persisting: last, streaming: first, normal
    CachePriority miss = CachePriority::none;  ///< priority of the other lines
};

/// One launch, as the executor sees it. What it points to must outlive the run.
struct LaunchContext {
    const LoadedKernel* kernel = nullptr;  ///< what is run
    Dim3 grid, block;                      ///< thread blocks, threads of a thread block
    Dim3 cluster;  ///< thread blocks per cluster
    std::uint32_t dynamic_shared_bytes = 0;  ///< bytes per thread block
    std::vector<std::byte> parameters;  ///< laid out as LoadedKernel::parameters() says
    GlobalMemory* memory = nullptr;     ///< of the device
    Mode mode = Mode::functional;       ///< which instructions are evaluated
    unsigned compute_capability = 90;  ///< decides the arithmetic of mma.sync
    /// Receives the output of the kernel's printf, one call at a time; when it is empty, the output goes to
    /// standard output.
    std::function<void(std::string_view)> print = {};
    std::uint64_t heap_bytes = std::uint64_t{8} << 20;  ///< what malloc may give out: cudaLimitMallocHeapSize
    /// Functional mode: look for errors that need not show in the results. nullptr: do not.
    CheckLog* check = nullptr;
    std::uint64_t stack_bytes = std::uint64_t{64} << 10;  ///< per thread, for functions that call themselves
    AccessPolicyWindow access_policy_window = {};
    /// Stands in for the initial values of the module's .const variables, which hosts may change between launches: as long as
    /// LoadedKernel::constants(). Empty: the initial values.
    std::span<const std::byte> constants = {};
    /// Functional mode: threads of the host that share the work where thread blocks are independent. The results are the same.
    unsigned threads = 1;
    double nanoseconds_per_cycle = 1;  ///< %globaltimer counts nanoseconds, Warp::step()'s clock cycles
    double start_nanoseconds = 0;      ///< what %globaltimer says when the kernel's clock is 0
    /// A cooperative launch, whose thread blocks all run at once: where its barrier is kept, which %envreg1
    /// (upper half) and %envreg2 say. 0: an ordinary launch. See make_cooperative().
    std::uint64_t grid_workspace = 0;
    /// What texture and surface objects among the parameters stand for; must outlive the run. nullptr: there
    /// are none.
    const TextureTable* textures = nullptr;
};

/// Makes the launch a cooperative one, as cudaLaunchCooperativeKernel() does: gives the grid's barrier a
/// place in the launch's memory.
void make_cooperative(LaunchContext& launch);

class Cta;

inline constexpr unsigned kMaximumClusterSize = 16;  ///< CTAs; more than 8 needs an opt-in on Hopper

class TensorMemory;  // isa/ptx/tensor_memory.h

/// Is told of warps that other CTAs or the end of asynchronous work have released.
class CtaObserver {
  public:
    virtual ~CtaObserver() = default;
    /// The tensor memory of the SM that the CTA runs on, which thread blocks there share; nullptr: the CTA has one to itself.
    virtual TensorMemory* tensor_memory() { return nullptr; }
    /// Bit i: warp i can go on, of the CTA that was given this observer with this `tag`.
    virtual void warps_released(std::uint32_t tag, std::uint32_t warps) = 0;
};

/// CTAs that run at the same time and reach one another's shared memory. Make one for each cluster that runs
/// and start its CTAs with it; it must live until they have finished.
class Cluster {
  public:
    explicit Cluster(const LaunchContext& launch);
    ~Cluster();
    Cluster(Cluster&&) noexcept;
    struct Implementation;
    /// For isa/ptx itself.
    Implementation& implementation() { return *implementation_; }

  private:
    std::unique_ptr<Implementation> implementation_;
};
/// CTAs of a cluster, those of clusters in a launch. The grid must be whole clusters.
unsigned cluster_size(const LaunchContext& launch);
/// Linear index of the CTA with rank `rank` in cluster number `cluster` (x fastest).
std::uint64_t cta_of_cluster(const LaunchContext& launch, std::uint64_t cluster, unsigned rank);

/// What a scheduler asks in every cycle, kept where it costs one load.
struct WarpStatus {
    std::uint32_t pc = 0;     ///< index of the next instruction; of the path that runs
    std::uint16_t index = 0;  ///< of the warp in its thread block
    bool blocked = false;     ///< see Warp::blocked()
    bool finished = false;    ///< all lanes have exited
};

/// 32 threads that issue together.
class Warp {
  public:
    /// Whether all lanes have exited.
    bool finished() const { return status->finished; }
    /// True while no lane can go on without others: at a barrier, or in a wait for asynchronous work.
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

/// What decides how a warp goes on: its place and the values in its registers and local memory, as a hash;
/// and the clock of its last step, which tells whether it has moved since.
struct WarpFingerprint {
    std::uint64_t state = 0, clock = 0;  ///< the hash; the clock of the last step
};

/// One thread block. Reusable: start() begins another block of the same launch without allocating again.
class Cta {
  public:
    /// `scratch`: shared with other CTAs of the same launch, must outlive them; nullptr: its own.
    explicit Cta(const LaunchContext& launch, StepScratch* scratch = nullptr);
    ~Cta();
    Cta(Cta&&) noexcept;
    /// `linear_index` counts blocks x fastest; `sm` is what %smid reads. `cluster`: needed when the launch
    /// has clusters.
    void start(std::uint64_t linear_index, std::uint32_t sm = 0, Cluster* cluster = nullptr);
    std::uint64_t linear_index() const;
    void set_observer(CtaObserver* observer, std::uint32_t tag);
    /// The work that the last step began: StepResult::started_operations of them.
    std::span<AsyncOperation> started();
    /// To be called when work that a warp of this CTA began has ended.
    void complete(const AsyncOperation& operation);
    /// To be called when nothing in the machine can go on: lets lanes that wait for others at a reconvergence
    /// point go ahead, and ends waits that may end without success. Returns the warps released, bit i for
    /// warp i.
    std::uint32_t resume_stalled();
    /// Counts what other warps can notice: values changed in memory by atomics, barriers completed, warps
    /// finished. As long as the count stays the same and nothing is stored, a loop that waits cannot end.
    std::uint64_t changes() const;
    WarpFingerprint fingerprint(unsigned index) const;
    unsigned warp_count() const;
    Warp& warp(unsigned index);
    bool finished() const;
    /// A text for a deadlock report: a line for each unfinished warp, with what it waits for.
    std::string describe_waiting() const;

    struct Implementation;
    /// For isa/ptx itself.
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
void allocate_module_variables(std::span<const Variable> variables, GlobalMemory& memory);
/// The address of a .global variable; 0 when it has none yet.
std::uint64_t module_variable_address(const GlobalMemory& memory, const std::string& variable);

/// Lays `values` out as the kernel's parameters. Each value is given as raw bytes of exactly the parameter's
/// size.
std::vector<std::byte> pack_parameters(const LoadedKernel& kernel,
                                       std::span<const std::vector<std::byte>> values);

}  // namespace heddle::ptx
