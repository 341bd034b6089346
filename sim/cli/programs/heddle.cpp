// What is built first: simulations of models, hardware files, comparisons of runs; and the way to all other programs.
#include "sim/cli/run.h"

int main(int argument_count, char** arguments) {
    using namespace heddle::cli;
    constexpr Command kCommands[] = {
        {"simulate", add_simulate_command},
        {"hardware", add_hardware_command},
        {"compare", add_compare_command},
        {"devices", add_devices_command},
    };
    return run(argument_count, arguments, kCommands);
}
