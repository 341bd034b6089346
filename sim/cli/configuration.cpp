#include "sim/cli/configuration.h"

#include <nlohmann/json.hpp>

namespace heddle::cli {

std::string configuration_json(const std::string& workload, const sim::Hardware& hardware,
                               const std::map<std::string, std::string>& options) {
    using Json = nlohmann::ordered_json;
    Json json{{"heddle", HEDDLE_VERSION}, {"workload", workload}, {"hardware", hardware.name}};
    json["options"] = options;
    for (const sim::ParameterDescription& parameter : sim::describe_parameters(hardware))
        json["parameters"][parameter.path] = parameter.value;
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::cli
