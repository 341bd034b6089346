// The manual page and the completions, which are made of every command.
#include "sim/cli/run.h"

int main(int argument_count, char** arguments) {
    using namespace heddle::cli;
    constexpr Command kCommands[] = {
        {"simulate", add_simulate_command},
        {"hardware", add_hardware_command},
        {"cluster", add_cluster_command},
        {"collective", add_collective_command},
        {"trace", add_trace_command},
        {"kernel", add_kernel_command},
        {"run", add_run_command},
        {"gemm", add_gemm_command},
        {"explore", add_explore_command},
        {"learn", add_learn_command},
        {"parallelism", add_parallelism_command},
        {"validate", add_validate_command},
        {"compare", add_compare_command},
        {"devices", add_devices_command},
        {"doctor", add_doctor_command},
        {"reference", add_reference_command},
        {"completion", add_completion_command},
        {"man", add_man_command},
    };
    return run(argument_count, arguments, kCommands);
}
