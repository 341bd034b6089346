// The command line of a program: which commands it has, and how it ends.
#pragma once

#include <span>

namespace CLI {
class App;
}

namespace heddle::cli {

/// Each of these functions adds one command with its options to `app`. The command throws heddle::Error for
/// bad input.
void add_simulate_command(CLI::App& app);
void add_cluster_command(CLI::App& app);
void add_collective_command(CLI::App& app);
void add_hardware_command(CLI::App& app);
void add_trace_command(CLI::App& app);
void add_run_command(CLI::App& app);
/// `heddle simulate` of this program plays recordings of CUDA programs itself.
void play_program_recordings();
void add_kernel_command(CLI::App& app);
void add_gemm_command(CLI::App& app);
void add_explore_command(CLI::App& app);
void add_learn_command(CLI::App& app);
void add_validate_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_devices_command(CLI::App& app);
void add_doctor_command(CLI::App& app);
void add_reference_command(CLI::App& app);
void add_parallelism_command(CLI::App& app);
void add_completion_command(CLI::App& app);
void add_man_command(CLI::App& app);

/// A command that a program contains.
struct Command {
    const char* name;
    void (*add)(CLI::App& app);
};

/// Parses the command line and runs a command of `commands`, or replaces the process by the program that
/// contains the command. Returns the exit code: 0 done, 1 a requested comparison failed, 2 bad usage or bad
/// input, 3 internal error, 4 the step does not fit the device's memory, 5 a limit was reached (limits.h).
/// Every error is one line on stderr.
int run(int argument_count, const char* const* arguments, std::span<const Command> commands);

}  // namespace heddle::cli
