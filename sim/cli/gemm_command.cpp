// heddle gemm
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "sim/cli/commands.h"
#include "sim/cli/limits.h"
#include "sim/cli/output.h"
#include "sim/cli/progress.h"
#include "sim/cli/terminal.h"
#include "sim/cli/programs.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "sim/gemm/gemm_numerics.h"
#include "sim/gemm/gemm_timer.h"
#include "sim/gemm/tpu_gemm.h"
#include "sim/report/text_table.h"
#include "sim/gpu/settle/power_limit.h"
#include "sim/run/workers/worker_pool.h"
#include "sim/tpu/tpu_machine.h"
#include "sim/report/result_names.h"

namespace heddle::cli {
namespace gemm_command {

struct Options {
    std::uint32_t m = 0, n = 0, k = 0;
    std::string type = "bf16", hardware, layout = "nt", tile;
    std::vector<std::string> overrides;
    unsigned autotune = 1, workers = 0;
    std::uint32_t batch = 1;
    double weight_copies = 5;
    bool full = false, json = false, cold = false, quantise = false, numerics = false;
    sim::Programs programs = sim::Programs::refused;
    sim::SignalOptions signals;
};

class Jobs : public sim::JobRunner {
  public:
    Jobs(const models::gpu::GpuConfig& config, const sim::GemmTimerOptions& options,
         const sim::GemmQuestion& question, const std::vector<kernels::GemmChoice>& choices)
        : timer_(config, options), question_(question), choices_(choices) {}
    std::string run(std::size_t job) override { return to_text(timer_.time(question_, choices_[job])); }

  private:
    sim::GemmTimer timer_;
    const sim::GemmQuestion& question_;
    const std::vector<kernels::GemmChoice>& choices_;
};

std::vector<sim::GemmAnswer> time_all(const models::gpu::GpuConfig& config, const Options& options,
                                      const sim::GemmTimerOptions& timer, const sim::GemmQuestion& question,
                                      const std::vector<kernels::GemmChoice>& choices) {
    std::vector<sim::GemmAnswer> answers(choices.size());
    Progress progress;
    std::size_t done = 0;
    const unsigned cores = options.workers != 0 ? options.workers : sim::available_cores();
    sim::GemmTimerOptions shared = timer;
    shared.threads = sim::threads_per_worker(choices.size(), cores);
    sim::run_jobs(
        choices.size(), cores, [&] { return std::make_unique<Jobs>(config, shared, question, choices); },
        [&](std::size_t job, const std::string& text) {
            answers[job] = sim::gemm_answer_from_text(text);
            progress.update(static_cast<double>(++done) / static_cast<double>(choices.size()),
                            answers[job].choice);
        });
    return answers;
}

class TextJob : public sim::JobRunner {
  public:
    explicit TextJob(std::function<std::string()> compute) : compute_(std::move(compute)) {}
    std::string run(std::size_t) override { return compute_(); }

  private:
    std::function<std::string()> compute_;
};

/// In a process of its own.
sim::GemmNumerics numerics_of(const models::gpu::GpuConfig& config, const sim::GemmQuestion& question,
                              const kernels::GemmChoice& choice) {
    sim::GemmNumerics result;
    sim::run_jobs(
        1, 1,
        [&] {
            return std::make_unique<TextJob>(
                [&] { return to_text(sim::compute_gemm(question, config, choice)); });
        },
        [&](std::size_t, const std::string& text) { result = sim::gemm_numerics_from_text(text); });
    return result;
}

sim::PowerDraw power_of(const models::gpu::GpuConfig& config, const sim::GemmAnswer& answer) {
    return sim::power_draw(config.power, config.sm.count, answer.power, answer.clock);
}

std::string describe_answer(const sim::GemmQuestion& question, const models::gpu::GpuConfig& config,
                            const sim::GemmAnswer& answer) {
    const double work = 2.0 * question.m * question.n * question.k * question.batch;
    // f32 is multiplied on the CUDA cores.
    const double macs = question.type == trace::ElementType::f32
                            ? target::generation_of(config.compute_capability).rates.fp32
                            : sim::gemm_machine(config, kernel_type_of(question)).macs_per_cycle;
    const double peak = 2 * macs * config.sm.count * answer.clock;
    std::string text =
        fmt::format("{:.2f} us: {:.1f} TFLOP/s, {:.1f} % of the {:.1f} of dense {} at {:.0f} MHz, {:.0f} W\n",
                    answer.seconds * 1e6, work / answer.seconds / 1e12, 100 * work / answer.seconds / peak,
                    peak / 1e12, trace::name_of(question.type), answer.clock / 1e6, answer.power);
    if (const std::string excess = describe_excess(power_of(config, answer)); !excess.empty())
        text += "note: " + excess +
                "; so short a time may take more (power.allowance), and --set power.allowance=0 gives what "
                "the board keeps up\n";
    text += "kernel: " + answer.choice + "\n";
    text += fmt::format(
        "use of rates: tensor cores {:.0f} %, L2 {:.0f} %, memory {:.0f} %; launch {:.0f} % of the time\n",
        100 * answer.tensor, 100 * answer.l2, 100 * answer.memory, 100 * answer.launch);
    for (const sim::LaunchOutcome& kernel : answer.kernels) {
        text += fmt::format("  {:8.2f} us, bound by {}, {:.1f} MB from or to memory", kernel.seconds * 1e6,
                            kernel.bound_by, kernel.dram_bytes / 1e6);
        if (kernel.sampled && kernel.sampled->simulated < 1)
            text += fmt::format("; {:.0f} % simulated", 100 * kernel.sampled->simulated);
        text += "\n";
    }
    if (answer.estimated_seconds > 0)
        text += fmt::format("closed form: {:.2f} us\n", answer.estimated_seconds * 1e6);
    return text;
}

std::string written(const std::string& signals) {
    return signals.empty() ? "" : "signals: " + signals + "\n";
}

/// Of the kernels of the best choice, in a process of its own.
std::string trace_signals(const models::gpu::GpuConfig& config, const Options& options,
                          const sim::GemmTimerOptions& timer, const sim::GemmQuestion& question,
                          const kernels::GemmChoice& choice, double clock) {
    std::string report;
    sim::run_jobs(
        1, 1,
        [&] {
            return std::make_unique<TextJob>([&] {
                sim::GemmTimer once(config, timer);
                return sim::write_signals(options.signals, options.signals.file, [&](models::SignalTrace& trace) {
                    once.trace(question, choice, clock, trace);
                });
            });
        },
        [&](std::size_t, const std::string& text) { report = text; });
    return report;
}

/// On a TPU there are no kernels to choose from: the compiler searches one program.
void run_on_tpu(const Options& options, const sim::Hardware& hardware) {
    const std::pair<bool, const char*> of_gpus[] = {{options.quantise, "--quantise"},
                                                    {!options.tile.empty(), "--tile"},
                                                    {options.autotune > 1, "--autotune"},
                                                    {options.full, "--full"}};
    for (const auto& [given, name] : of_gpus) {
        if (given)
            throw Error(
                "only GPUs have it", {name, 0, ""},
                "leave it out; --set compiler.tile_rows=256 (tile_columns, tile_depth, loop_order) sets a "
                "TPU's tiles");
    }
    sim::TpuGemmQuestion question{options.m, options.n, options.k, options.batch};
    std::tie(question.a, question.b) = sim::tpu_gemm_types_from_name(options.type);
    question.transpose_a = options.layout[0] == 't';
    question.transpose_b = options.layout[1] == 't';
    check(question, sim::tpu_config(hardware));
    const sim::TpuGemmAnswer answer = time_tpu_gemm(question, sim::tpu_config(hardware), options.numerics, options.signals);
    print(options.json ? sim::with_common_names(to_json(question, answer), "gemm")
                       : name_of(question) + " on " + hardware.name + ": " + describe(question, answer) + written(answer.signals));
    if (!answer.passed(options.numerics))
        throw ComparisonFailed{"the values of " + name_of(question) + " are further off than they may be"};
}

void run_command(const Options& options) {
    const sim::Hardware hardware = sim::load_hardware(options.hardware, options.overrides, options.programs);
    if (sim::tpu_machine(hardware) != nullptr) return run_on_tpu(options, hardware);
    const models::gpu::GpuConfig& config = sim::gpu_config(hardware);
    sim::GemmQuestion question{options.m, options.n, options.k, sim::gemm_type_from_name(options.type)};
    question.quantise = options.quantise;
    question.batch = options.batch;
    question.transpose_a = options.layout[0] == 't';
    question.transpose_b = options.layout[1] == 't';
    check(question, config);
    if (options.signals.asked() && !options.full)
        throw Error("signals are those of every simulated cycle", {"--trace-signals", 0, ""}, "add --full");
    const sim::GemmTimerOptions timer{{options.cold ? 0 : options.weight_copies, !options.cold},
                                      !options.full};
    std::vector<kernels::GemmChoice> choices = options.tile.empty()
                                                   ? candidates(question, config, timer.surroundings)
                                                   : std::vector<kernels::GemmChoice>{forced_choice(
                                                         question, config, timer.surroundings, options.tile)};
    if (options.tile.empty()) sim::keep_best(choices, options.autotune, question, config);
    const std::vector<sim::GemmAnswer> answers = time_all(config, options, timer, question, choices);
    std::size_t best = 0;
    for (std::size_t i = 1; i < answers.size(); ++i)
        if (answers[i].seconds < answers[best].seconds) best = i;
    std::optional<sim::GemmNumerics> numerics;
    if (options.numerics) numerics = numerics_of(config, question, choices[best]);
    std::string signals;
    if (options.signals.asked())
        signals = trace_signals(config, options, timer, question, choices[best], answers[best].clock);
    if (options.json) {
        nlohmann::ordered_json json{{"product", name_of(question)}, {"hardware", hardware.name}};
        json.update(nlohmann::ordered_json::parse(to_text(answers[best])));
        json["power_limit"] = config.power.limit;
        json["above_power_limit"] = power_of(config, answers[best]).is_above();
        if (numerics) json["numerics"] = nlohmann::ordered_json::parse(to_text(*numerics));
        print(sim::with_common_names(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace), "gemm"));
        return;
    }
    std::string candidates_table, text = name_of(question) + " on " + hardware.name + ": " +
                                         describe_answer(question, config, answers[best]);
    if (answers.size() > 1) {
        text += "\n";
        std::vector<std::vector<std::string>> rows{{"us", "estimated", "candidate, by estimate"}};
        for (const sim::GemmAnswer& answer : answers)
            rows.push_back({fmt::format("{:.2f}", answer.seconds * 1e6),
                            fmt::format("{:.2f}", answer.estimated_seconds * 1e6), answer.choice});
        candidates_table = sim::fit_columns(std::move(rows), {true, true, false}, table_width());
    }
    print(sim::wrap_lines(text, table_width()) + candidates_table +
          (numerics ? sim::wrap_lines(describe(*numerics), table_width()) : "") + written(signals));
    if (numerics && !numerics->passed())
        throw ComparisonFailed{"the values of " + name_of(question) + " are not those of its plan"};
}

}  // namespace gemm_command

void add_gemm_command(CLI::App& app) {
    using namespace gemm_command;
    const auto options = std::make_shared<Options>();
    CLI::App* command = add_command(app, "gemm");
    command->add_option("M", options->m, "rows of A and D")->required();
    command->add_option("N", options->n, "columns of B and D")->required();
    command->add_option("K", options->k, "columns of A, rows of B")->required();
    command
        ->add_option(
            "--type", options->type,
            "of A and B: bf16 (default), f16, tf32, fp8 (e4m3), e5m2, i8, f32 or f64. D has the "
            "same, but bf16 "
            "for 8-bit floats and i32 for i8. On a TPU bf16, fp8 (e4m3), e5m2, f32, i8, i16, or A x B: "
            "8x16, i8xi16, e4m3xbf16")
        ->type_name("TYPE");
    command->add_flag("--quantise", options->quantise,
                      "8-bit floats: A comes as bf16 and is quantised first, with one scale");
    command->add_option("--hardware", options->hardware, "the device to simulate")
        ->type_name("NAME|FILE")
        ->required();
    add_set_option(*command, options->overrides, "change a parameter of the device");
    add_programs_option(*command, options->programs);
    command
        ->add_option("--batch", options->batch, "so many products of these sizes in one launch (default: 1)")
        ->type_name("N");
    command
        ->add_option("--layout", options->layout,
                     "n or t for A, then for B: nt (default) has k contiguous in both")
        ->check(CLI::IsMember({"nn", "nt", "tn", "tt"}));
    command
        ->add_option("--tile", options->tile,
                     "which kernel: 128x256, or the name of a recorded one (nvjet_..., sm90_xmma_gemm_..., "
                     "cutlass_...)")
        ->type_name("MxN|KERNEL");
    command
        ->add_option("--autotune", options->autotune,
                     "simulate the best N candidates (8) and take the fastest")
        ->type_name("N")
        ->expected(0, 1)
        ->default_str("8");
    command
        ->add_option("--weight-copies", options->weight_copies,
                     "copies of B that the calls before this one alternated among (default: 5)")
        ->type_name("N");
    command->add_flag("--cold", options->cold, "nothing lies in L2 before");
    command->add_flag("--numerics", options->numerics,
                      "compute it too, with random numbers: bits beside the plan of summation, error beside "
                      "doubles, and the same cycles");
    add_signal_options(*command, options->signals, false);
    command->add_flag("--full", options->full, "simulate every cycle, without sampling");
    command->add_option("-j,--jobs", options->workers, "cores to use (default: all)")->type_name("N");
    command->add_flag("--json", options->json, "print JSON");
    add_limit_options(*command);
    command->footer(
        "On a GPU, without --cold, the product is taken as one of many: A and D are in L2 as far as they "
        "fit, B comes\n"
        "from memory unless all its copies fit. On a TPU it is a program of its own, operands in HBM.\n"
        "Examples:\n"
        "  heddle gemm 4096 4096 4096 --type bf16 --hardware h100-sxm\n"
        "  heddle gemm 16 8192 8192 --hardware h100-sxm --autotune\n"
        "  heddle gemm 4096 4096 4096 --hardware tpu-v6e\n"
        "  heddle gemm 4096 4096 4096 --hardware tpu-v4 --type f32 --set compiler.fp32_passes=3 --numerics\n"
        "  heddle gemm 1024 1024 1024 --hardware h100-sxm --tile nvjet_tst_128x64_64x8_2x1_v_bz_TNT");
    command->callback([options] { run_command(*options); });
}

}  // namespace heddle::cli
