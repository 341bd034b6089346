#include <string>

#include "isa/common/error.h"
#include "sim/cli/bytes_option.h"
#include "sim/cli/commands.h"

namespace heddle::cli {

void add_signal_options(CLI::App& command, sim::SignalOptions& signals, bool of_step) {
    CLI::Option* const file =
        command
            .add_option_function<std::string>(
                "--trace-signals",
                [&signals](const std::string& path) {
                    if (path.ends_with(".fst"))
                        throw Error("FST files are not written", {"--trace-signals", 0, ""},
                                    "write a .vcd; `vcd2fst FILE.vcd FILE.fst`, which comes with GTKWave, converts it");
                    signals.file = path;
                },
                "write what the blocks of the device do in each cycle, for GTKWave: docs/signals.md")
            ->type_name("FILE.vcd");
    command
        .add_option("--signals", signals.patterns,
                    "only signals with such names: --signals 'gpu.*.sm0.*' (default: all)")
        ->type_name("PATTERN")
        ->allow_extra_args(false)
        ->needs(file);
    add_bytes_option(command, "--signals-size", signals.most_bytes,
                     "largest file of signals; a larger one is an error (default: 1 GiB)")
        ->needs(file);
    if (!of_step) return;
    command
        .add_option("--trace-kernel", signals.kernel,
                    "which kernels of the step --trace-signals is for: a pattern of their names or of their ops' "
                    "(default: the only one)")
        ->type_name("PATTERN")
        ->needs(file);
}

}  // namespace heddle::cli
