// How long a product takes with a given kernel: the kernel is simulated with what the surroundings left in
// L2, at the clock that the power limit allows.
#pragma once

#include <string>
#include <vector>

#include "sim/gemm/gemm_question.h"
#include "sim/gpu/time/gpu_session.h"
#include "sim/run/time/kernel_cache.h"
#include "sim/run/time/launch_outcome.h"

namespace heddle::sim {

struct GemmAnswer {
    double seconds = 0;
    double clock = 0;  ///< hertz
    double power = 0;  ///< watts, mean
    std::vector<LaunchOutcome> kernels;
    std::string choice;  ///< in words
    double estimated_seconds = 0;

    /// Parts of the time, 0..1: launch, and how much of their rates the tensor cores, L2 and memory were
    /// used.
    double launch = 0, tensor = 0, l2 = 0, memory = 0;
};
std::string to_text(const GemmAnswer& answer);
GemmAnswer gemm_answer_from_text(const std::string& text);

struct GemmTimerOptions {
    kernels::GemmSurroundings surroundings;
    bool sample = true;    ///< leave out what repeats (docs/sampling.md)
    bool cache = true;  ///< answers are kept on disk, under a key of all that they depend on (kernel_cache.h)
    unsigned threads = 1;  ///< of the host, for one kernel
};

/// One per process. The answer does not depend on what was asked before; processes share what is on disk.
class GemmTimer {
  public:
    GemmTimer(const models::gpu::GpuConfig& config, const GemmTimerOptions& options);
    GemmAnswer time(const GemmQuestion& question, const kernels::GemmChoice& choice);
    /// Runs its kernels once more, at this clock, and tells `signals` what happens.
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
