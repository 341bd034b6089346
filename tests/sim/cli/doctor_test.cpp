// What `heddle doctor` finds on a machine that was made so.
#include "sim/cli/doctor.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/cli/terminal.h"

namespace fs = std::filesystem;
using namespace heddle::cli;

namespace {

/// Environment variables for as long as this lives.
class Environment {
  public:
    void set(const char* name, const std::string& value) {
        setenv(name, value.c_str(), 1);
        names_.push_back(name);
    }
    ~Environment() {
        for (const char* name : names_) unsetenv(name);
    }

  private:
    std::vector<const char*> names_;
};

const Check& check(const std::vector<Check>& checks, const std::string& name) {
    for (const Check& one : checks)
        if (one.name == name) return one;
    FAIL("no check of " << name);
    return checks.front();
}

}  // namespace

TEST_CASE("the doctor finds what is here, what is absent, and what must be mended") {
    const fs::path folder = fs::temp_directory_path() / ("heddle-doctor-test-" + std::to_string(getpid()));
    fs::create_directories(folder / "data/gemm");
    Environment environment;
    environment.set("HEDDLE_CACHE", (folder / "cache").string());
    environment.set("HEDDLE_DATA", (folder / "data").string());
    environment.set("HEDDLE_CHART_JS", "none");
    const std::vector<Check> checks = examine();
    CHECK(check(checks, "hardware files").state == Check::State::good);
    CHECK(check(checks, "cache").state != Check::State::absent);
    CHECK_THAT(check(checks, "cache").finding, Catch::StartsWith((folder / "cache").string()));
    CHECK(check(checks, "Chart.js").state == Check::State::absent);
    CHECK_THAT(check(checks, "Chart.js").remedy, Catch::Contains("libjs-chart.js"));
    CHECK_THAT(check(checks, "recordings of others").finding, Catch::Contains("gemm"));

    // A cache that cannot be written, and a hardware file that cannot be read.
    std::ofstream(folder / "file") << "x";
    environment.set("HEDDLE_CACHE", (folder / "file/cache").string());
    fs::create_directories(folder / "hardware");
    std::ofstream(folder / "hardware/broken.yaml") << "extends: h100-sxm\nl2:\n  size: many\n";
    environment.set("HEDDLE_HARDWARE_PATH", (folder / "hardware").string());
    const std::vector<Check> sick = examine();
    CHECK(check(sick, "cache").state == Check::State::bad);
    CHECK(check(sick, "hardware files").state == Check::State::bad);
    CHECK_THAT(check(sick, "hardware files").finding, Catch::Contains("broken.yaml:3"));
    CHECK_FALSE(all_good(sick));
    fs::remove_all(folder);
}

TEST_CASE("findings are text that fits, and JSON") {
    const std::vector<Check> checks{{"group", "first", Check::State::good, "here", ""},
                                    {"group", "second", Check::State::absent,
                                     "not here, which is a pity for those who want it", "install it"},
                                    {"other", "third", Check::State::bad, "broken", "mend it"}};
    const std::string text = format_checks(checks, 60, false);
    CHECK_THAT(text, Catch::Contains("good     first") && Catch::Contains("-> install it") &&
                         Catch::Contains("-> mend it") && Catch::Contains("1 to mend, 1 optional absent") &&
                         !Catch::Contains("\033"));
    std::size_t column = 0;
    for (const char c : text) {
        column = c == '\n' ? 0 : column + 1;
        CHECK(column <= 60);
    }
    CHECK_THAT(format_checks(checks, 60, true), Catch::Contains("\033[31mmend"));
    const auto json = nlohmann::json::parse(checks_json(checks));
    CHECK(json["good"] == false);
    CHECK(json["checks"][1]["state"] == "absent");
    CHECK(json["checks"][2]["remedy"] == "mend it");
}

TEST_CASE("colours are for terminals, and for those who want them") {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    CHECK_FALSE(has_colours(ends[1]));
    close(ends[0]);
    close(ends[1]);
    const int terminal = posix_openpt(2);  // O_RDWR
    if (terminal >= 0 && isatty(terminal) == 1) {
        Environment environment;
        environment.set("TERM", "xterm");
        unsetenv("NO_COLOR");
        CHECK(has_colours(terminal));
        environment.set("NO_COLOR", "1");
        CHECK_FALSE(has_colours(terminal));
        environment.set("NO_COLOR", "");  // as if it were not there
        CHECK(has_colours(terminal));
        environment.set("TERM", "dumb");
        CHECK_FALSE(has_colours(terminal));
    }
    if (terminal >= 0) close(terminal);
    CHECK(painted("x", Colour::red, true) == "\033[31mx\033[0m");
    CHECK(painted("x", Colour::red, false) == "x");
}

TEST_CASE("COLUMNS is the width of tables") {
    Environment environment;
    environment.set("COLUMNS", "57");
    CHECK(table_width() == 57);
    CHECK(progress_width() == 57);
    environment.set("COLUMNS", "many");
    CHECK(table_width() != 57);
}
