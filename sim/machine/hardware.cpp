#include "sim/machine/hardware.h"

#include <filesystem>

#include "sim/config/quantity.h"

namespace heddle::sim {

models::ParameterList parameter_list(Hardware& hardware) {
    models::ParameterList list;
    hardware.machine().describe(list);
    return list;
}

std::vector<ParameterDescription> describe_parameters(const Hardware& hardware) {
    // A copy: describe() lists fields by reference, ready to be set.
    Hardware copy = hardware;
    const models::ParameterList list = parameter_list(copy);
    std::vector<ParameterDescription> descriptions;
    for (const models::Parameter& parameter : list.parameters()) {
        const auto origin = hardware.origins.find(parameter.path);
        ParameterDescription description{
            parameter.path, format_parameter(parameter), format_range(parameter), parameter.meaning, "", ""};
        if (origin != hardware.origins.end()) {
            description.source = origin->second.source;
            description.where = file_and_line(origin->second.where);
        }
        descriptions.push_back(std::move(description));
    }
    return descriptions;
}

std::string file_and_line(const SourceLocation& where) {
    if (where.line == 0) return where.file;
    return std::filesystem::path(where.file).filename().string() + ":" + std::to_string(where.line);
}

}  // namespace heddle::sim
