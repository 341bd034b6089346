#include "sim/gemm/gemm_timer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "isa/common/activity.h"
#include "sim/gpu/gpu_step.h"
#include "sim/gpu/plan/launch_plan.h"
#include "sim/gpu/settle/clocked_outcome.h"

namespace heddle::sim {
namespace {

// Buffers of gemm_program().
constexpr program::BufferId kTimedA = 0, kTimedB = 1, kTimedD = 2;

constexpr std::uint64_t kLine = 128;

std::uint64_t whole_lines(double bytes) {
    return static_cast<std::uint64_t>(bytes / kLine) * kLine;
}

/// So much of a buffer, spread over it: what hashed sets of a cache lose lies anywhere. As good as all is
/// all: one line that had to come from memory would delay a whole short kernel.
void keep(PlannedBuffer& planned, std::uint64_t bytes, double part) {
    constexpr double kAsGoodAsAll = 0.98;
    constexpr unsigned kParts = 32;
    if (part >= kAsGoodAsAll) {
        planned.resident_bytes = bytes;
        return;
    }
    const std::uint64_t whole = bytes / kLine * kLine;
    planned.parts = whole >= 64 * kParts * kLine ? kParts : 1;
    const std::uint64_t lines = whole_lines(static_cast<double>(whole) * part / planned.parts);
    planned.resident_bytes = planned.parts * lines;
}

/// Of a repeated product: parts of A, B and D by how much else passes before they are used again; a
/// workspace, which is written each time, as D. `quantised`: the buffer that A is made from, if it is; then A
/// is where its kernel left it (the plan knows).
void place_residents(std::vector<PlannedLaunch>& plan, const program::GpuProgram& program,
                     const kernels::GemmResidency& resident, std::optional<program::BufferId> quantised) {
    const std::size_t product = quantised ? kQuantiseLaunches : 0;
    for (std::size_t i = 0; i < plan.size(); ++i) {
        for (PlannedBuffer& buffer : plan[i].buffers) {
            const std::uint64_t bytes = program.buffers[buffer.buffer].bytes;
            if (quantised && buffer.buffer == *quantised) {
                if (i == 1) keep(buffer, bytes, resident.a);
                continue;
            }
            if (quantised && (i < product || buffer.buffer == kTimedA)) {
                buffer.dirty = buffer.resident_bytes > 0;
                continue;
            }
            if (buffer.buffer == kTimedA) keep(buffer, bytes, resident.a);
            if (buffer.buffer == kTimedB) keep(buffer, bytes, resident.b);
            if (buffer.buffer == kTimedA || buffer.buffer == kTimedB) continue;
            buffer.dirty = true;
            if (i == product || buffer.buffer == kTimedD) keep(buffer, bytes, resident.d);
        }
    }
}

/// What calls before this one left in the rest of L2: results that are still to be written to memory, and,
/// between them, operands that were read. Calls write two results in turn.
std::vector<PlannedBuffer> earlier_work(program::GpuProgram& program, const kernels::GemmResidency& resident,
                                        const models::L2Config& l2) {
    const double a = static_cast<double>(program.buffers[kTimedA].bytes);
    const double b = static_cast<double>(program.buffers[kTimedB].bytes);
    const double d = static_cast<double>(program.buffers[kTimedD].bytes);
    const double kept = l2.partitions * (resident.a * a + resident.b * b) + resident.d * d;
    const double room = std::max(0.0, static_cast<double>(l2.bytes) - kept);
    const double read = a * (1 - resident.a) + b * (1 - resident.b);
    const double written = std::min(d + (1 - resident.d) * room, room * d / (d + read));
    const double others = (1 - resident.d) * (room - written);
    // Sets are hashed: as many lines as there are places leave a tenth of them empty, to take what a kernel writes without anything
    // written back. Where no place was left, so much more fills every set; what was put there first goes.
    constexpr double kToFillSets = 1.6, kNearlyFull = 0.8;
    const double full = room > 0 ? std::clamp(((written + others) / room - kNearlyFull) / (1 - kNearlyFull), 0.0, 1.0) : 0;
    const double excess = 1 + (kToFillSets - 1) * full;
    constexpr unsigned kChunks = 16;
    std::vector<PlannedBuffer> buffers;
    const auto add = [&](double bytes, bool dirty) {
        const std::uint64_t chunk = whole_lines(bytes * excess / kChunks);
        if (chunk == 0) return;
        buffers.push_back({static_cast<program::BufferId>(program.buffers.size()), chunk, dirty});
        program.buffers.push_back({"earlier work " + std::to_string(buffers.size()), chunk, {}});
    };
    for (unsigned i = 0; i < kChunks; ++i) {
        add(written, true);
        add(others / l2.partitions, false);  // what was read lies in every partition
    }
    return buffers;
}

double sum_of(const std::map<std::string, double>& parts) {
    double sum = 0;
    for (const auto& [name, amount] : parts) sum += amount;
    return sum;
}

}  // namespace

struct GemmTimer::Run {
    double clock = 0, seconds = 0, joules = 0;
    std::vector<LaunchOutcome> kernels;
    double power() const { return joules / seconds; }
};

namespace {

/// What simulations at `clock` hertz would have found.
template <class Run>
Run converted(const std::vector<ClockedOutcome>& kernels, double clock) {
    Run run;
    run.clock = clock;
    for (const ClockedOutcome& kernel : kernels) {
        run.kernels.push_back(kernel.at(clock));
        run.seconds += run.kernels.back().seconds;
        run.joules += sum_of(run.kernels.back().energy);
    }
    return run;
}

}  // namespace

GemmTimer::GemmTimer(const models::gpu::GpuConfig& config, const GemmTimerOptions& options)
    : config_(models::gpu::in_graph(options.surroundings.repeated ? models::gpu::hot(config) : config)),
      options_(options),
      cache_(options.cache ? KernelCache::standard() : KernelCache::disabled()),
      session_(config_, false, options.sample) {
    session_.set_threads(options.threads);
}

GemmTimer::Run GemmTimer::run(const GemmQuestion& question, const kernels::GemmChoice& choice, double clock) {
    program::GpuProgram program = gemm_program(question, config_, choice);
    std::optional<program::BufferId> quantised;
    if (question.quantise) quantised = quantise_first(program, question);
    std::vector<PlannedLaunch> plan = plan_launches(program, config_.l2.bytes_per_partition());
    const kernels::GemmResidency resident =
        kernels::gemm_residency(gemm_machine(config_, kernel_type_of(question)),
                                surroundings_of(question, options_.surroundings), work_of(question));
    place_residents(plan, program, resident, quantised);
    if (options_.surroundings.repeated) {
        const std::vector<PlannedBuffer> earlier = earlier_work(program, resident, config_.l2);
        std::vector<PlannedBuffer>& first = plan[quantised ? kQuantiseLaunches : 0].buffers;
        first.insert(first.begin(), earlier.begin(), earlier.end());
    }
    session_.set_clock(clock);
    Run run;
    run.clock = clock;
    for (const PlannedLaunch& planned : plan) {
        this_activity().set_expected(static_cast<std::uint64_t>(choice.estimated_seconds * clock));
        run.kernels.push_back(session_.run(program, planned));
        run.seconds += run.kernels.back().seconds;
        run.joules += sum_of(run.kernels.back().energy);
    }
    return run;
}

std::string GemmTimer::key_of(const GemmQuestion& question, const kernels::GemmChoice& choice) const {
    const kernels::GemmSurroundings& around = options_.surroundings;
    return executable_identity() + device_key(config_) +
           fmt::format(
               "gemm {}\n{}, raster {}, {} of k in a slice, first at {} Hz for {} s\n{} copies, "
               "repeated {}, sampled {}\n",
               name_of(question), describe(choice, config_.compute_capability), choice.raster_log2, choice.k_per_split,
               choice.estimated_clock, choice.estimated_seconds, around.weight_copies, around.repeated,
               options_.sample);
}

GemmAnswer GemmTimer::time(const GemmQuestion& question, const kernels::GemmChoice& choice) {
    const std::string key = key_of(question, choice);
    if (const std::optional<std::string> stored = cache_.find(key)) return gemm_answer_from_text(*stored);
    GemmAnswer answer = simulate(question, choice);
    cache_.store(key, to_text(answer));
    return answer;
}

void GemmTimer::trace(const GemmQuestion& question, const kernels::GemmChoice& choice, double clock,
                      models::SignalTrace& signals) {
    session_.set_signals(&signals);
    run(question, choice, clock);
    session_.set_signals(nullptr);
}

GemmAnswer GemmTimer::simulate(const GemmQuestion& question, const kernels::GemmChoice& choice) {
    const models::gpu::PowerConfig& power = config_.power;
    const auto allowed = [&](double seconds) {
        return power.limit * (1 + power.allowance * std::exp(-seconds / power.allowance_time));
    };
    const double constant = power.constant(config_.sm.count);
    // The clock at which a run's power would be what is allowed: energy for each event goes with the square
    // of the clock, and how often it happens with the clock.
    const auto settled = [&](const Run& run) {
        const double beside = run.power() - constant, room = allowed(run.seconds) - constant;
        if (beside <= 0 || power.governor == 0) return config_.clock;
        return std::clamp(run.clock * std::cbrt(std::max(0.0, room) / beside), power.minimum_clock,
                          config_.clock);
    };
    // Where one simulation says what another clock would give, the fixed point is found without another one.
    constexpr double kNear = 0.001, kSure = 0.005;
    constexpr unsigned kRounds = 3;
    double clock = config_.clock;
    if (choice.estimated_seconds > 0 && choice.estimated_clock > 0)
        clock = std::min(config_.clock, choice.estimated_clock);
    std::vector<ClockedOutcome> kernels;
    Run best;
    for (unsigned round = 0; round < kRounds; ++round) {
        const Run simulated = run(question, choice, clock);
        kernels.resize(simulated.kernels.size());
        for (std::size_t i = 0; i < kernels.size(); ++i) kernels[i].add(simulated.clock, simulated.kernels[i]);
        constexpr unsigned kSteps = 20;
        best = simulated;
        for (unsigned step = 0; step < kSteps; ++step) {
            const double next = settled(best);
            if (std::abs(next / best.clock - 1) < kNear) break;
            best = converted<Run>(kernels, next);
        }
        double error = 0;  // in seconds
        for (const ClockedOutcome& kernel : kernels) error += kernel.error(best.clock) * kernel.seconds(best.clock);
        if (error <= kSure * best.seconds) break;
        clock = best.clock;
    }
    GemmAnswer answer;
    answer.seconds = best.seconds;
    answer.clock = best.clock;
    answer.power = best.power();
    answer.kernels = best.kernels;
    answer.choice = describe(choice, config_.compute_capability);
    answer.estimated_seconds =
        choice.estimated_seconds + quantise_estimate(question, config_, options_.surroundings);
    for (const LaunchOutcome& kernel : best.kernels) {
        const double share = kernel.seconds / best.seconds;
        const auto use = [&](const char* name) {
            const auto found = kernel.utilisation.find(name);
            return found == kernel.utilisation.end() ? 0.0 : share * found->second;
        };
        answer.launch += use("launch");
        answer.tensor += use("tensor");
        answer.l2 += use("l2 bandwidth");
        answer.memory += use("dram bandwidth");
    }
    return answer;
}

}  // namespace heddle::sim
