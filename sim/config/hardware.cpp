#include "sim/config/hardware.h"

#include <algorithm>
#include <filesystem>

#include "sim/config/quantity.h"

namespace heddle::sim {
namespace {

/// Fills one model's configuration. describe() and check() are the model's own, found by its namespace.
template <class Config>
Config configured(const HardwareText& text, const std::vector<Setting>& overrides,
                  std::map<std::string, ValueOrigin>& origins) {
    Config config;
    models::ParameterList list;
    describe(config, list);
    origins = apply_settings(text, overrides, list);
    const std::vector<std::string> problems = check(config);
    if (problems.empty()) return config;
    throw Error("impossible machine: " + problems.front(), location_of(problems.front(), origins, text),
                problems.size() == 1 ? "" : "and " + std::to_string(problems.size() - 1) + " more problems");
}

std::string file_and_line(const SourceLocation& where) {
    if (where.line == 0) return where.file;
    return std::filesystem::path(where.file).filename().string() + ":" + std::to_string(where.line);
}

}  // namespace

SourceLocation location_of(const std::string& problem, const std::map<std::string, ValueOrigin>& origins,
                           const HardwareText& text) {
    // The parameter that the sentence names first, preferring the longer of two names that begin alike.
    const ValueOrigin* found = nullptr;
    std::size_t position = std::string::npos, length = 0;
    for (const auto& [path, origin] : origins) {
        const std::size_t at = problem.find(path);
        if (at == std::string::npos || at > position || (at == position && path.size() < length)) continue;
        position = at;
        length = path.size();
        found = &origin;
    }
    return found != nullptr ? found->where : SourceLocation{text.files.front(), 0, ""};
}

Hardware load_hardware(const std::string& name_or_file, const std::vector<std::string>& overrides) {
    const HardwareText text = read_hardware_file(find_hardware_file(name_or_file));
    std::vector<Setting> settings;
    for (const std::string& assignment : overrides) settings.push_back(parse_override(assignment));
    Hardware hardware;
    hardware.name = text.name;
    hardware.kind = text.kind;
    hardware.description = text.description;
    hardware.files = text.files;
    if (text.kind == "gpu") {
        hardware.device = configured<models::gpu::GpuConfig>(text, settings, hardware.origins);
    } else if (text.kind == "tpu") {
        hardware.device = configured<models::tpu::TpuConfig>(text, settings, hardware.origins);
    } else if (text.kind.empty()) {
        throw Error("missing key `kind`", {text.files.front(), 0, ""}, "add `kind: gpu` or `kind: tpu`");
    } else {
        throw Error("`" + text.kind + "` is not a kind of device", text.kind_where, "write `gpu` or `tpu`");
    }
    return hardware;
}

std::vector<ParameterDescription> describe_parameters(const Hardware& hardware) {
    // A copy: describe() lists fields by reference, ready to be set.
    auto device = hardware.device;
    models::ParameterList list;
    std::visit([&list](auto& config) { describe(config, list); }, device);
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

}  // namespace heddle::sim
