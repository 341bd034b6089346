// The reference pages in docs/ are what `heddle reference` prints, and every number in the files of a run is
// on them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sim/report/statistics.h"
#include "support/command.h"

using heddle::sim::Statistic;
using heddle::sim::statistic_groups;
using heddle::sim::StatisticGroup;
using heddle::tests::Folder;
using heddle::tests::Outcome;
using heddle::tests::run_heddle;
using heddle::tests::text_of;
using Json = nlohmann::ordered_json;

namespace {

const StatisticGroup& statistic_group(const std::string& word) {
    const auto& groups = statistic_groups();
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const StatisticGroup& group) { return group.word == word; });
    INFO("the group of statistics `" << word << "`");
    REQUIRE(found != groups.end());
    return *found;
}

std::set<std::string> names_of_group(const std::string& word);

/// With each `<word>` in the place of which a name of that group stands.
std::set<std::string> expand(const std::string& name) {
    const std::size_t open = name.find('<'), close = name.find('>');
    if (open == std::string::npos) return {name};
    std::set<std::string> names;
    for (const std::string& inner : names_of_group(name.substr(open + 1, close - open - 1)))
        for (const std::string& rest : expand(name.substr(close + 1)))
            names.insert(name.substr(0, open) + inner + rest);
    return names;
}

std::set<std::string> names_of_group(const std::string& word) {
    std::set<std::string> names;
    for (const Statistic& statistic : statistic_group(word).statistics) names.merge(expand(statistic.name));
    return names;
}

/// Paths of all numbers and texts: "division.gaps_us", "ops[].name". `inside`: before each.
void collect(const Json& json, const std::string& path, std::set<std::string>& paths) {
    if (json.is_object()) {
        for (const auto& [key, value] : json.items())
            collect(value, path.empty() ? key : path + "." + key, paths);
    } else if (json.is_array()) {
        for (const Json& value : json) collect(value, path + "[]", paths);
    } else {
        paths.insert(path);
    }
}

/// Those of `paths` that begin with `prefix`, without it.
std::set<std::string> below(const std::set<std::string>& paths, const std::string& prefix) {
    std::set<std::string> found;
    for (const std::string& path : paths)
        if (path.rfind(prefix, 0) == 0) found.insert(path.substr(prefix.size()));
    return found;
}

std::vector<std::string> unknown(const std::set<std::string>& found, const std::string& word) {
    const std::set<std::string> known = names_of_group(word);
    std::vector<std::string> missing;
    std::set_difference(found.begin(), found.end(), known.begin(), known.end(), std::back_inserter(missing));
    return missing;
}

}  // namespace

TEST_CASE("the reference pages are what the code says: heddle reference PAGE > docs/reference/PAGE.md") {
    const Folder folder;
    for (const std::string page : {"hardware", "clusters", "statistics"}) {
        INFO(page);
        const Outcome printed = run_heddle(folder, "reference " + page);
        CHECK(printed.code == 0);
        CHECK((printed.out ==
               text_of(HEDDLE_SOURCE_DIR "/docs/reference/" + page + ".md")));  // too long to print
    }
    CHECK(run_heddle(folder, "reference").code == 2);
}

TEST_CASE("every statistic of a run is explained, and every unit is a unit") {
    const Folder folder;
    const std::string device = GENERATE("h100-sxm", "tpu-v5e");
    REQUIRE(run_heddle(folder, "simulate mlp --hardware " + device + " --out run").code == 0);
    std::set<std::string> paths;
    collect(Json::parse(text_of(folder.path() / "run/summary.json")), "", paths);
    CHECK(unknown(below(paths, "ops[]."), "op").empty());
    CHECK(unknown(below(paths, "kernels[]."), "distinct").empty());
    for (const std::string& path : std::set<std::string>(paths))
        if (path.rfind("ops[]", 0) == 0 || path.rfind("kernels[]", 0) == 0) paths.erase(path);
    CHECK(unknown(paths, "run") == std::vector<std::string>{});

    std::istringstream csv(text_of(folder.path() / "run/kernels.csv"));
    std::string header, column;
    std::getline(csv, header);
    std::set<std::string> columns;
    for (std::istringstream line(header); std::getline(line, column, ',');) columns.insert(column);
    CHECK(unknown(columns, "kernel") == std::vector<std::string>{});
    for (const std::string always : {"cycles", "dram_bytes", "bound_by"}) CHECK(columns.count(always) == 1);
}

TEST_CASE("every statistic of a kernel of one's own is explained") {
    const Folder folder;
    const Outcome outcome = run_heddle(
        folder, "kernel " HEDDLE_SOURCE_DIR "/examples/kernels/saxpy/launch.yaml --hardware h100-sxm --json");
    REQUIRE(outcome.code == 0);
    std::set<std::string> paths;
    collect(Json::parse(outcome.out)["launches"], "", paths);
    CHECK(unknown(below(paths, "[]."), "launch") == std::vector<std::string>{});
}

namespace {

/// A page without what stands between backticks, one or three of them: k[grid](x) is no link.
std::string without_code(const std::string& page) {
    std::string text;
    for (std::size_t at = 0; at < page.size();) {
        const std::size_t begin = page.find('`', at);
        text += page.substr(at, begin - at);
        if (begin == std::string::npos) break;
        const std::size_t ticks = page.find_first_not_of('`', begin) - begin;
        const std::size_t end = page.find(std::string(ticks, '`'), begin + ticks);
        at = end == std::string::npos ? page.size() : end + ticks;
    }
    return text;
}

}  // namespace

TEST_CASE("links of the documentation lead to files") {
    namespace fs = std::filesystem;
    std::vector<fs::path> pages;
    for (const char* page : {"README.md", "ARCHITECTURE.md", "examples/README.md"})
        pages.emplace_back(fs::path(HEDDLE_SOURCE_DIR) / page);
    for (const auto& entry : fs::recursive_directory_iterator(HEDDLE_SOURCE_DIR "/docs"))
        if (entry.path().extension() == ".md") pages.push_back(entry.path());
    std::size_t links = 0;
    for (const fs::path& page : pages) {
        const std::string text = without_code(text_of(page));
        for (std::size_t at = text.find("]("); at != std::string::npos; at = text.find("](", at + 1)) {
            const std::string target = text.substr(at + 2, text.find_first_of(")# ", at + 2) - at - 2);
            if (target.empty() || target.find("://") != std::string::npos) continue;
            INFO(page << ": " << target);
            CHECK(fs::exists(page.parent_path() / target));
            ++links;
        }
    }
    CHECK(links > 60);
}

TEST_CASE("the GPU of the tutorial differs from an H100 in what its file says") {
    const Folder folder;
    const Outcome difference = run_heddle(
        folder, "hardware diff h100-sxm " HEDDLE_SOURCE_DIR "/examples/two-hundred-sms.yaml --json");
    REQUIRE(difference.code == 0);
    std::set<std::string> keys;
    for (const Json& one : Json::parse(difference.out)) keys.insert(one["path"]);
    CHECK(keys == std::set<std::string>{"sm.count", "sm.gpcs", "sm.gpc_sizes", "l2.size", "l2.slices",
                                        "hbm.channels", "hbm.bandwidth", "hbm.size", "hbm.stacks",
                                        "die.stacks_enabled", "die.sms_enabled", "die.l2_enabled"});
}
