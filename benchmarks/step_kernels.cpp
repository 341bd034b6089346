// The distinct kernels of a training step, one after the other: how long simulating each takes, sampled and
// in full, and how far the two differ.
//
//   benchmark_step_kernels MODEL KEY=VALUE... [--hardware NAME] [--set PATH=VALUE]... [--clock MHZ]
//   [--full | --sampled] [--canonical] [--list] [NUMBER...]
//
// --canonical: with the device's own L2 and with the size that it is simulated with (sim/gpu/plan/canonical_l2.h).
// Numbers choose kernels from the list; without any, all are simulated. One process, one thread.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "isa/common/error.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "sim/gpu/step_config.h"
#include "sim/gpu/plan/canonical_l2.h"
#include "sim/gpu/time/gpu_session.h"
#include "sim/gpu/plan/launch_plan.h"
#include "workloads/lowering/gpu/gpu_lowering.h"
#include "workloads/zoo/registry.h"

namespace {

using namespace heddle;

struct Options {
    std::string model, hardware = "h100-sxm";
    std::map<std::string, std::string> of_model;
    std::vector<std::string> overrides;
    double clock = 0;
    bool full = true, sampled = true, canonical = false, list = false;
    std::set<std::size_t> chosen;

    Options(int count, char** arguments) {
        for (int i = 1; i < count; ++i) {
            const std::string argument = arguments[i];
            const std::size_t equals = argument.find('=');
            if (argument == "--hardware" && i + 1 < count) {
                hardware = arguments[++i];
            } else if (argument == "--set" && i + 1 < count) {
                overrides.emplace_back(arguments[++i]);
            } else if (argument == "--clock" && i + 1 < count) {
                clock = std::atof(arguments[++i]) * 1e6;
            } else if (argument == "--full") {
                sampled = false;
            } else if (argument == "--sampled") {
                full = false;
            } else if (argument == "--canonical") {
                canonical = true;
            } else if (argument == "--list") {
                list = true;
            } else if (equals != std::string::npos) {
                of_model[argument.substr(0, equals)] = argument.substr(equals + 1);
            } else if (model.empty()) {
                model = argument;
            } else {
                chosen.insert(static_cast<std::size_t>(std::atol(arguments[i])));
            }
        }
    }
};

struct Distinct {
    const sim::PlannedLaunch* planned;
    std::size_t times = 0;
};

void print_run(const char* mode, const sim::LaunchOutcome& outcome) {
    const double simulated = outcome.sampled ? outcome.sampled->simulated : 1;
    const double cycles = static_cast<double>(outcome.cycles) * simulated;
    std::printf(" | %s %llu cycles %.1f us %s, %.2f s", mode, static_cast<unsigned long long>(outcome.cycles),
                outcome.seconds * 1e6, outcome.bound_by.c_str(), outcome.host_seconds);
    if (outcome.sampled)
        std::printf(", %.1f %% simulated, bar %.2f %%, %s", 100 * simulated, 100 * outcome.sampled->error,
                    outcome.sampled->note.c_str());
    double joules = 0;
    for (const auto& [part, amount] : outcome.energy) joules += amount;
    std::printf(", %.0f GB/s, %.0f W, %.0f ns a cycle", outcome.dram_bytes / outcome.seconds * 1e-9,
                joules / outcome.seconds, outcome.host_seconds / cycles * 1e9);
}

sim::LaunchOutcome timed_run(sim::GpuSession& session, const program::GpuProgram& program,
                             const sim::PlannedLaunch& planned, bool sampled) {
    const double before = sim::processor_seconds();
    session.set_sample(sampled);
    sim::LaunchOutcome outcome = session.run(program, planned);
    outcome.host_seconds = sim::processor_seconds() - before;
    return outcome;
}

/// The two must be equal, in full.
void compare_sizes(sim::GpuSession& session, const models::gpu::GpuConfig& config,
                   const program::GpuProgram& program, const sim::PlannedLaunch& planned) {
    const std::uint64_t size = sim::canonical_l2_bytes(config, program, planned);
    if (size == config.l2.bytes) {
        std::printf(" | its own L2\n");
        return;
    }
    session.set_l2_size(config.l2.bytes);
    sim::LaunchOutcome own = timed_run(session, program, planned, false);
    session.set_l2_size(size);
    sim::LaunchOutcome other = timed_run(session, program, planned, false);
    const double seconds = own.host_seconds, others = other.host_seconds;
    own.host_seconds = other.host_seconds = 0;
    std::printf(" | L2 of %.1f MiB: %s, %llu and %llu cycles, %.2f and %.2f s\n",
                static_cast<double>(size) / (1 << 20),
                sim::to_text(own) == sim::to_text(other) ? "equal in all" : "DIFFERENT",
                static_cast<unsigned long long>(own.cycles), static_cast<unsigned long long>(other.cycles),
                seconds, others);
    std::fflush(stdout);
}

void run(const Options& options) {
    const trace::Trace trace = zoo::build(options.model, options.of_model);
    const sim::Hardware hardware = sim::load_hardware(options.hardware, options.overrides);
    models::gpu::GpuConfig config = sim::gpu_config(hardware);
    if (options.clock != 0) config.clock = options.clock;
    const lowering::GpuLowering lowered = lowering::lower_for_gpu(trace, target_of(config));
    const std::vector<sim::PlannedLaunch> plan =
        sim::plan_launches(lowered.program, config.l2.bytes_per_partition());
    std::vector<Distinct> distinct;
    std::map<std::string, std::size_t> number;
    for (const sim::PlannedLaunch& planned : plan) {
        const auto [found, is_new] = number.try_emplace(planned.key, distinct.size());
        if (is_new) distinct.push_back({&planned});
        ++distinct[found->second].times;
    }
    sim::GpuSession session(config, false, true);
    for (std::size_t i = 0; i < distinct.size(); ++i) {
        const sim::PlannedLaunch& planned = *distinct[i].planned;
        const program::KernelLaunch& launch = *planned.launch;
        if (!options.chosen.empty() && options.chosen.count(i) == 0) continue;
        std::printf("%zu %s (%s) x %zu, grid %u x %u x %u of %u", i, launch.kernel->entry.c_str(),
                    trace.ops[launch.op].name.c_str(), distinct[i].times, launch.grid.x, launch.grid.y,
                    launch.grid.z, launch.block.x * launch.block.y * launch.block.z);
        if (options.list) {
            std::printf("\n%s\n", planned.key.c_str());
            continue;
        }
        if (options.canonical) {
            compare_sizes(session, config, lowered.program, planned);
            continue;
        }
        sim::LaunchOutcome sampled, full;
        if (options.sampled)
            print_run("sampled", sampled = timed_run(session, lowered.program, planned, true));
        if (options.full) print_run("full", full = timed_run(session, lowered.program, planned, false));
        if (options.sampled && options.full)
            std::printf(" | %+.2f %%",
                        100 * (static_cast<double>(sampled.cycles) / static_cast<double>(full.cycles) - 1));
        std::printf("\n");
        std::fflush(stdout);
    }
}

}  // namespace

int main(int count, char** arguments) {
    try {
        run(Options(count, arguments));
    } catch (const heddle::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
    return 0;
}
