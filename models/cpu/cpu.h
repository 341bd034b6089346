// A CPU: the SystemC model that runs a program region by region.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "isa/cpu/program.h"
#include "models/common/clock_domain.h"
#include "models/cpu/core_model.h"
#include "models/cpu/cpu_config.h"

namespace heddle::models {

/// How a program is run.
struct CpuRunOptions {
    bool folding = true;            ///< loops whose iterations repeat are extrapolated
    bool warm = false;              ///< the caches are as the last program left them; otherwise empty
    std::vector<bool> resident;     ///< by buffer: the L3 holds it at the beginning
    bool alone = false;             ///< without the time to begin and end parallel regions
};

/// What came out.
struct CpuResult {
    double seconds = 0;
    std::uint64_t cycles = 0;       ///< at the clock of one core (CpuConfig::clock_single)
    struct Region {
        std::string name;
        double seconds = 0, hertz = 0;
        unsigned threads = 1;
        CoreCounts core;            ///< of the thread that has most to do
    };
    std::vector<Region> regions;
    double memory_bytes = 0;        ///< of all threads
    double folded = 0, bar = 0;     ///< parts of the time that were extrapolated, and by how much they may be wrong
    std::uint64_t simulated = 0;    ///< instructions simulated one by one
    double instructions = 0;        ///< of the thread with most to do
    std::string bound_by;           ///< "arithmetic", "memory", ...: what is busy longest
    std::map<std::string, double> utilisation;
};

/// SystemC elaborates one Cpu per process; it runs many programs, one after the other. All threads have alike much to do by OpenMP's rule:
/// the one with most is simulated, on a core that has its part of what cores share.
class Cpu : public sc_core::sc_module {
  public:
    /// Throws heddle::Error when the configuration is impossible.
    Cpu(const sc_core::sc_module_name& name, const CpuConfig& config);

    const CpuConfig& config() const { return config_; }
    /// Runs a program, which must be valid. Throws heddle::Error when the machine lacks a unit that it needs.
    CpuResult run(const cpu::Program& program, const CpuRunOptions& options = {});

  private:
    /// The core with most to do. It sleeps from the begin of a region to its end.
    class Core : public Block {
      public:
        Core(const sc_core::sc_module_name& name, ClockDomain& clock, const CpuConfig& config);
        Cycle tick(Cycle now) override;
        bool can_act(Cycle) const override { return next_ < (program_ == nullptr ? 0 : program_->regions.size()); }
        void reset() override;
        void begin(const cpu::Program& program, const CpuRunOptions& options, CpuResult& result);

      private:
        const CpuConfig& config_;
        CoreModel model_;
        const cpu::Program* program_ = nullptr;
        const CpuRunOptions* options_ = nullptr;
        CpuResult* result_ = nullptr;
        std::size_t next_ = 0;
        bool vector512_ = false, matrix_ = false;
        double footprint_ = 0;
    };

    CpuConfig config_;
    ClockDomain clock_;
    Core core_;
};

}  // namespace heddle::models
