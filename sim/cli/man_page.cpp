#include "sim/cli/man_page.h"

#include <sstream>

#include "sim/cli/completion.h"
#include "sim/cli/output.h"
#include "sim/cli/programs.h"

namespace heddle::cli {
namespace {

/// Text for troff: backslashes, hyphens that are to be copied, and lines that would be requests.
std::string escaped(const std::string& text) {
    std::string safe;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool line_begins = i == 0 || text[i - 1] == '\n';
        if (line_begins && (c == '.' || c == '\'')) safe += "\\&";
        if (c == '\\') {
            safe += "\\e";
        } else if (c == '-') {
            safe += "\\-";
        } else if (c == '`') {
            safe += "\\(ga";
        } else {
            safe += c;
        }
    }
    return safe;
}

/// Bold, on a line of its own.
std::string bold(const std::string& text) {
    return "\\fB" + escaped(text) + "\\fR";
}

std::string synopsis(const CommandDescription& command) {
    std::string text = bold(command.path);
    if (!command.commands.empty()) text += " \\fICOMMAND\\fR";
    text += " [\\fIOPTIONS\\fR]";
    for (const OptionDescription& option : command.options) {
        if (!option.positional) continue;
        const std::string name = "\\fI" + escaped(option.value) + "\\fR";
        text += option.required ? " " + name : " [" + name + "]";
    }
    return text;
}

std::string options(const CommandDescription& command) {
    std::string text;
    for (const OptionDescription& option : command.options) {
        text += ".TP\n";
        if (option.positional) {
            text += "\\fI" + escaped(option.value) + "\\fR\n";
        } else {
            std::string names;
            for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + bold(name);
            text += names + (option.value.empty() ? "" : " \\fI" + escaped(option.value) + "\\fR") + "\n";
        }
        text += escaped(option.text) + (option.required ? " (required)" : "") + "\n";
    }
    return text;
}

/// Footers hold examples, line by line: kept as they are.
std::string footer(const std::string& text) {
    return text.empty() ? "" : ".PP\n.nf\n" + escaped(text) + "\n.fi\n";
}

constexpr const char* kRest = R"(.SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
the comparison asked for did not hold, or \fBheddle doctor\fR found what must be mended
.TP
.B 2
bad usage or bad input: one line says what, where, and how to mend it
.TP
.B 3
an error of Heddle's own
.TP
.B 4
the step does not fit the device's memory
.TP
.B 5
a limit was reached: \fB--max-cycles\fR, \fB--max-seconds\fR, or 2,147,483,646 cycles of one kernel of a GPU
.TP
.B 130
interrupted; the same command goes on from there
.SH ENVIRONMENT
.TP
.B HEDDLE_CACHE
folder of simulated kernels, or \fBoff\fR; else $XDG_CACHE_HOME/heddle or ~/.cache/heddle
.TP
.B HEDDLE_CACHE_SIZE
what it may hold, in MiB (1024)
.TP
.B HEDDLE_PROGRESS
seconds between the lines of progress that a log gets (10, after a minute 30), or \fBoff\fR
.TP
.B HEDDLE_CLAIM_SECONDS
how long a process that is stopped or hangs keeps a kernel that others wait for (30)
.TP
.B HEDDLE_HARDWARE_PATH
more folders with hardware files, separated by colons
.TP
.B HEDDLE_DATA
folder with recordings of third parties, for \fBheddle validate\fR
.TP
.B HEDDLE_CHART_JS
Chart.js for reports, or \fBnone\fR
.TP
.B COLUMNS
width of tables; else that of the terminal
.TP
.B NO_COLOR
when set and not empty: no colours, also on a terminal
.SH FILES
.TP
.I heddle-run-WORKLOAD-HARDWARE/
what a run leaves: summary.json, kernels.csv, stats.sqlite, timeline.json (for Perfetto), timeline.svg, report.html,
configuration.json
)";

}  // namespace

std::string man_page(const CommandDescription& root, const std::string& version) {
    std::string text = ".TH HEDDLE 1 \"\" \"heddle " + escaped(version) + "\" \"User Commands\"\n";
    text += ".SH NAME\nheddle \\- " + escaped(root.text) + "\n.SH SYNOPSIS\n";
    for (const CommandDescription* command : all_commands(root))
        if (command->commands.empty() || command == &root) text += synopsis(*command) + "\n.br\n";
    text += ".SH DESCRIPTION\n" + escaped(root.text) + "\n" + options(root) + ".SH COMMANDS\n";
    for (const CommandDescription* command : all_commands(root)) {
        if (command == &root) continue;
        text += ".SS " + escaped(command->path.substr(root.path.size() + 1)) + "\n" + escaped(command->text) +
                "\n.PP\n" + synopsis(*command) + "\n" + options(*command) + footer(command->footer);
    }
    return text + kRest;
}

void add_man_command(CLI::App& app) {
    CLI::App* command = add_command(app, "man");
    command->footer("Example:\n  heddle man | man -l -");
    command->callback([&app] { print(man_page(describe_commands(app), HEDDLE_VERSION)); });
}

}  // namespace heddle::cli
