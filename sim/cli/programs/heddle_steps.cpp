// Training steps that others recorded, and steps on many devices.
#include "sim/cli/run.h"

int main(int argument_count, char** arguments) {
    using namespace heddle::cli;
    constexpr Command kCommands[] = {
        {"simulate", add_simulate_command},
        {"cluster", add_cluster_command},
        {"collective", add_collective_command},
        {"trace", add_trace_command},
        {"learn", add_learn_command},
        {"parallelism", add_parallelism_command},
        {"reference", add_reference_command},
    };
    return run(argument_count, arguments, kCommands);
}
