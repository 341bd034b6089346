// Single kernels.
#include "sim/cli/run.h"

int main(int argument_count, char** arguments) {
    using namespace heddle::cli;
    constexpr Command kCommands[] = {
        {"kernel", add_kernel_command},
        {"gemm", add_gemm_command},
    };
    return run(argument_count, arguments, kCommands);
}
