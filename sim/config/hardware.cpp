#include "sim/config/hardware.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "sim/config/distance.h"
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

using NamedValue = std::pair<const std::string, ValueOrigin>;

/// The parameters that a sentence names, in its order.
std::vector<const NamedValue*> named_in(const std::string& sentence,
                                        const std::map<std::string, ValueOrigin>& origins) {
    const auto in_name = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    };
    std::vector<const NamedValue*> named;
    for (std::size_t at = 0; at < sentence.size(); ++at) {
        if (!in_name(sentence[at]) || (at > 0 && in_name(sentence[at - 1]))) continue;
        std::size_t end = at;
        while (end < sentence.size() && in_name(sentence[end])) ++end;
        while (end > at && sentence[end - 1] == '.') --end;  // of the sentence
        const auto found = origins.find(sentence.substr(at, end - at));
        if (found != origins.end() && std::find(named.begin(), named.end(), &*found) == named.end())
            named.push_back(&*found);
    }
    return named;
}

/// Of the parameters that the problem names the one that the user set: in the nearest file, and the first of
/// several there. The file when it names none.
SourceLocation location_of(const Problem& problem, const std::map<std::string, ValueOrigin>& origins,
                           const HardwareText& text) {
    const auto named = named_in(problem.key.empty() ? problem.sentence : problem.key, origins);
    const auto nearest = std::min_element(named.begin(), named.end(), [&](const auto* a, const auto* b) {
        return distance_from_user(a->second, text) < distance_from_user(b->second, text);
    });
    return nearest != named.end() ? (*nearest)->second.where
                                  : SourceLocation{text.files.front(), 0, problem.key};
}

std::string file_and_line(const SourceLocation& where) {
    if (where.line == 0) return where.file;
    return std::filesystem::path(where.file).filename().string() + ":" + std::to_string(where.line);
}

/// "l2.slices is 80 (h100-sxm.yaml:199), hbm.channels is 96 (mine.yaml:9)", where a problem is about several.
std::string values_in(const Problem& problem, const std::map<std::string, ValueOrigin>& origins) {
    const auto named = named_in(problem.sentence, origins);
    std::string values;
    for (const NamedValue* value : named)
        values += (values.empty() ? "" : ", ") + value->first + " is " + value->second.text + " (" +
                  file_and_line(value->second.where) + ")";
    return named.size() > 1 ? values : "";
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
                    problem->remedy.empty() ? values_in(*problem, hardware.origins) : problem->remedy);
    }
    return config;
}

/// A file from somewhere must not bring a program of its own into this process.
void refuse_programs(const Hardware& hardware, const std::vector<Setting>& overrides) {
    if (!hardware.is_gpu()) return;
    const models::gpu::GpuConfig& gpu = hardware.gpu();
    for (const auto& [key, library] : {std::pair{"hbm.model", gpu.hbm.model}, std::pair{"l2.model", gpu.l2.model}}) {
        const auto origin = hardware.origins.find(key);
        const bool named_by_user = std::any_of(overrides.begin(), overrides.end(),
                                               [&](const Setting& setting) { return setting.path == key; });
        if (library.empty() || named_by_user || origin == hardware.origins.end()) continue;
        throw Error("a file may not load a library", origin->second.where,
                    "look at what `" + library + "` is, then add --allow-programs");
    }
}

}  // namespace

Hardware load_hardware(const std::string& name_or_file, const std::vector<std::string>& overrides,
                       Programs programs) {
    HardwareText text = read_hardware_file(find_hardware_file(name_or_file));
    text.programs = programs;
    return configure_hardware(text, overrides);
}

models::ParameterList parameter_list(Hardware& hardware) {
    return std::visit([&hardware](auto& config) { return parameters_of(config, hardware); }, hardware.device);
}

Hardware configure_hardware(const HardwareText& text, const std::vector<std::string>& overrides,
                            bool checked) {
    std::vector<Setting> settings;
    settings.reserve(overrides.size());
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
    if (text.programs == Programs::refused) refuse_programs(hardware, settings);
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
