#include <string>
#include <vector>

#include "sim/cli/commands.h"

namespace heddle::cli {

CLI::Option* add_set_option(CLI::App& command, std::vector<std::string>& overrides,
                            const std::string& meaning) {
    return command.add_option("--set", overrides, meaning)->type_name("KEY=VALUE")->allow_extra_args(false);
}

void add_programs_option(CLI::App& command, sim::Programs& programs) {
    command.add_flag_callback(
        "--allow-programs", [&programs] { programs = sim::Programs::allowed; },
        "let hardware files load libraries, and launch files give nvcc any option and write anywhere; only for "
        "files that you trust as you trust a program");
}

}  // namespace heddle::cli
