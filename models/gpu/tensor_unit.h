// The tensor core of an SM from Blackwell on (tcgen05): products that one thread begins and that go on by themselves, copies into tensor
// memory, and the ports of tensor memory.
#pragma once

#include <array>
#include <cstdint>

#include "isa/ptx/execution.h"
#include "models/common/cycle.h"
#include "models/common/parameter.h"
#include "models/memory/bandwidth_server.h"

namespace heddle::models::gpu {

/// Times of tcgen05. Nothing of it is used before compute capability 10.0.
struct TensorUnitConfig {
    std::uint32_t issue_latency = 17;    ///< cycles from the issue of a product to its first multiplication
    std::uint32_t tail = 66;             ///< cycles from the last multiplication to the arrival that tcgen05.commit makes
    std::uint32_t minimum_interval = 8;  ///< cycles between products, however small
    double copy_bytes = 128;             ///< per cycle and SM, from shared memory to tensor memory (cp), and moved within it (shift)
    double load_bytes = 128;             ///< per cycle and sub-core, from tensor memory to registers
    double store_bytes = 64;             ///< per cycle and sub-core, from registers to tensor memory
    std::uint32_t load_latency = 20;     ///< cycles from the last word that is read to the end of wait::ld
    std::uint32_t store_latency = 20;    ///< cycles from the last word that is written to the end of wait::st
};
/// Lists the fields for hardware files, below `tcgen05`.
void describe(TensorUnitConfig& config, ParameterList& list);

/// Products and copies are done one after another in the order of their issue, whichever thread block they are of:
///
///     cycles = max(M N K / rate, (bytes of A and B in shared memory) / 128, minimum_interval)
///
/// with M N K of this SM's part. A product whose rows fill half of the lanes (M = 64 of one CTA) takes as long as one that fills all. The CTA
/// of a pair that issues a product has the time of both: the other SM does the same in the same cycles. Other accesses to shared memory do
/// not delay operands (an assumption; they do on Hopper, see WarpgroupUnit).
class TensorUnit {
  public:
    static constexpr unsigned kSubCores = 4;  ///< of an SM, each with its 32 lanes of tensor memory

    explicit TensorUnit(const TensorUnitConfig& config) : config_(config) {}
    /// Forgets what it has done; the configuration stays.
    void reset();

    /// A product begins that takes `multiply` cycles at the tensor core's rate and `fetch` to read its operands. Returns when it ends.
    Cycle multiply(FineCycles multiply, FineCycles fetch, unsigned ctas, Cycle now);
    /// A copy of so many bytes to tensor memory. Returns when it ends.
    Cycle copy(std::uint32_t bytes, Cycle now);
    /// A warp's tcgen05.ld or st of so many bytes. Returns when a wait for it may pass.
    Cycle load(unsigned sub_core, std::uint32_t bytes, Cycle now);
    Cycle store(unsigned sub_core, std::uint32_t bytes, Cycle now);

    /// Cycles for which tensor cores worked, those of the other SM of a pair counted here too, in sub-cores as WarpgroupUnit counts.
    double busy_cycles() const { return busy_ * kSubCores; }
    /// Cycles for which operands occupied the shared memory.
    double fetch_cycles() const { return fetched_; }

  private:
    const TensorUnitConfig config_;
    BandwidthServer work_;
    std::array<BandwidthServer, kSubCores> loads_, stores_;
    double busy_ = 0, fetched_ = 0;
};

}  // namespace heddle::models::gpu
