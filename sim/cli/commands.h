// The subcommands of `heddle`. Each adds itself to the command line, runs when it is chosen, and throws
// heddle::Error for bad input.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/gpu/kernel_result.h"
#include "sim/cli/run.h"
#include "sim/config/hardware_file.h"
#include "sim/run/time/signal_file.h"

namespace heddle::cli {

/// A comparison that the user asked for failed: exit code 1. The results have been written.
struct ComparisonFailed {
    std::string finding;
};

/// A step needs more memory than the device has: exit code 4. The answer has been printed.
struct TooLarge {
    std::string finding;
};

/// The user's program has ended with this exit code, which is that of the command.
struct ProgramEnded {
    int code = 0;
    std::string finding;  ///< "" when the program has said what was wrong
};

/// SIGINT or SIGTERM ended an exploration: exit code 128 and the signal. What was evaluated is kept.
struct ExplorationInterrupted {
    int signal = 0;
    std::size_t kept = 0;
};

/// These add the subcommands of `heddle validate`.
void add_validate_attention_command(CLI::App& validate);
void add_validate_collectives_command(CLI::App& validate);
void add_validate_cpu_command(CLI::App& validate);
void add_validate_gemm_command(CLI::App& validate);
void add_validate_training_command(CLI::App& validate);
void add_validate_trace_command(CLI::App& validate);

/// Adds --set KEY=VALUE, which may be repeated; `overrides` must live until the command line is parsed.
CLI::Option* add_set_option(CLI::App& command, std::vector<std::string>& overrides,
                            const std::string& meaning);

/// Adds --allow-programs, which permits files of others to name libraries (docs/robustness.md). `programs`
/// must live until the command line is parsed.
void add_programs_option(CLI::App& command, sim::Programs& programs);

/// Adds --schedule on|off to a command that runs PTX. `assembly` must live until the command line is parsed.
void add_schedule_option(CLI::App& command, ptx::Assembly& assembly);

/// Adds --series CYCLES and --series-of gpc|sm to a command that writes a timeline. `series` must live until
/// the command line is parsed.
void add_series_options(CLI::App& command, models::gpu::SeriesSettings& series);

/// Adds --trace-signals and the options that belong to it. `of_step` says that the command runs steps of
/// several kernels. `signals` must live until the command line is parsed.
void add_signal_options(CLI::App& command, sim::SignalOptions& signals, bool of_step);

}  // namespace heddle::cli
