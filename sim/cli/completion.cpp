#include "sim/cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "isa/common/error.h"
#include "sim/cli/man_page.h"
#include "sim/cli/output.h"
#include "sim/cli/programs.h"
#include "sim/cluster/cluster.h"
#include "sim/config/hardware_file.h"
#include "workloads/zoo/registry.h"

namespace heddle::cli {
namespace {

/// For a word in single quotes of a shell.
std::string quoted(const std::string& text) {
    std::string safe = "'";
    for (const char c : text) safe += c == '\'' ? std::string("'\\''") : std::string(1, c == '\n' ? ' ' : c);
    return safe + "'";
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

std::vector<std::string> option_names(const CommandDescription& command) {
    std::vector<std::string> names;
    for (const OptionDescription& option : command.options)
        if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
    return names;
}

std::vector<std::string> command_names(const CommandDescription& command) {
    std::vector<std::string> names;
    for (const CommandDescription& child : command.commands) names.push_back(child.name);
    return names;
}

/// What positionals of a command may be: the first one that a shell can help with.
const OptionDescription* positional_of(const CommandDescription& command) {
    for (const OptionDescription& option : command.options)
        if (option.positional && option.values != Values::anything && option.values != Values::none)
            return &option;
    return nullptr;
}

/// How a shell is told what a value may be; {} stands for the names' kind, or for the words.
struct Shell {
    const char *names, *words, *files, *folders;
    const char* also;      ///< between two of them
    const char* anything;  ///< where it can help with nothing
    bool quotes_words;     ///< they are one argument
};
constexpr Shell kBash{"_heddle_words \"$(heddle completion --names {} 2>/dev/null)\"",
                      "_heddle_words {}",
                      "_heddle_files",
                      "COMPREPLY+=($(compgen -d -- \"$current\"))",
                      "; ",
                      ":",
                      true};
constexpr Shell kZsh{"compadd -- ${{(f)\"$(heddle completion --names {} 2>/dev/null)\"}}",
                     "compadd -- {}",
                     "_files",
                     "_files -/",
                     "; ",
                     ":",
                     false};
constexpr Shell kFish{" -a '(heddle completion --names {} 2>/dev/null)'",
                      " -a {}",
                      " -F",
                      " -a '(__fish_complete_directories)'",
                      "",
                      "",
                      true};

/// What `shell` is told of a value.
std::string values_of(const Shell& shell, Values values, const std::vector<std::string>& words) {
    const auto names = [&](const char* kind) {
        return fmt::format(fmt::runtime(shell.names), kind) + shell.also + shell.files;
    };
    std::string own =
        fmt::format(fmt::runtime(shell.words), shell.quotes_words ? quoted(joined(words)) : joined(words));
    switch (values) {
        case Values::devices:
            return names("devices");
        case Values::models:
            return names("models");
        case Values::clusters:
            return names("clusters");
        case Values::files:
            return words.empty() ? shell.files : own + shell.also + shell.files;
        case Values::folders:
            return shell.folders;
        case Values::words:
            return own;
        case Values::none:
        case Values::anything:
            break;
    }
    return shell.anything;
}

/// The arms of `case "$before"` in bash and zsh: after an option come its values.
std::string value_cases(const CommandDescription& command, const Shell& shell) {
    std::string cases = fmt::format("        {})\n            case \"$before\" in\n", quoted(command.path));
    for (const OptionDescription& option : command.options) {
        if (option.positional || option.value.empty()) continue;
        std::string names;
        for (const std::string& name : option.names) names += (names.empty() ? "" : "|") + name;
        cases += fmt::format("                {}) {}; return ;;\n", names,
                             values_of(shell, option.values, option.words));
    }
    return cases + "            esac\n";
}

/// What stands where no option is begun, in bash and zsh.
std::string positional_case(const CommandDescription& command, const Shell& shell) {
    const OptionDescription* positional = positional_of(command);
    if (positional == nullptr) return {};
    return "            [[ $current == -* ]] || { " +
           values_of(shell, positional->values, positional->words) + "; }\n";
}

/// "heddle hardware" for bash's case, which tells the command that has been reached.
std::string bash_cases(const CommandDescription& root) {
    std::string cases;
    for (const CommandDescription* command : all_commands(root)) {
        cases += value_cases(*command, kBash);
        std::vector<std::string> words = command_names(*command);
        const std::vector<std::string> options = option_names(*command);
        words.insert(words.end(), options.begin(), options.end());
        cases += "            _heddle_words " + quoted(joined(words)) + "\n";
        cases += positional_case(*command, kBash);
        cases += "            ;;\n";
    }
    return cases;
}

/// Words that take the next one as their value, over all commands: they are skipped when the command is
/// looked for.
std::string options_with_values(const CommandDescription& root) {
    std::set<std::string> names;
    for (const CommandDescription* command : all_commands(root))
        for (const OptionDescription& option : command->options)
            if (!option.positional && !option.value.empty())
                names.insert(option.names.begin(), option.names.end());
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : "|") + name;
    return text.empty() ? "''" : text;
}

std::string paths_of(const CommandDescription& root) {
    std::string text;
    for (const CommandDescription* command : all_commands(root))
        text += (text.empty() ? "" : "|") + quoted(command->path);
    return text;
}

}  // namespace

std::string bash_completion(const CommandDescription& root) {
    return fmt::format(R"sh(# Completion of `heddle` for bash: source <(heddle completion bash)
_heddle_words() {{
    local word
    for word in $1; do [[ $word == "$current"* ]] && COMPREPLY+=("$word"); done
}}
_heddle_files() {{
    local file
    compopt -o filenames 2>/dev/null
    while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$current")
}}
_heddle() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} path=heddle word i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; ++i)); do
        word=${{COMP_WORDS[i]}}
        case "$word" in
            {}) ((++i)); continue ;;
        esac
        case "$path $word" in
            {}) path="$path $word" ;;
        esac
    done
    case "$path" in
{}    esac
}}
complete -F _heddle heddle
)sh",
                       options_with_values(root), paths_of(root), bash_cases(root));
}

namespace {

/// For a description within _describe's "name:text".
std::string zsh_entry(const std::string& name, const std::string& text) {
    const std::string both = name + "\x1f" + text;
    std::string safe;
    for (const char c : both) {
        if (c == ':') safe += '\\';
        safe += c;
    }
    const std::size_t place = safe.find('\x1f');
    return quoted(safe.substr(0, place) + ":" + safe.substr(place + 1));
}

std::string zsh_cases(const CommandDescription& root) {
    std::string cases;
    for (const CommandDescription* command : all_commands(root)) {
        cases += value_cases(*command, kZsh) + "            entries=(";
        for (const CommandDescription& child : command->commands)
            cases += "\n                " + zsh_entry(child.name, child.text);
        cases += ")\n            (( $#entries )) && _describe command entries\n            entries=(";
        for (const OptionDescription& option : command->options)
            if (!option.positional)
                cases += "\n                " + zsh_entry(option.names.back(), option.text);
        cases += ")\n            [[ $current == -* ]] && _describe -o option entries\n";
        cases += positional_case(*command, kZsh);
        cases += "            ;;\n";
    }
    return cases;
}

}  // namespace

std::string zsh_completion(const CommandDescription& root) {
    return fmt::format(R"sh(#compdef heddle
# Completion of `heddle` for zsh: source <(heddle completion zsh), after compinit.
_heddle() {{
    local current=${{words[CURRENT]}} before=${{words[CURRENT-1]}} at=heddle word i
    local -a entries
    for ((i = 2; i < CURRENT; ++i)); do
        word=${{words[i]}}
        case "$word" in
            {}) ((++i)); continue ;;
        esac
        case "$at $word" in
            {}) at="$at $word" ;;
        esac
    done
    case "$at" in
{}    esac
}}
if [[ $funcstack[1] == _heddle ]]; then _heddle "$@"; else compdef _heddle heddle; fi
)sh",
                       options_with_values(root), paths_of(root), zsh_cases(root));
}

std::string fish_completion(const CommandDescription& root) {
    std::string text = fmt::format(R"sh(# Completion of `heddle` for fish: heddle completion fish | source
function __heddle_path
    set -l path heddle
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case {}
                set skip 1
                continue
        end
        switch "$path $word"
            case {}
                set path "$path $word"
        end
    end
    echo $path
end
function __heddle_at
    test (__heddle_path) = "$argv"
end
complete -c heddle -f
)sh",
                                   [&] {
                                       std::string names = options_with_values(root);
                                       std::replace(names.begin(), names.end(), '|', ' ');
                                       return names;
                                   }(),
                                   [&] {
                                       std::string paths;
                                       for (const CommandDescription* command : all_commands(root))
                                           paths += (paths.empty() ? "" : " ") + quoted(command->path);
                                       return paths;
                                   }());
    for (const CommandDescription* command : all_commands(root)) {
        const std::string here = "complete -c heddle -n " + quoted("__heddle_at " + command->path);
        for (const CommandDescription& child : command->commands)
            text += here + " -a " + quoted(child.name) + " -d " + quoted(child.text) + "\n";
        for (const OptionDescription& option : command->options) {
            if (option.positional) {
                if (option.values != Values::anything)
                    text += here + values_of(kFish, option.values, option.words) + "\n";
                continue;
            }
            text += here;
            for (const std::string& name : option.names)
                text += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
            if (!option.value.empty()) text += " -r" + values_of(kFish, option.values, option.words);
            text += " -d " + quoted(option.text) + "\n";
        }
    }
    return text;
}

void add_completion_command(CLI::App& app) {
    struct Options {
        std::string shell, names;
    };
    const auto options = std::make_shared<Options>();
    CLI::App* command = add_command(app, "completion");
    CLI::Option* shell = command->add_option("SHELL", options->shell, "whose completions")
                             ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    command
        ->add_option("--names", options->names, "print names instead, one per line: what completions ask for")
        ->check(CLI::IsMember({"devices", "models", "clusters"}))
        ->excludes(shell);
    command->footer(
        "Examples:\n"
        "  source <(heddle completion bash)\n"
        "  source <(heddle completion zsh)\n"
        "  heddle completion fish | source\n"
        "Put the line into ~/.bashrc, ~/.zshrc (after compinit) or ~/.config/fish/config.fish. `cmake "
        "--install` installs "
        "all three.");
    command->callback([options, &app] {
        std::string text;
        if (options->names == "devices") {
            for (const std::string& name : sim::hardware_names()) text += name + "\n";
        } else if (options->names == "models") {
            for (const zoo::Model& model : zoo::models()) text += model.name + "\n";
        } else if (options->names == "clusters") {
            for (const std::string& name : sim::cluster_names()) text += name + "\n";
        } else if (options->shell.empty()) {
            throw Error("no shell is named", {}, "bash, zsh or fish; see `heddle completion --help`");
        } else {
            const CommandDescription root = describe_commands(app);
            text = options->shell == "bash"  ? bash_completion(root)
                   : options->shell == "zsh" ? zsh_completion(root)
                                             : fish_completion(root);
        }
        print(text);
    });
}

}  // namespace heddle::cli
