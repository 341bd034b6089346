#include <map>
#include <string>

#include "isa/common/error.h"
#include "sim/cli/commands.h"

namespace heddle::cli {

void add_schedule_option(CLI::App& command, ptx::Assembly& assembly) {
    command
        .add_option_function<std::string>(
            "--schedule",
            [&assembly](const std::string& text) {
                if (text != "on" && text != "off") {
                    throw Error("`" + text + "` is neither on nor off", {"--schedule", 0, ""},
                                "off runs every PTX instruction as written, in its order");
                }
                assembly = text == "on" ? ptx::Assembly::scheduled : ptx::Assembly::as_written;
            },
            "on: fold and order PTX instructions as ptxas would; off: as written (default: on)")
        ->type_name("on|off");
}

}  // namespace heddle::cli
