// What a kernel did and how long it took.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/common/cycle.h"
#include "models/gpu/power.h"

namespace heddle::models::gpu {

/// What a sub-core did in a cycle. Every cycle of every sub-core, launch overhead included, has exactly one.
enum class CycleReason : std::uint8_t {
    issued,
    memory,             ///< the warp that issues next waits for a memory result
    fixed_latency,      ///< it waits for a result of fixed latency, a branch, or the release of a barrier
    pipeline_busy,      ///< its operands are there, its port is not
    queue_full,         ///< its operands are there, the load-store unit has no room
    barrier,            ///< all warps wait at a barrier
    no_warp,            ///< no warp is resident, and some were before: the SM has run out of work
    not_launched,       ///< nothing has been launched here: before the first warp, and around the CTAs' run
    instruction_fetch,  ///< the warp that issues next waits for an instruction cache
    constant_miss,      ///< it waits for a constant that the cache of constants did not have
    register_read,      ///< operands in one register bank hold the sub-core up
};
inline constexpr std::size_t kCycleReasonCount = 11;
const char* name_of(CycleReason reason);

/// Sub-core cycles by CycleReason, of one instruction: those in which it issued, and those in which nothing
/// issued and it was the one that would have been next.
using InstructionCycles = std::array<std::uint64_t, kCycleReasonCount>;

/// Traffic through one level of the memory hierarchy.
struct LevelStatistics {
    std::uint64_t requests = 0;     ///< cache lines asked for (L1: by warp instructions; DRAM: reads)
    std::uint64_t sectors = 0;      ///< 32-byte sectors asked for, loads and stores
    std::uint64_t hit_sectors = 0;  ///< of loads: found there
    std::uint64_t bytes = 0;        ///< moved, 32 per sector
};

/// One axis of the roofline: what a kernel did of a kind, beside what the machine could do in the same time.
struct Throughput {
    std::string name;    ///< "tensor", "fp32", "dram", "l2", "l1 and shared"
    std::string unit;    ///< "FLOP" or "B"
    double amount = 0;   ///< floating-point operations or bytes, of the whole kernel
    double ceiling = 0;  ///< per second
};

/// RunOptions::sample: what of the kernel was simulated.
struct Sampling {
    bool asked = false;    ///< whether the run was asked to sample
    double simulated = 1;  ///< part of the cycles that was simulated; the rest was extrapolated
    double error = 0;      ///< cycles may be wrong by this part, up or down
    std::string note;      ///< what was left out, or why nothing was
};

/// What is recorded over time.
struct SeriesSettings {
    Cycle interval = 0;  ///< between two points; 0: nothing is recorded
    bool by_sm = false;  ///< one group for each SM, not for each GPC
};

/// What a group of SMs did in one interval.
struct SeriesGroup {
    std::uint64_t instructions = 0;  ///< issue slots
    double tensor_cycles = 0;        ///< sub-core cycles in which a tensor core was given work
    InstructionCycles cycles{};      ///< sub-core cycles by CycleReason
};

/// One interval, that which ended with the run or before cycles that were left out may be shorter.
struct SeriesPoint {
    Cycle begin = 0,
          end = 0;  ///< from the launch of the first CTA; with what a sampled run has left out before
    std::vector<SeriesGroup> groups;  ///< by GPC, or by SM with Series::by_sm; Series::group_sms has their
                                      ///< sizes
    std::uint64_t l2_sectors = 0, l2_load_sectors = 0, l2_hit_sectors = 0;  ///< that L2 was asked for; of
                                                                            ///< these, by loads; of these,
                                                                            ///< found in L2
    std::uint64_t dram_bytes = 0;                                           ///< read and written
    double energy = 0;                                                      ///< joules, board
};

/// RunOptions::series. Everything adds up to the kernel's totals but for what was left out, and the launch
/// overhead.
struct Series {
    Cycle interval = 0;                    ///< 0: none was asked for
    bool by_sm = false;                    ///< groups are SMs, else GPCs
    double clock = 0;                      ///< Hz
    Cycle start = 0;                       ///< of cycle 0, in the kernel
    std::vector<std::uint32_t> group_sms;  ///< SMs in each group
    std::vector<SeriesPoint> points;  ///< in order of time, without gaps but for cycles that were left out
};

/// Counters of one run of one kernel. Those of a sampled run are extrapolated to the whole kernel, see
/// `sampling`. Sectors have 32 bytes.
struct KernelResult {
    Cycle cycles = 0;    ///< end to end, launch overhead included
    double seconds = 0;  ///< `cycles` at the clock of the run
    /// Part of `cycles` until every thread block has ended or performed griddepcontrol.launch_dependents: a
    /// programmatic dependent launch may begin.
    Cycle dependents_start = 0;
    Cycle launch_cycles = 0;  ///< the part of `cycles` outside the CTAs' run

    std::uint64_t warp_instructions = 0;     ///< PTX instructions that warps performed
    std::uint64_t machine_instructions = 0;  ///< issue slots that they took
    std::uint64_t activations = 0;           ///< calls of tick(), for benchmarks
    unsigned host_threads = 1;               ///< that shared the work: RunOptions::threads, or one
    std::array<std::uint64_t, ptx::kPipelineCount>
        pipeline_instructions{};                                     ///< machine instructions by pipeline
    std::array<std::uint64_t, kCycleReasonCount> sub_core_cycles{};  ///< by CycleReason

    LevelStatistics l1, l2, dram;  ///< sums over all SMs, slices and channels
    std::uint64_t l1_store_sectors = 0, l2_store_sectors = 0,
                  atomic_sectors = 0;    ///< sectors of stores, parts of
                                         ///< `l1.sectors` and `l2.sectors`,
                                         ///< and of atomics
    std::uint64_t crossbar_sectors = 0;  ///< load data that L2 sent to SMs, code and constants too
    /// Lines, or parts of one, that bulk copies moved between L2 and SMs; each receiver of a multicast
    /// counts.
    std::uint64_t bulk_lines = 0;
    std::uint64_t l2_copied_sectors = 0;  ///< that slices read from the line's home in another partition
    std::uint64_t code_lines = 0, constant_lines = 0;  ///< that SMs fetched from L2 while the kernel ran
    std::uint64_t shared_accesses = 0;                 ///< warp instructions
    std::uint64_t shared_wavefronts =
        0;  ///< cycles of the shared-memory data path: accesses plus bank conflicts
    /// Sectors of local memory that stands in for registers (isa/ptx/schedule/spill.h); in `l1` too.
    std::uint64_t spill_load_sectors = 0, spill_store_sectors = 0;
    std::uint64_t dram_read_bytes = 0, dram_write_bytes = 0;  ///< between L2 and memory, whole bursts
    std::uint64_t dram_row_hits = 0;
    std::uint64_t tensor_macs = 0;
    /// Sub-core cycles that the tensor instructions would take at the full rate of their type.
    double tensor_full_cycles = 0;
    double wavefronts = 0;  ///< cycles of the data paths between registers and L1 or shared memory, all SMs
    KernelEnergy energy;
    double mean_power() const { return seconds > 0 ? energy.total() / seconds : 0; }  ///< watts, board

    unsigned registers_per_thread = 0;  ///< as allocated to the kernel by the assembler's model or the launch
    unsigned ctas_per_sm = 0;           ///< that fit
    std::string occupancy_limit;        ///< what limits ctas_per_sm
    double achieved_occupancy =
        0;                   ///< resident warps per SM, mean over SMs with work, of the SM's warp slots
    std::uint64_t ctas = 0;  ///< thread blocks of the launch
    /// With RunOptions::profile: one row for each instruction of the kernel. Together with the cycles in
    /// which no warp was resident (no_warp, not_launched) they are sub_core_cycles.
    std::vector<InstructionCycles> profile;

    Sampling sampling;  ///< what of the run was simulated
    Series series;      ///< empty unless RunOptions::series has an interval
    /// Tensor: the ceiling of its mix of types. fp32: two operations per lane and instruction, as if each
    /// were a fused multiply-add. What the kernel did nothing of is left out.
    std::vector<Throughput> throughputs;

    /// The resource that bounds the kernel: tensor, fp32, issue, shared memory, l2 bandwidth, dram bandwidth,
    /// latency or launch.
    std::string bound_by;
    /// Utilisation of each of these resources over the whole kernel, 0..1, largest first; launch: its part of
    /// the time.
    std::vector<std::pair<std::string, double>> utilisation;
};

}  // namespace heddle::models::gpu
