// What a worker reports of one simulated program.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "models/gpu/kernel_result.h"
#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// What the parent keeps of a simulated kernel. Travels between processes and to the cache as JSON.
struct LaunchOutcome {
    std::uint64_t cycles = 0;
    std::uint64_t dependents_start = 0;  ///< the part of them after which a programmatic launch may begin
    double seconds = 0;
    std::uint64_t warp_instructions = 0;
    std::uint32_t registers_per_thread = 0, shared_bytes = 0, ctas_per_sm = 0;
    double dram_bytes = 0, l2_bytes = 0;
    std::optional<double> l2_hit_rate;  ///< GPU: of the sectors that were loaded; none: nothing was
    bool own_l2 = false;                ///< only the device's own size of L2 holds for it (canonical_l2.h)
    std::string bound_by;
    std::string unsupported;  ///< why there was nothing to run; empty when there was
    std::map<std::string, double> time_by_reason;
    std::map<std::string, std::map<std::string, double>> time_by_unit;  ///< TPU: of each kind of unit
    std::map<std::string, double> utilisation;
    std::map<std::string, Throughput> throughputs;
    std::optional<SampledKernel> sampled;
    std::map<std::string, double> energy;  ///< joules by where they went; empty where no power is modelled
    double host_seconds = 0;               ///< processor time that simulating it took
    std::uint64_t tilings_searched = 0;    ///< TPU: of its program, when it was made; 0: known from before
    std::shared_ptr<const models::gpu::Series> series;  ///< of SimulateOptions::series
};
/// Of this process so far.
double processor_seconds();

std::string to_text(const LaunchOutcome& outcome);
/// Throws std::exception when the text is not what to_text() wrote.
LaunchOutcome outcome_from_text(const std::string& text);

}  // namespace heddle::sim
