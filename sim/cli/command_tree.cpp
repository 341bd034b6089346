#include "sim/cli/command_tree.h"

#include <algorithm>
#include <cctype>

namespace heddle::cli {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

bool is_word(const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::islower(c) || std::isdigit(c) || c == '-' || c == '_';
    });
}

/// "none|compile:{none,compile}" -> "none|compile"
std::string shown_value(const std::string& type) {
    const std::string value = type.substr(0, type.find(':'));
    return value == "TEXT" || value == "UINT" || value == "INT" || value == "FLOAT" ? "VALUE" : value;
}

/// What the type name of CLI11 says of the values: words between bars, or in the braces of CLI::IsMember.
void find_values(const std::string& type, OptionDescription& option) {
    const std::size_t open = type.find('{'), close = type.find('}', open == std::string::npos ? 0 : open);
    if (open != std::string::npos && close != std::string::npos)
        for (const std::string& word : split(type.substr(open + 1, close - open - 1), ','))
            if (is_word(word)) option.words.push_back(word);
    bool file = false, folder = false;
    for (const std::string& part : split(shown_value(type), '|')) {
        file = file || part.rfind("FILE", 0) == 0;
        folder = folder || part.rfind("DIR", 0) == 0 || part.rfind("RUN", 0) == 0;
        if (is_word(part) && std::find(option.words.begin(), option.words.end(), part) == option.words.end())
            option.words.push_back(part);
    }
    option.values = file                   ? Values::files
                    : folder               ? Values::folders
                    : option.words.empty() ? Values::anything
                                           : Values::words;
}

OptionDescription describe(const CLI::Option& from, const std::string& path) {
    OptionDescription option;
    option.text = from.get_description();
    option.required = from.get_required();
    option.positional = from.get_positional();
    for (const std::string& name : from.get_snames()) option.names.push_back("-" + name);
    for (const std::string& name : from.get_lnames()) option.names.push_back("--" + name);
    if (option.positional) option.names = {from.get_name(true)};
    if (from.get_items_expected_max() == 0) return option;
    option.value = option.positional ? option.names.front() : shown_value(from.get_type_name());
    find_values(from.get_type_name(), option);
    const std::string& name = option.names.back();
    const bool of_hardware = option.positional && path.rfind("heddle hardware", 0) == 0;
    if (name == "--hardware" || of_hardware) option.values = Values::devices;
    if (name == "--cluster" || (option.positional && path.rfind("heddle cluster", 0) == 0))
        option.values = Values::clusters;
    if (option.positional && (name.rfind("WORKLOAD", 0) == 0 || name == "MODEL"))
        option.values = Values::models;
    if (option.positional && (name.rfind("FIRST", 0) == 0 || name.rfind("SECOND", 0) == 0) && !of_hardware)
        option.values = Values::files;
    return option;
}

CommandDescription describe(const CLI::App& app, const std::string& parent) {
    CommandDescription command;
    command.name = app.get_name();
    command.path = parent.empty() ? command.name : parent + " " + command.name;
    command.text = app.get_description();
    command.footer = app.get_footer();
    for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; }))
        if (!option->get_group().empty()) command.options.push_back(describe(*option, command.path));
    for (const CLI::App* child : app.get_subcommands([](const CLI::App*) { return true; }))
        if (!child->get_group().empty()) command.commands.push_back(describe(*child, command.path));
    return command;
}

void collect(const CommandDescription& command, std::vector<const CommandDescription*>& all) {
    all.push_back(&command);
    for (const CommandDescription& child : command.commands) collect(child, all);
}

}  // namespace

bool CommandDescription::takes(const std::string& option) const {
    return std::any_of(options.begin(), options.end(), [&](const OptionDescription& one) {
        return std::find(one.names.begin(), one.names.end(), option) != one.names.end();
    });
}

CommandDescription describe_commands(const CLI::App& app) {
    return describe(app, "");
}

std::vector<const CommandDescription*> all_commands(const CommandDescription& root) {
    std::vector<const CommandDescription*> all;
    collect(root, all);
    return all;
}

}  // namespace heddle::cli
