#include "sim/run/time/signal_file.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <filesystem>
#include <memory>
#include <set>

#include "isa/common/error.h"
#include "isa/common/whole_file.h"
#include "models/common/vcd_writer.h"
#include "sim/run/workers/worker_pool.h"

namespace heddle::sim {
namespace {

class TraceJobs : public JobRunner {
  public:
    using Trace = std::function<std::string(std::size_t job, const RunTraced& run)>;
    TraceJobs(Trace trace, RunTraced run) : trace_(std::move(trace)), run_(std::move(run)) {}
    std::string run(std::size_t job) override { return trace_(job, run_); }

  private:
    Trace trace_;
    RunTraced run_;
};

std::string numbered(const std::string& file, std::size_t number) {
    const std::filesystem::path path(file);
    return path.parent_path() / fmt::format("{}-{}{}", path.stem().string(), number, path.extension().string());
}

bool is_named(const std::string& pattern, const TraceableKernel& kernel) {
    return ::fnmatch(pattern.c_str(), kernel.name.c_str(), 0) == 0 ||
           ::fnmatch(pattern.c_str(), kernel.op.c_str(), 0) == 0;
}

/// A few of them, for a message.
std::string some_of(const std::vector<TraceableKernel>& kernels) {
    constexpr std::size_t kFew = 8;
    std::vector<std::string> names;
    std::set<std::string> told;
    for (const TraceableKernel& kernel : kernels)
        if (told.insert(kernel.name).second) names.push_back(fmt::format("{} (op {})", kernel.name, kernel.op));
    const bool more = names.size() > kFew;
    if (more) names.resize(kFew);
    return fmt::format("{}{}", fmt::join(names, ", "), more ? ", ..." : "");
}

}  // namespace

SignalReport write_signals(const SignalOptions& options, const std::string& path,
                           const std::function<void(models::SignalTrace& trace)>& run) {
    SignalReport report;
    write_whole_file(path, [&](const std::string& aside) {
        models::VcdWriter writer(aside, static_cast<std::uint64_t>(options.most_bytes));
        models::SignalTrace trace(options.patterns, writer);
        run(trace);
        writer.close();
        report = fmt::format("{}, {} signals, {:.1f} MB", path, trace.chosen(),
                             static_cast<double>(writer.bytes()) / 1e6);
        return true;
    });
    return report;
}

std::vector<std::size_t> kernels_to_trace(const SignalOptions& options, const std::vector<TraceableKernel>& kernels) {
    std::vector<std::size_t> chosen;
    std::set<std::string> keys;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
        const bool named = options.kernel.empty() || is_named(options.kernel, kernels[i]);
        if (named && keys.insert(kernels[i].key).second) chosen.push_back(i);
    }
    if (options.kernel.empty() && chosen.size() > 1)
        throw Error(fmt::format("the step has {} distinct kernels, and no single one to trace", chosen.size()),
                    {"--trace-signals", 0, ""},
                    "name one with --trace-kernel, which takes patterns: " + some_of(kernels));
    if (chosen.empty())
        throw Error("no kernel and no op is named `" + options.kernel + "`", {"--trace-kernel", 0, ""},
                    "the step has " + some_of(kernels));
    return chosen;
}

std::vector<SignalReport> trace_kernels(const SignalOptions& options, const std::vector<TraceableKernel>& kernels,
                                        const std::vector<std::size_t>& chosen, unsigned workers,
                                        const std::function<RunTraced()>& make_device) {
    std::vector<SignalReport> reports(chosen.size());
    const auto trace = [&](std::size_t job, const RunTraced& run) {
        const std::string path = chosen.size() == 1 ? options.file : numbered(options.file, job + 1);
        const TraceableKernel& kernel = kernels[chosen[job]];
        return fmt::format("signals of kernel {} (op {}): {}", kernel.name, kernel.op,
                           write_signals(options, path, [&](models::SignalTrace& to) { run(chosen[job], to); }));
    };
    run_jobs(
        chosen.size(), workers,
        [&]() -> std::unique_ptr<JobRunner> { return std::make_unique<TraceJobs>(trace, make_device()); },
        [&](std::size_t job, const std::string& report) { reports[job] = report; });
    return reports;
}

}  // namespace heddle::sim
