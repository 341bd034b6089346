#include <string>
#include <vector>

#include "sim/cli/commands.h"

namespace heddle::cli {

CLI::Option* add_set_option(CLI::App& command, std::vector<std::string>& overrides,
                            const std::string& meaning) {
    return command.add_option("--set", overrides, meaning)->type_name("KEY=VALUE")->allow_extra_args(false);
}

}  // namespace heddle::cli
