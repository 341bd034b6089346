// What every command says of itself under --help.
#include <catch2/catch.hpp>
#include <sstream>

#include "support/command.h"

using heddle::tests::Folder;
using heddle::tests::Outcome;
using heddle::tests::run_heddle;

namespace {

/// The words under "Subcommands:".
std::vector<std::string> commands_of(const std::string& help) {
    std::vector<std::string> names;
    std::istringstream lines(help);
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        if (inside && line.rfind("  ", 0) != 0) return names;
        // Further lines of a description are indented as deep as the first.
        if (inside && line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
        inside = inside || line == "Subcommands:";
    }
    return names;
}

void check_help(const Folder& folder, const std::string& path, int& count) {
    CAPTURE(path);
    const Outcome outcome = run_heddle(folder, path + " --help");
    REQUIRE(outcome.code == 0);
    ++count;
    // Not the examples of the command above, which CLI11 would show.
    const std::size_t examples = outcome.out.find("\nExample");
    REQUIRE(examples != std::string::npos);
    CHECK_THAT(outcome.out.substr(examples), Catch::Contains("heddle" + (path.empty() ? "" : " " + path)));
    // A flag of scripts means the same everywhere: JSON on stdout.
    const std::size_t json = outcome.out.find("\n  --json ");
    if (json != std::string::npos) {
        const std::size_t word = outcome.out.find_first_not_of(' ', json + 10);
        CHECK(outcome.out.substr(word, 6) == "print ");
    }
    for (const std::string& name : commands_of(outcome.out))
        check_help(folder, path.empty() ? name : path + " " + name, count);
}

}  // namespace

TEST_CASE("every command's help ends with an example of that very command, and --json means the same") {
    const Folder folder;
    int count = 0;
    check_help(folder, "", count);
    CHECK(count > 30);
}
