// What a worker process reports about one simulated kernel or program.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/gpu/kernel_result.h"
#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// The result of one simulated kernel or program. It travels between processes and to the cache as JSON.
struct LaunchOutcome {
    std::uint64_t cycles = 0;
    std::uint64_t dependents_start = 0;  ///< cycle from which a programmatic dependent launch may begin
    double seconds = 0;
    std::uint64_t warp_instructions = 0;
    std::uint32_t registers_per_thread = 0, shared_bytes = 0, ctas_per_sm = 0;
    double dram_bytes = 0, l2_bytes = 0;
    /// GPU: share of the loaded sectors that hit; nothing when no sector was loaded.
    std::optional<double> l2_hit_rate;
    bool own_l2 = false;  ///< the outcome is valid only for the device's own size of L2 (canonical_l2.h)
    std::string bound_by;
    std::string unsupported;  ///< why nothing could be executed; empty when it was
    std::map<std::string, double> time_by_reason;
    /// TPU: fractions for each kind of unit.
    std::map<std::string, std::map<std::string, double>> time_by_unit;
    std::map<std::string, double> utilisation;
    std::map<std::string, Throughput> throughputs;
    std::optional<SampledKernel> sampled;
    std::map<std::string, double> energy;  ///< joules by consumer; empty where power is not modelled
    double host_seconds = 0;               ///< processor time that the simulation took
    /// TPU: tilings searched while its program was made; 0 when all were stored.
    std::uint64_t tilings_searched = 0;
    /// Of several launches that ran together: `ready`, `begin` and `end` of each (models::gpu::LaunchSpan).
    std::vector<std::array<std::uint64_t, 3>> together;
    std::shared_ptr<const models::gpu::Series> series;  ///< recorded when SimulateOptions::series asks for it
};

/// Returns the processor time of this process so far, in seconds.
double processor_seconds();

/// Writes an outcome as JSON.
std::string to_text(const LaunchOutcome& outcome);
/// Throws std::exception when the text is not what to_text() wrote.
LaunchOutcome outcome_from_text(const std::string& text);

}  // namespace heddle::sim
