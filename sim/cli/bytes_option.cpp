#include "sim/cli/bytes_option.h"

#include "isa/common/error.h"
#include "models/common/parameter.h"
#include "sim/config/quantity.h"

namespace heddle::cli {

CLI::Option* add_bytes_option(CLI::App& command, const std::string& name, double& bytes,
                              const std::string& description) {
    return command
        .add_option_function<std::string>(
            name,
            [name, &bytes](const std::string& text) {
                try {
                    const bool plain =
                        !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
                    bytes = sim::parse_quantity(plain ? text + " B" : text, models::Quantity::bytes);
                } catch (const Error& failure) {
                    throw Error(failure.problem(), {name, 0, ""}, failure.remedy());
                }
            },
            description)
        ->type_name("BYTES");
}

}  // namespace heddle::cli
