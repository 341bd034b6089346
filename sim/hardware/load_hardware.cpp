#include "sim/hardware/load_hardware.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "sim/config/distance.h"
#include "sim/cpu/cpu_machine.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/machine/kinds.h"
#include "sim/tpu/tpu_machine.h"

namespace heddle::sim {
namespace {

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
SourceLocation location_of(const MachineProblem& problem, const std::map<std::string, ValueOrigin>& origins,
                           const HardwareText& text) {
    const auto named = named_in(problem.key.empty() ? problem.sentence : problem.key, origins);
    const auto nearest = std::min_element(named.begin(), named.end(), [&](const auto* a, const auto* b) {
        return distance_from_user(a->second, text) < distance_from_user(b->second, text);
    });
    return nearest != named.end() ? (*nearest)->second.where
                                  : SourceLocation{text.files.front(), 0, problem.key};
}

/// "l2.slices is 80 (h100-sxm.yaml:199), hbm.channels is 96 (mine.yaml:9)", where a problem is about several.
std::string values_in(const MachineProblem& problem, const std::map<std::string, ValueOrigin>& origins) {
    const auto named = named_in(problem.sentence, origins);
    std::string values;
    for (const NamedValue* value : named)
        values += (values.empty() ? "" : ", ") + value->first + " is " + value->second.text + " (" +
                  file_and_line(value->second.where) + ")";
    return named.size() > 1 ? values : "";
}

/// "add `kind: gpu` or `kind: tpu`"
std::string list_of_kinds(const std::string& before) {
    std::string list;
    for (const MachineKind& known : machine_kinds())
        list += (list.empty() ? "" : " or ") + ("`" + before + known.kind + "`");
    return list;
}

/// A machine of the file's kind with the kind's own values.
std::unique_ptr<Machine> machine_for(const HardwareText& text) {
    static const bool built_in = [] {
        for (MachineKind kind : {cpu_kind(), gpu_kind(), tpu_kind()}) add_machine_kind(std::move(kind));
        return true;
    }();
    static_cast<void>(built_in);
    if (text.kind.empty())
        throw Error("missing key `kind`", {text.files.front(), 0, ""}, "add " + list_of_kinds("kind: "));
    for (const MachineKind& known : machine_kinds())
        if (known.kind == text.kind) return known.make(text.name);
    throw Error("`" + text.kind + "` is not a kind of device", text.kind_where, "write " + list_of_kinds(""));
}

/// A file from somewhere must not bring a program of its own into this process.
void refuse_programs(const Hardware& hardware, const std::vector<Setting>& overrides) {
    for (const auto& [key, library] : hardware.machine().libraries()) {
        const auto origin = hardware.origins.find(key);
        const bool named_by_user = std::any_of(overrides.begin(), overrides.end(),
                                               [&path = key](const Setting& setting) { return setting.path == path; });
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

Hardware configure_hardware(const HardwareText& text, const std::vector<std::string>& overrides,
                            bool checked) {
    std::vector<Setting> settings;
    settings.reserve(overrides.size());
    for (const std::string& assignment : overrides) settings.push_back(parse_override(assignment));
    Hardware hardware(machine_for(text));
    hardware.name = text.name;
    hardware.kind = text.kind;
    hardware.description = text.description;
    hardware.files = text.files;
    hardware.origins = apply_settings(text, settings, parameter_list(hardware));
    const std::optional<MachineProblem> problem = checked ? hardware.machine().problem() : std::nullopt;
    if (problem)
        throw Error("impossible machine: " + problem->sentence, location_of(*problem, hardware.origins, text),
                    problem->remedy.empty() ? values_in(*problem, hardware.origins) : problem->remedy);
    if (text.programs == Programs::refused) refuse_programs(hardware, settings);
    return hardware;
}

}  // namespace heddle::sim
