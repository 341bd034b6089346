#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "isa/common/error.h"
#include "sim/cli/commands.h"

namespace heddle::cli {
namespace {

constexpr int kDone = 0, kBadInput = 2, kInternalError = 3;

/// Errors are one line, whatever they quote.
int complain(const std::string& text, int code) {
    std::string line = "heddle: " + text;
    while (!line.empty() && line.back() == '\n') line.pop_back();
    std::replace(line.begin(), line.end(), '\n', ' ');
    std::fprintf(stderr, "%s\n", line.c_str());
    return code;
}

/// The subcommand that the user had reached, for "see `heddle hardware diff --help`".
std::string chosen_command(const CLI::App& app) {
    std::string name = app.get_name();
    for (const CLI::App* chosen : app.get_subcommands()) name += " " + chosen_command(*chosen);
    return name;
}

}  // namespace

int run(int argument_count, const char* const* arguments) {
    // libsystemc greets on stderr otherwise, where scripts look for errors.
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
    CLI::App app("Runs machine-learning training on hardware that exists only as a YAML file.", "heddle");
    app.require_subcommand(1);
    app.set_version_flag("--version", "heddle " HEDDLE_VERSION);
    app.footer(
        "Examples:\n"
        "  heddle simulate mlp --hardware h100-sxm\n"
        "  heddle hardware list\n"
        "  heddle trace inspect step.et\n"
        "Exit codes: 0 done, 1 the comparison asked for did not hold, 2 bad usage or bad input, 3 internal "
        "error.");
    add_simulate_command(app);
    add_hardware_command(app);
    add_trace_command(app);
    try {
        app.parse(argument_count, arguments);
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
    } catch (const Error& error) {
        return complain(error.what(), kBadInput);
    } catch (const std::exception& error) {
        return complain(std::string("internal error: ") + error.what(), kInternalError);
    }
}

}  // namespace heddle::cli
