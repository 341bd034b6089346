// A TPU: cores that share HBM.
#pragma once

#include <memory>
#include <vector>

#include "isa/tpu/core_state.h"
#include "isa/tpu/memory.h"
#include "isa/tpu/program.h"
#include "models/common/signal_trace.h"
#include "models/tpu/tpu_config.h"
#include "models/tpu/tpu_core.h"
#include "models/tpu/tpu_hbm.h"
#include "models/tpu/tpu_result.h"

namespace heddle::models {

/// A way to a neighbouring chip: `bytes` handed over in a cycle arrive after the link's latency.
class ChipLink : public virtual sc_core::sc_interface {
  public:
    /// `bytes` leave the chip in cycle `now`.
    virtual void send(Cycle now, std::uint64_t bytes) = 0;
};

/// What a run computes.
enum class TpuMode : std::uint8_t {
    functional,  ///< VMEM and HBM hold values
    timing,      ///< only time; HBM needs bounds but no values. The cycles are the same
};

/// How a program is run, and what is recorded of it.
struct TpuRunOptions {
    TpuMode mode = TpuMode::timing;  ///< whether values are computed
    bool tick_every_cycle = false;   ///< check that no block sleeps too long; the cycles are the same
    Cycle limit = 0;                 ///< give up after so many cycles; 0: never
    bool record_events = false;      ///< fill TpuResult::events
    SignalTrace* signals = nullptr;  ///< where the signals of all blocks go; nullptr: nowhere
};

/// SystemC elaborates one Tpu per process; it runs many programs, one after the other.
class Tpu : public sc_core::sc_module {
  public:
    /// Links to other chips, TpuConfig::links.count of them. Left unbound on a chip alone; nothing is sent
    /// over them yet.
    sc_core::sc_vector<sc_core::sc_port<ChipLink, 1, sc_core::SC_ZERO_OR_MORE_BOUND>> links;

    /// Throws heddle::Error when the configuration is impossible.
    Tpu(const sc_core::sc_module_name& name, const TpuConfig& config);

    /// As given to the constructor.
    const TpuConfig& config() const { return config_; }
    /// Runs a program from cycle 0 to the end of its last instruction. VMEM starts as zeros. Throws
    /// heddle::Error when the program does not fit the machine, touches HBM outside `memory`'s allocations,
    /// is deadlocked, or passes the limit.
    TpuResult run(const tpu::Program& program, tpu::Memory& memory, const TpuRunOptions& options = {});

    /// Calls of blocks in the last run, for benchmarks.
    std::uint64_t activations() const { return activations_; }

  private:
    class Recorder;
    void summarise(TpuResult& result) const;
    void set_probes(SignalTrace* signals);
    void advance(Cycle limit, SignalTrace* signals);

    TpuConfig config_;
    tpu::Limits limits_;
    ClockDomain clock_;
    TpuHbm hbm_, common_, host_;
    std::vector<std::unique_ptr<TpuCore>> cores_;
    std::vector<std::unique_ptr<tpu::CoreState>> values_;
    std::uint64_t activations_ = 0;
    bool watched_ = false;  // blocks tell their signals
};

}  // namespace heddle::models
