#include "validation/compare/tpu_jobs.h"

#include <fmt/format.h>

#include <memory>
#include <sstream>

#include "isa/common/error.h"
#include "sim/run/workers/worker_pool.h"
#include "workloads/lowering/tpu/tensor_placement.h"

namespace heddle::validation {
namespace {

class DeviceJobs : public sim::JobRunner {
  public:
    DeviceJobs(const models::TpuConfig& config, const TpuWork& work) : tpu_("tpu", config), work_(work) {}
    std::string run(std::size_t job) override {
        std::string text;
        for (const double number : work_(tpu_, job)) text += fmt::format("{:.17g} ", number);
        return text;
    }

  private:
    models::Tpu tpu_;
    const TpuWork& work_;
};

}  // namespace

std::vector<std::vector<double>> run_on_tpu(const models::TpuConfig& config, std::size_t jobs,
                                            const CompareOptions& options, const TpuWork& work) {
    std::vector<std::vector<double>> results(jobs);
    const unsigned workers = options.workers != 0 ? options.workers : sim::available_cores();
    sim::run_jobs(
        jobs, workers,
        [&]() -> std::unique_ptr<sim::JobRunner> { return std::make_unique<DeviceJobs>(config, work); },
        [&](std::size_t job, const std::string& text) {
            std::istringstream numbers(text);
            for (double number; numbers >> number;) results[job].push_back(number);
        });
    return results;
}

models::TpuResult run_op(models::Tpu& tpu, const trace::Trace& trace,
                         const lowering::TpuLoweringOptions& options,
                         const std::set<std::uint64_t>& on_chip) {
    const target::TpuTarget target = models::target_of(tpu.config());
    const lowering::TensorPlacement placement(trace, target, {}, on_chip);
    const lowering::LoweredOp lowered = lowering::lower(trace, 0, target, placement, options);
    if (!lowered.supported)
        throw Error("the TPU has no program for " + trace.ops.at(0).name + ": " + lowered.reason_if_not,
                    {tpu.config().name, 0, trace.name});
    tpu::Memory memory;
    placement.allocate(memory, false, lowered.workspace_bytes);
    return tpu.run(lowered.program, memory);
}

}  // namespace heddle::validation
