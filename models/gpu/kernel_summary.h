// Adds up what the blocks counted into a KernelResult.
#pragma once

#include <algorithm>
#include <optional>

#include "models/gpu/gpu_config.h"
#include "models/gpu/kernel_result.h"
#include "models/gpu/launch_plan.h"
#include "models/gpu/left_out_traffic.h"
#include "models/gpu/sm.h"
#include "models/memory/l2_slice.h"
#include "models/memory/memory_channel.h"

namespace heddle::models::gpu {

/// Sampling: what was left out, beside a stretch of the same run that was simulated.
struct Extrapolation {
    double cycles = 0;                ///< left out, per cycle of the stretch
    double work = 0;                  ///< instructions left out, per instruction of the stretch
    std::uint64_t stretch_steps = 0;  ///< instructions of the stretch, without waits that came again
    std::vector<std::uint64_t>
        performed;                        ///< exact counts of what was left out, by instruction of the kernel
    std::uint64_t ctas = 0;               ///< whole thread blocks left out
    std::optional<LeftOutMemory> memory;  ///< what memory did; none: in proportion to the work
};

/// Counters of a run, or of the part of a run up to some cycle; a plain value that can be copied, so that
/// sampling can compare two moments of one run.
class KernelSummary {
  public:
    /// Which of the counters that grow with the work are meant: those of the SMs' units; these and those of
    /// the caches of global memory; or all, including those of memory.
    enum class Growth : std::uint8_t { units, all_but_memory, all };

    KernelSummary(const GpuConfig& config, const LaunchPlan& plan) : config_(&config), plan_(&plan) {}
    /// Each adds what one block has counted since the beginning of the run.
    void add(const Sm& sm);
    void add(const L2SliceStatistics& slice);
    void add(const MemoryChannelStatistics& channel);
    /// Adds all that `other` has added up.
    void add(const KernelSummary& other);
    /// Adds what was left out: instructions as counted, cycles at the rate of the stretch between two
    /// summaries of the same run, and all other work in proportion to the instructions.
    void add_left_out(const KernelSummary& before, const KernelSummary& after, const Extrapolation& left_out);
    /// Adds `factor` (it may be negative) times what grew between two summaries of the same run, but for
    /// instructions and cycles.
    void add_growth(const KernelSummary& before, const KernelSummary& after, double factor,
                    Growth what = Growth::all);
    /// Bytes read from and written to memory so far.
    std::uint64_t dram_bytes() const { return result_.dram_read_bytes + result_.dram_write_bytes; }
    /// Bytes that have come to L2 so far, from memory and by stores.
    std::uint64_t l2_bytes_taken_in() const {
        return result_.dram_read_bytes + result_.l2_store_sectors * kSectorBytes;
    }
    /// Bytes that L2 has made room for so far, in all partitions; and of these, of stores.
    double l2_inflow() const {
        return static_cast<double>(result_.dram_read_bytes + result_.l2_copied_sectors * kSectorBytes) +
               l2_dirtied_;
    }
    /// Bytes that memory has moved, or will have to move when L2 writes back what has been stored.
    double dram_bytes_due() const {
        return static_cast<double>(result_.dram_read_bytes) +
               std::max(static_cast<double>(result_.dram_write_bytes), l2_dirtied_);
    }
    std::uint64_t l2_sectors() const { return result_.l2.sectors; }
    double l2_dirtied() const { return l2_dirtied_; }
    std::uint64_t dram_read() const { return result_.dram_read_bytes; }
    std::uint64_t dram_written() const { return result_.dram_write_bytes; }
    void add_written(std::uint64_t bytes) { result_.dram_write_bytes += bytes; }
    /// Scales the counters of a part of the device to the device `whole`, on which all `ctas` thread blocks
    /// of the launch run; the time stays the same.
    void stand_for(const GpuConfig& whole, std::uint64_t ctas);
    /// The result of the run. `end`: cycles from the launch of the first CTA to the end of the last one and
    /// of its stores.
    KernelResult result(Cycle end, unsigned registers_per_thread);

  private:
    void add_units(const KernelSummary& before, const KernelSummary& after, double factor);
    void add_memory(const KernelSummary& before, const KernelSummary& after, const LeftOutMemory& memory);
    void add_instructions(const Extrapolation& left_out, std::uint64_t repeated);
    void add_sub_core_cycles(const KernelSummary& before, const KernelSummary& after,
                             const Extrapolation& left_out);
    void find_bound(Cycle end);
    void find_throughputs();

    const GpuConfig* config_;
    const LaunchPlan* plan_;
    KernelResult result_;
    double tensor_busy_ = 0, fp32_busy_ = 0, load_store_busy_ = 0, operand_fetch_ = 0,
           l2_busy_ = 0;     // cycles, all units together
    double l2_dirtied_ = 0;  // bytes
    std::uint64_t warp_cycles_ = 0, cta_cycles_ = 0;
};

}  // namespace heddle::models::gpu
