#include "validation/compare/tpu_jobs.h"

#include <fmt/format.h>

#include <memory>
#include <sstream>

#include "sim/run/worker_pool.h"

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

}  // namespace heddle::validation
