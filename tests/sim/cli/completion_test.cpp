// Completions and the manual page are made from the tree of commands: the shells themselves are asked what
// they offer.
#include "sim/cli/completion.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "sim/cli/command_tree.h"
#include "sim/cli/man_page.h"

namespace fs = std::filesystem;
using namespace heddle::cli;

namespace {

struct Outcome {
    int code = -1;
    std::string out;
};

/// Runs a script of a shell; `heddle` in it is the built command.
Outcome run(const std::string& shell, const std::string& script) {
    const std::string base =
        (fs::temp_directory_path() / ("heddle-completion-" + std::to_string(getpid()))).string();
    fs::create_directories(base);
    fs::remove(base + "/heddle");
    fs::create_symlink(HEDDLE_COMMAND, base + "/heddle");
    std::ofstream(base + "/script") << script;
    const std::string command =
        "cd '" + base + "' && PATH='" + base + "':\"$PATH\" " + shell + " ./script >out 2>err </dev/null";
    const int status = std::system(command.c_str());
    std::ostringstream text;
    text << std::ifstream(base + "/out").rdbuf();
    const Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, text.str()};
    fs::remove_all(base);
    return outcome;
}

bool has(const std::string& shell) {
    return std::system(("command -v " + shell + " >/dev/null 2>&1").c_str()) == 0;
}

std::set<std::string> lines_of(const std::string& text) {
    std::set<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        if (!line.empty()) lines.insert(line.substr(0, line.find('\t')));
    return lines;
}

/// What bash offers after these words; the last one is being typed.
std::set<std::string> offered(const std::vector<std::string>& words) {
    std::string script = "source <(heddle completion bash)\nCOMP_WORDS=(";
    for (const std::string& word : words) script += "'" + word + "' ";
    script += ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) +
              "\n_heddle\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    return lines_of(run("bash", script).out);
}

}  // namespace

TEST_CASE("bash offers commands, options, devices, models and words") {
    if (!has("bash")) return;
    CHECK(offered({"heddle", "ha"}) == std::set<std::string>{"hardware"});
    const std::set<std::string> hardware = offered({"heddle", "hardware", ""});
    for (const char* command : {"list", "describe", "diff"}) CHECK(hardware.count(command) == 1);
    CHECK(offered({"heddle", "simulate", "mlp", "--hardware", "h100"}) == std::set<std::string>{"h100-sxm"});
    CHECK(offered({"heddle", "simulate", "gpt2-sm"}) == std::set<std::string>{"gpt2-small"});
    CHECK(offered({"heddle", "hardware", "describe", "tpu-v5"}) ==
          std::set<std::string>{"tpu-v5e", "tpu-v5p"});
    CHECK(offered({"heddle", "simulate", "mlp", "--fusion", ""}) ==
          std::set<std::string>{"none", "compile", "xla"});
    CHECK(offered({"heddle", "completion", ""}).count("fish") == 1);
    CHECK(offered({"heddle", "simulate", "--numer"}) == std::set<std::string>{"--numerics"});
    // The value of an option is no command, even where it is named like one.
    CHECK(offered({"heddle", "simulate", "--out", "hardware", "--numer"}) ==
          std::set<std::string>{"--numerics"});
    CHECK(offered({"heddle", "simulate", "mlp", "--batch", ""}) == std::set<std::string>{});
}

TEST_CASE("every command and every option of the help is in all three completions") {
    for (const char* shell : {"bash", "zsh", "fish"}) {
        CAPTURE(shell);
        const std::string script = run("sh", std::string("heddle completion ") + shell).out;
        for (const char* word :
             {"simulate", "hardware", "describe", "trace", "inspect", "validate", "doctor", "compare"})
            CHECK_THAT(script, Catch::Contains(word));
        const bool fish = std::string(shell) == "fish";
        for (const char* option : {"tick-every-cycle", "programmatic-launches", "no-cache"})
            CHECK_THAT(script, Catch::Contains((fish ? "-l " : "--") + std::string(option)));
    }
}

TEST_CASE("zsh and fish read their completions") {
    if (has("zsh"))
        CHECK(run("zsh -f",
                  "autoload -Uz compinit && compinit -u -d ./dump\nsource <(heddle completion zsh)\n"
                  "(( $+functions[_heddle] )) || exit 1\n[[ $_comps[heddle] == _heddle ]]\n")
                  .code == 0);
    if (has("fish")) {
        const Outcome outcome = run("fish --no-config",
                                    "heddle completion fish | source\ncomplete -C 'heddle hardware '\n"
                                    "complete -C 'heddle simulate mlp --hardware h100'\n");
        const std::set<std::string> offers = lines_of(outcome.out);
        CHECK(outcome.code == 0);
        CHECK(offers.count("describe") == 1);
        CHECK(offers.count("h100-sxm") == 1);
    }
}

TEST_CASE("the tree tells what CLI11 was told") {
    CLI::App app("About it.", "tool");
    CLI::App* child = app.add_subcommand("child", "A child's text.");
    std::string value, mode;
    bool flag = false;
    child->add_option("FILE", value, "what to read")->required();
    child->add_option("--mode", mode, "how")->check(CLI::IsMember({"fast", "slow"}));
    child->add_option("-o,--out", value, "where")->type_name("DIR");
    child->add_flag("--quiet", flag, "no words");
    const CommandDescription root = describe_commands(app);
    REQUIRE(root.commands.size() == 1);
    const CommandDescription& command = root.commands[0];
    CHECK(command.path == "tool child");
    CHECK(command.takes("--quiet"));
    CHECK_FALSE(command.takes("--loud"));
    for (const OptionDescription& option : command.options) {
        if (option.names.back() == "--mode") CHECK(option.words == std::vector<std::string>{"fast", "slow"});
        if (option.names.back() == "--out") {
            CHECK(option.names == std::vector<std::string>{"-o", "--out"});
            CHECK(option.values == Values::folders);
        }
        if (option.names.back() == "--quiet") CHECK(option.value.empty());
        if (option.positional) CHECK(option.required);
    }
    const std::string page = man_page(root, "1.0");
    CHECK_THAT(page, Catch::StartsWith(".TH HEDDLE 1") && Catch::Contains("\\fB\\-\\-mode\\fR") &&
                         Catch::Contains("A child's text."));
}

TEST_CASE("the manual page is troff that groff takes without a word") {
    const Outcome page = run("sh", "heddle man");
    CHECK(page.code == 0);
    CHECK_THAT(page.out, Catch::StartsWith(".TH HEDDLE 1") && Catch::Contains(".SH NAME") &&
                             Catch::Contains(".SS simulate") && Catch::Contains("NO_COLOR"));
    if (!has("groff")) return;
    const Outcome shown =
        run("sh",
            "heddle man > page && groff -man -Tutf8 -ww page 2>warnings | col -b > text; cat warnings; "
            "grep -c -e '--tick-every-cycle' text");
    CHECK(shown.code == 0);
    CHECK_THAT(shown.out, !Catch::Contains("warning") && !Catch::Contains("error"));
}

TEST_CASE("names for completions are those that the commands know") {
    CHECK(lines_of(run("sh", "heddle completion --names devices").out).count("tpu-v4") == 1);
    CHECK(lines_of(run("sh", "heddle completion --names models").out).count("resnet50") == 1);
    CHECK(run("sh", "heddle completion tcsh 2>/dev/null").code == 2);
    CHECK(run("sh", "heddle completion 2>/dev/null").code == 2);
}
