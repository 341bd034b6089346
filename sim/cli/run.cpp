#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "isa/common/activity.h"
#include "isa/common/error.h"
#include "isa/common/foreign_text.h"
#include "isa/common/limits.h"
#include "isa/common/out_of_memory.h"
#include "sim/cli/commands.h"
#include "sim/cli/hand_over.h"
#include "sim/cli/limits.h"
#include "sim/cli/model_identity.h"
#include "sim/cli/paragraph.h"
#include "sim/cli/programs.h"
#include "sim/cli/progress.h"
#include "sim/cli/terminal.h"
#include "sim/run/time/kernel_cache.h"
#include "sim/run/workers/worker_pool.h"

namespace heddle::cli {
namespace {

constexpr int kDone = 0, kComparisonFailed = 1, kBadInput = 2, kInternalError = 3, kTooLarge = 4;

/// Errors are one line, whatever they quote.
int complain(const std::string& text, int code) {
    std::string line = visible(text);
    while (!line.empty() && line.back() == '\n') line.pop_back();
    std::replace(line.begin(), line.end(), '\n', ' ');
    std::fprintf(stderr, "%s %s\n", painted("heddle:", Colour::red, has_colours(STDERR_FILENO)).c_str(),
                 line.c_str());
    return code;
}

/// With $HEDDLE_ERRORS=json the parts of the message are one JSON object in a line, for programs that start this one.
int complain(const Error& error, int code) {
    const char* form = std::getenv("HEDDLE_ERRORS");
    if (form == nullptr || std::string(form) != "json") return complain(std::string(error.what()), code);
    const nlohmann::ordered_json parts{{"message", error.what()},     {"problem", error.problem()},   {"file", error.where().file},
                                       {"line", error.where().line}, {"key", error.where().key}, {"remedy", error.remedy()}};
    std::fprintf(stderr, "%s\n", nlohmann::ordered_json{{"error", parts}}.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace).c_str());
    return code;
}

/// Help in lines that fit the terminal.
class HelpLayout : public CLI::Formatter {
  public:
    std::string make_option_desc(const CLI::Option* option) const override {
        const unsigned column = static_cast<unsigned>(get_column_width());
        std::string text = wrap(CLI::Formatter::make_option_desc(option),
                                std::max(terminal_width(), column + 24) - column, 0);
        if (!text.empty()) text.pop_back();
        return text;
    }
};

/// The subcommand that the user had reached, for "see `heddle hardware diff --help`".
std::string chosen_command(const CLI::App& app) {
    std::string name = app.get_name();
    for (const CLI::App* chosen : app.get_subcommands()) name += " " + chosen_command(*chosen);
    return name;
}

/// "heddle trace import": the commands that the first words name.
std::string command_of_words(const CLI::App& app, int argument_count, const char* const* arguments) {
    std::string name = app.get_name();
    const CLI::App* level = &app;
    for (int i = 1; i < argument_count && level != nullptr; ++i) {
        const auto named = level->get_subcommands(
            [&](const CLI::App* command) { return command->get_name() == arguments[i]; });
        level = named.empty() ? nullptr : named.front();
        if (level != nullptr) name += " " + level->get_name();
    }
    return name;
}

/// "`simulate step.json ...`"
std::string words_of(int argument_count, const char* const* arguments) {
    std::string words;
    for (int i = 1; i < argument_count; ++i) words += (i == 1 ? "" : " ") + std::string(arguments[i]);
    return shortened("`" + words + "`");
}

/// How a command ends that was stopped on its way. `kept`: what is not lost.
int complain_of_stop(int signal, const std::string& kept) {
    disarm_time_limit();
    if (signal == SIGALRM) return complain(time_limit_text() + ": " + kept, kLimitReached);
    return complain("interrupted: " + kept, 128 + signal);
}

/// CLI11 says only that a command is missing when it does not know the word that stands in its place.
void check_command_words(const CLI::App& app, int argument_count, const char* const* arguments) {
    const CLI::App* level = &app;
    for (int i = 1; i < argument_count; ++i) {
        const auto commands = level->get_subcommands([](const CLI::App*) { return true; });
        if (commands.empty()) return;
        const std::string word = arguments[i];
        if (word.starts_with('-')) {
            if (level->get_option_no_throw(word) != nullptr) return;
            throw Error(
                "there is no option `" + word + "` here", {},
                "see `" + (level == &app ? "" : app.get_name() + " ") + level->get_name() + " --help`");
        }
        std::vector<std::string> names;
        const CLI::App* next = nullptr;
        for (const CLI::App* command : commands) {
            names.push_back(command->get_name());
            if (command->get_name() == word) next = command;
        }
        // Some commands take a word of their own beside their subcommands.
        const auto positionals = level->get_options([](const CLI::Option* o) { return o->get_positional(); });
        if (next == nullptr && !positionals.empty()) return;
        if (next == nullptr) {
            const std::string near = nearest_word(word, names.data(), names.size());
            std::string remedy = near.empty() ? "known:" : "did you mean `" + near + "`?";
            for (const std::string& name : names) remedy += near.empty() ? " " + name : "";
            throw Error("there is no command `" + word + "`", {}, remedy);
        }
        level = next;
    }
}

}  // namespace

int run(int argument_count, const char* const* arguments, std::span<const Command> commands) {
    name_what_takes_memory("heddle", kBadInput);
    // libsystemc greets on stderr otherwise, where scripts look for errors.
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
    sim::set_model_identity(model_identity());
    CLI::App app("Runs machine-learning training on hardware that exists only as a YAML file.", "heddle");
    std::string other;  // the program to which the command belongs
    app.formatter(std::make_shared<HelpLayout>());  // subcommands take it over
    app.require_subcommand(1);
    app.set_version_flag("--version", "heddle " HEDDLE_VERSION);
    app.footer(
        "Examples:\n"
        "  heddle simulate mlp --hardware h100-sxm\n"
        "  heddle hardware list\n"
        "  heddle explore mlp --hardware h100-sxm --vary 'sm.count=66..132:33' --vary 'l2.size=25MiB,50MiB'\n"
        "  heddle kernel examples/kernels/saxpy/launch.yaml --hardware h100-sxm\n"
        "  heddle trace inspect step.et\n"
        "  heddle validate all --report validation.html\n"
        "  heddle doctor\n"
        "Exit codes: 0 done, 1 the comparison asked for did not hold, 2 bad usage or bad input, 3 internal "
        "error, 4 the step does not fit the device's memory, 5 a limit was reached (--max-cycles, "
        "--max-seconds), 130 interrupted.");
    for (const CommandEntry& entry : command_table()) {
        const auto own = std::find_if(commands.begin(), commands.end(),
                                      [&](const Command& command) { return std::string(command.name) == entry.name; });
        if (own != commands.end())
            own->add(app);
        else if (argument_count < 2 || arguments[1] != std::string(entry.name))
            add_command(app, entry.name);
        else
            other = entry.program;
    }
    try {
        if (!other.empty()) hand_over(other, argument_count, arguments);
        check_command_words(app, argument_count, arguments);
        share_activities();
        try {
            const ProgressReporter reporter(command_of_words(app, argument_count, arguments));
            app.parse(argument_count, arguments);
        } catch (const HandOver& door) {
            hand_over(door.program, argument_count, arguments);
        }
        if (std::fflush(stdout) != 0) return complain("cannot write the output", kBadInput);
        return kDone;
    } catch (const CLI::CallForHelp&) {
        std::fputs(app.help().c_str(), stdout);
        return kDone;
    } catch (const CLI::CallForVersion& version) {
        std::printf("%s\n", version.what());
        return kDone;
    } catch (const CLI::ParseError& error) {
        return complain(std::string(error.what()) + "; see `" + chosen_command(app) + " --help`", kBadInput);
    } catch (const ComparisonFailed& failure) {
        return complain(failure.finding, kComparisonFailed);
    } catch (const sim::Interrupted& interrupted) {
        return complain_of_stop(
            interrupted.signal,
            fmt::format("{} of {} kernels were done and are kept; the same command goes on from there",
                        interrupted.finished, interrupted.count));
    } catch (const ExplorationInterrupted& interrupted) {
        return complain_of_stop(
            interrupted.signal, fmt::format("{} designs are kept; the same command with --resume goes on",
                                            interrupted.kept));
    } catch (const ProgramEnded& program) {
        return program.finding.empty() ? program.code : complain(program.finding, program.code);
    } catch (const TooLarge& answer) {
        return complain(answer.finding, kTooLarge);
    } catch (const LimitReached& limit) {
        disarm_time_limit();
        return complain(limit.what() + (is_out_of_time() ? time_limit_remedy() : ""), kLimitReached);
    } catch (const Error& error) {
        return complain(error, kBadInput);
    } catch (const std::exception& error) {
        if (is_out_of_memory(error))
            return complain(out_of_memory_text(error, words_of(argument_count, arguments)), kBadInput);
        return complain(std::string("internal error: ") + error.what(), kInternalError);
    }
}

}  // namespace heddle::cli
