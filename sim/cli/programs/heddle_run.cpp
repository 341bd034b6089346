// CUDA programs on a virtual GPU.
#include "sim/cli/run.h"

int main(int argument_count, char** arguments) {
    using namespace heddle::cli;
    constexpr Command kCommands[] = {
        {"run", add_run_command},
        {"simulate", add_simulate_command},
    };
    play_program_recordings();
    return run(argument_count, arguments, kCommands);
}
