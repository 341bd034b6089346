#include "sim/config/settings.h"

#include <algorithm>
#include <filesystem>

#include "sim/config/distance.h"
#include "sim/config/quantity.h"

namespace heddle::sim {
namespace {

using models::Parameter;

[[noreturn]] void unknown_key(const Setting& setting, const std::vector<Parameter>& parameters) {
    std::vector<std::string> paths;
    paths.reserve(parameters.size());
    for (const Parameter& parameter : parameters) paths.push_back(parameter.path);
    const std::string group = setting.path.substr(0, setting.path.rfind('.') + 1);
    std::vector<std::string> siblings;
    for (const std::string& path : paths) {
        if (!group.empty() && path.rfind(group, 0) == 0) siblings.push_back(path);
    }
    // A key of the same group is nearer to what was meant than a shorter one elsewhere.
    std::string near = nearest_word(setting.path, siblings.data(), siblings.size());
    // Words that other formats have at the top of a file.
    if (setting.path == "name" || setting.path == "title") near = "description";
    if (near.empty()) near = nearest_word(setting.path, paths.data(), paths.size());
    throw Error("unknown key", setting.where,
                near.empty() ? "`heddle hardware describe` lists every key" : "did you mean `" + near + "`?");
}

/// A path that a file names, from the folder of that file.
std::string beside(const std::string& file, const std::string& path) {
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    return std::filesystem::exists(file) && !folder.empty() ? (folder / path).string() : path;
}

void apply(const Setting& setting, const std::vector<Parameter>& parameters,
           std::map<std::string, ValueOrigin>& origins) {
    const auto found = std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
        return parameter.path == setting.path;
    });
    if (found == parameters.end()) unknown_key(setting, parameters);
    if (found->text != nullptr) {
        *found->text = setting.text == "none" ? "" : beside(setting.where.file, setting.text);
        origins[setting.path] = {setting.text, setting.where, setting.source};
        return;
    }
    try {
        if (found->list != nullptr) {
            *found->list = parse_list(setting.text, *found);
        } else {
            found->set(parse_parameter(setting.text, *found));
        }
    } catch (const Error& failure) {
        throw Error(failure.problem(), setting.where, failure.remedy());
    }
    origins[setting.path] = {setting.text, setting.where, setting.source};
}

/// A list that describes another machine's parts, further from the user than these, says nothing of them.
void forget_stale_list(const Parameter& parameter, const HardwareText& text,
                       std::map<std::string, ValueOrigin>& origins) {
    const auto list = origins.find(parameter.path);
    if (list == origins.end()) return;
    for (const std::string& part : parameter.parts) {
        const auto nearer = origins.find(part);
        if (nearer == origins.end() ||
            distance_from_user(nearer->second, text) >= distance_from_user(list->second, text))
            continue;
        parameter.list->clear();
        list->second = {parameter.none, nearer->second.where, "as " + part + " was changed"};
        return;
    }
}

[[noreturn]] void missing_keys(const HardwareText& text, const std::vector<const Parameter*>& missing) {
    constexpr std::size_t kShown = 5;
    std::string names;
    for (std::size_t i = 0; i < missing.size() && i < kShown; ++i) {
        names += (i == 0 ? "`" : ", `") + missing[i]->path + "`";
    }
    if (missing.size() > kShown) names += " and " + std::to_string(missing.size() - kShown) + " more";
    const Parameter& first = *missing.front();
    throw Error((missing.size() == 1 ? "missing key " : "missing keys ") + names, {text.files.front(), 0, ""},
                "add for example `" + first.path + ": " + format_parameter(first) + "` (" + first.meaning +
                    "), or start from a complete file with `extends`");
}

}  // namespace

std::size_t distance_from_user(const ValueOrigin& origin, const HardwareText& text) {
    const auto file = std::find(text.files.begin(), text.files.end(), origin.where.file);
    return file == text.files.end() ? 0 : static_cast<std::size_t>(file - text.files.begin()) + 1;
}

std::map<std::string, ValueOrigin> apply_settings(const HardwareText& text,
                                                  const std::vector<Setting>& overrides,
                                                  const models::ParameterList& list) {
    std::map<std::string, ValueOrigin> origins;
    const std::vector<Parameter>& parameters = list.parameters();
    for (const Setting& setting : text.settings) apply(setting, parameters, origins);
    for (const Setting& setting : overrides) apply(setting, parameters, origins);
    std::vector<const Parameter*> missing;
    for (const Parameter& parameter : parameters) {
        if (parameter.list != nullptr) forget_stale_list(parameter, text, origins);
        const bool optional = parameter.text != nullptr || parameter.list != nullptr;
        if (origins.count(parameter.path) == 0 && !optional) missing.push_back(&parameter);
    }
    if (!missing.empty()) missing_keys(text, missing);
    return origins;
}

}  // namespace heddle::sim
