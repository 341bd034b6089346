// The time of a product with a given kernel. The kernel is simulated with the contents of L2 that its
// surroundings leave, at the clock that the power limit allows.
#pragma once

#include <string>
#include <vector>

#include "sim/gemm/gemm_question.h"
#include "sim/gpu/time/gpu_session.h"
#include "sim/run/time/kernel_cache.h"
#include "sim/run/time/launch_outcome.h"

namespace heddle::sim {

/// The time of a product.
struct GemmAnswer {
    double seconds = 0;
    double clock = 0;  ///< hertz
    double power = 0;  ///< watts, mean
    std::vector<LaunchOutcome> kernels;
    std::string choice;  ///< the kernel, described in words
    double estimated_seconds = 0;

    /// Fractions 0..1: the launch's part of the time, and the utilisation of the tensor cores, L2 and memory.
    double launch = 0, tensor = 0, l2 = 0, memory = 0;
};

/// Writes an answer as text for other processes and the cache.
std::string to_text(const GemmAnswer& answer);
/// Reads what to_text() wrote.
GemmAnswer gemm_answer_from_text(const std::string& text);

/// How products are timed.
struct GemmTimerOptions {
    kernels::GemmSurroundings surroundings;
    bool sample = true;    ///< extrapolate what repeats (docs/sampling.md)
    bool cache = true;  ///< answers are kept on disk, under a key of all that they depend on (kernel_cache.h)
    unsigned threads = 1;  ///< threads of the host for one kernel
};

/// Times products. A process can have only one, because it elaborates a device. An answer does not depend on
/// earlier questions; processes share the cache on disk.
class GemmTimer {
  public:
    GemmTimer(const models::gpu::GpuConfig& config, const GemmTimerOptions& options);
    /// Returns the time of a product with this kernel.
    GemmAnswer time(const GemmQuestion& question, const kernels::GemmChoice& choice);
    /// Simulates the kernels again at `clock` hertz and reports their signals to `signals`.
    void trace(const GemmQuestion& question, const kernels::GemmChoice& choice, double clock,
               models::SignalTrace& signals);

  private:
    struct Run;
    GemmAnswer simulate(const GemmQuestion& question, const kernels::GemmChoice& choice);
    std::string key_of(const GemmQuestion& question, const kernels::GemmChoice& choice) const;
    Run run(const GemmQuestion& question, const kernels::GemmChoice& choice, double clock);

    models::gpu::GpuConfig config_;
    GemmTimerOptions options_;
    KernelCache cache_;
    GpuSession session_;
};

}  // namespace heddle::sim
