// `heddle` with one more kind of machine.
#include "roofline_machine.h"
#include "sim/cli/run.h"

int main(int argument_count, char** arguments) {
    using namespace heddle::cli;
    heddle::sim::add_machine_kind(heddle::tests::roofline_kind());
    constexpr Command kCommands[] = {
        {"simulate", add_simulate_command},
        {"hardware", add_hardware_command},
        {"compare", add_compare_command},
        {"explore", add_explore_command},
    };
    return run(argument_count, arguments, kCommands);
}
