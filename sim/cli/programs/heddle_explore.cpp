// Explorations.
#include "sim/cli/run.h"

int main(int argument_count, char** arguments) {
    using namespace heddle::cli;
    constexpr Command kCommands[] = {
        {"explore", add_explore_command},
    };
    return run(argument_count, arguments, kCommands);
}
