#include "validation/compare/timing_jobs.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/run/workers/worker_pool.h"
#include "validation/capture/microbenchmarks/benchmark.h"
#include "validation/capture/microbenchmarks/launching.h"
#include "validation/capture/sections/gemm_sweep.h"
#include "validation/capture/sections/kernel_items.h"
#include "validation/capture/simulator/simulator_device.h"

namespace heddle::validation {
namespace {

class TimingWorker : public sim::JobRunner {
  public:
    TimingWorker(const std::string& hardware, const std::vector<TimingJob>& jobs)
        : hardware_(hardware), jobs_(jobs) {}

    std::string run(std::size_t job) override {
        nlohmann::json result;
        try {
            // A device of its own for each: addresses, and with them slices and banks, must not depend on the
            // jobs that this worker happened to do before.
            device_ = capture::make_simulator_device(hardware_);
            result["value"] = measure(jobs_[job]);
        } catch (const capture::DeviceError& error) {
            result["error"] = error.what();
        }
        return result.dump();
    }

  private:
    double measure(const TimingJob& job) {
        switch (job.kind) {
            case TimingJob::Kind::benchmark:
                return benchmark(job.id);
            case TimingJob::Kind::gemm:
                return gemm(job.problem);
            case TimingJob::Kind::kernel:
                return kernel(job.id);
        }
        return 0;
    }

    double benchmark(const std::string& id) {
        for (const capture::Benchmark& benchmark : benchmarks_) {
            if (benchmark.id != id) continue;
            if (!benchmark.runs_on(device_->compute_capability()))
                throw capture::DeviceError("the device has no such instructions");
            return benchmark.measure(*device_, {1}).value;
        }
        throw capture::DeviceError("no such micro-benchmark");
    }

    double gemm(const capture::GemmProblem& problem) {
        const auto algorithms = device_->blas()->algorithms(problem, 1);
        if (algorithms.empty()) throw capture::DeviceError("Heddle's kernels do not do it");
        capture::GemmOperandPool pool(*device_, capture::largest_operand(problem));
        const auto times =
            capture::time_gemm(*device_, problem, algorithms.front(), pool.operands(problem), false);
        return capture::median(times.cold);
    }

    double kernel(const std::string& id) {
        if (items_.empty()) items_ = capture::kernel_items(device_->compute_capability(), false);
        const auto item =
            std::find_if(items_.begin(), items_.end(), [&](const auto& each) { return each.id == id; });
        if (item == items_.end()) throw capture::DeviceError("no such kernel");
        capture::LoadedItem loaded(*device_, item->kernel);
        for (const auto& output : loaded.run()) static_cast<void>(output);  // the buffers have contents
        capture::TimingOptions options;
        options.cold_l2 = true;
        options.repetitions = 1;
        return capture::median(device_->time([&] { loaded.launch(); }, options));
    }

    const std::string hardware_;
    const std::vector<TimingJob>& jobs_;
    std::unique_ptr<capture::Device> device_;
    std::vector<capture::Benchmark> benchmarks_ = capture::microbenchmarks();
    std::vector<capture::KernelItem> items_;
};

}  // namespace

std::vector<TimingJobResult> run_timing_jobs(const std::string& hardware, const std::vector<TimingJob>& jobs,
                                             const CompareOptions& options) {
    std::vector<TimingJobResult> results(jobs.size());
    if (jobs.empty()) return results;
    const unsigned cores = options.workers != 0 ? options.workers : sim::available_cores();
    const auto workers = static_cast<unsigned>(std::min<std::size_t>(cores, jobs.size()));
    std::size_t finished = 0;
    sim::run_jobs(
        jobs.size(), workers, [&] { return std::make_unique<TimingWorker>(hardware, jobs); },
        [&](std::size_t job, const std::string& text) {
            const nlohmann::json result = nlohmann::json::parse(text);
            results[job].error = result.value("error", std::string());
            results[job].value = result.contains("value") && result["value"].is_number()
                                     ? result["value"].get<double>()
                                     : std::nan("");
            ++finished;
            options.progress(
                static_cast<double>(finished) / static_cast<double>(jobs.size()),
                "on the model: " +
                    (jobs[job].kind == TimingJob::Kind::gemm ? jobs[job].problem.name() : jobs[job].id));
        });
    return results;
}

bool can_simulate(const capture::GemmProblem& problem) {
    using capture::Compute;
    using capture::Type;
    if (problem.compute == Compute::tf32 || problem.compute == Compute::f16) return false;
    return problem.a == Type::f64 || problem.a == Type::f32 || problem.a == Type::f16 ||
           problem.a == Type::bf16;
}

double simulation_cost(const capture::GemmProblem& problem) {
    const double macs = static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                        static_cast<double>(problem.k) * static_cast<double>(problem.batch);
    const bool tensor = problem.a == capture::Type::f16 || problem.a == capture::Type::bf16;
    return tensor ? macs / 2048 * 3 : macs / 32 * 1.3;
}

}  // namespace heddle::validation
