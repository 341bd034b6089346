#include "sim/config/hardware.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "sim/config/quantity.h"

namespace heddle::sim {
namespace {

/// Why a machine cannot exist.
struct Problem {
    std::string sentence, key, remedy;
};

std::optional<Problem> problem_of(const models::gpu::GpuConfig& config) {
    const std::vector<std::string> problems = check(config);
    if (problems.empty()) return std::nullopt;
    return Problem{problems.front(), "", ""};
}

std::optional<Problem> problem_of(const models::TpuConfig& config) {
    try {
        config.check();
    } catch (const Error& error) {
        return Problem{error.problem(), error.where().key, error.remedy()};
    }
    return std::nullopt;
}

models::ParameterList parameters_of(models::gpu::GpuConfig& config, Hardware& hardware) {
    models::ParameterList list;
    describe(config, list);
    describe(hardware.step, list);
    describe(hardware.die, true, list);
    return list;
}

models::ParameterList parameters_of(models::TpuConfig& config, Hardware& hardware) {
    models::ParameterList list;
    config.describe(list);
    describe(hardware.die, false, list);
    return list;
}

/// Where the parameter that the problem is about was set: the one that it names first, and of two whose names
/// begin alike the longer. The file when it names none.
SourceLocation location_of(const Problem& problem, const std::map<std::string, ValueOrigin>& origins,
                           const HardwareText& text) {
    const std::string& sentence = problem.key.empty() ? problem.sentence : problem.key;
    const ValueOrigin* found = nullptr;
    std::size_t position = std::string::npos, length = 0;
    for (const auto& [path, origin] : origins) {
        const std::size_t at = sentence.find(path);
        if (at == std::string::npos || at > position || (at == position && path.size() < length)) continue;
        position = at;
        length = path.size();
        found = &origin;
    }
    return found != nullptr ? found->where : SourceLocation{text.files.front(), 0, problem.key};
}

/// Fills one model's configuration, and what stands beside it.
template <class Config>
Config configured(const HardwareText& text, const std::vector<Setting>& overrides, Hardware& hardware,
                  bool checked) {
    Config config;
    hardware.origins = apply_settings(text, overrides, parameters_of(config, hardware));
    if (!checked) return config;
    if (const std::optional<Problem> problem = problem_of(config)) {
        throw Error("impossible machine: " + problem->sentence, location_of(*problem, hardware.origins, text),
                    problem->remedy);
    }
    return config;
}

std::string file_and_line(const SourceLocation& where) {
    if (where.line == 0) return where.file;
    return std::filesystem::path(where.file).filename().string() + ":" + std::to_string(where.line);
}

}  // namespace

Hardware load_hardware(const std::string& name_or_file, const std::vector<std::string>& overrides) {
    return configure_hardware(read_hardware_file(find_hardware_file(name_or_file)), overrides);
}

models::ParameterList parameter_list(Hardware& hardware) {
    return std::visit([&hardware](auto& config) { return parameters_of(config, hardware); }, hardware.device);
}

Hardware configure_hardware(const HardwareText& text, const std::vector<std::string>& overrides,
                            bool checked) {
    std::vector<Setting> settings;
    for (const std::string& assignment : overrides) settings.push_back(parse_override(assignment));
    Hardware hardware;
    hardware.name = text.name;
    hardware.kind = text.kind;
    hardware.description = text.description;
    hardware.files = text.files;
    if (text.kind == "gpu") {
        hardware.device = configured<models::gpu::GpuConfig>(text, settings, hardware, checked);
    } else if (text.kind == "tpu") {
        auto config = configured<models::TpuConfig>(text, settings, hardware, checked);
        config.name = text.name;
        hardware.device = std::move(config);
    } else if (text.kind.empty()) {
        throw Error("missing key `kind`", {text.files.front(), 0, ""}, "add `kind: gpu` or `kind: tpu`");
    } else {
        throw Error("`" + text.kind + "` is not a kind of device", text.kind_where, "write `gpu` or `tpu`");
    }
    return hardware;
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

}  // namespace heddle::sim
