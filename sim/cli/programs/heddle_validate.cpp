// Comparisons with silicon, and what is installed here.
#include "sim/cli/run.h"

int main(int argument_count, char** arguments) {
    using namespace heddle::cli;
    constexpr Command kCommands[] = {
        {"validate", add_validate_command},
        {"doctor", add_doctor_command},
    };
    return run(argument_count, arguments, kCommands);
}
