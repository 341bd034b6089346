// Which room includes which: read from the sources themselves, since a target that links a higher room by
// mistake would let an include upwards compile.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

/// By file, relative to the source tree: the headers that it includes by room.
using Includes = std::map<std::string, std::vector<std::string>>;

/// The first `parts` parts of a path: "sim/run/assemble/assemble.h", 2 -> "sim/run".
std::string leading(const std::string& path, unsigned parts) {
    std::size_t end = 0;
    for (; parts != 0; --parts) {
        end = path.find('/', end);
        if (end == std::string::npos) return path;
        ++end;
    }
    return path.substr(0, end - 1);
}

std::vector<std::string> included_by(const std::string& text) {
    std::vector<std::string> headers;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::string key = "#include \"";
        if (line.rfind(key, 0) != 0) continue;
        const std::string header = line.substr(key.size(), line.find('"', key.size()) - key.size());
        if (header.find('/') != std::string::npos) headers.push_back(header);
    }
    return headers;
}

Includes read_tree(const fs::path& root) {
    Includes includes;
    for (const char* room : {"isa", "models", "workloads", "sim", "driver", "validation"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
            const std::string ending = entry.path().extension().string();
            if (ending != ".h" && ending != ".cpp") continue;
            std::ifstream stream(entry.path());
            std::ostringstream text;
            text << stream.rdbuf();
            includes[fs::relative(entry.path(), root).string()] = included_by(text.str());
        }
    }
    return includes;
}

/// What the top-level rooms may include (ARCHITECTURE.md). The command alone sees everything.
bool may_include(const std::string& file, const std::string& header) {
    static const std::map<std::string, std::set<std::string>> kBelow{
        {"isa", {"isa"}},
        {"models", {"models", "isa"}},
        {"workloads", {"workloads", "isa"}},
        {"sim", {"sim", "models", "workloads", "isa"}},
        {"driver", {"driver", "sim", "models", "workloads", "isa"}},
        {"validation", {"validation", "sim", "models", "workloads", "isa"}},
    };
    const std::string room = leading(file, 1), other = leading(header, 1);
    if (!kBelow.count(other)) return true;  // no room of ours
    if (leading(file, 2) == "sim/cli") return true;
    if (leading(header, 2) == "sim/cli") return false;
    return kBelow.at(room).count(other) != 0;
}

std::vector<std::string> includes_upwards(const Includes& includes) {
    std::vector<std::string> found;
    for (const auto& [file, headers] : includes)
        for (const std::string& header : headers)
            if (!may_include(file, header)) found.push_back(file + " includes " + header);
    return found;
}

/// Folders of the second level that include one another in a circle: "sim/a -> sim/b -> sim/a"; empty: none.
std::string circle(const Includes& includes) {
    std::map<std::string, std::set<std::string>> uses;
    for (const auto& [file, headers] : includes)
        for (const std::string& header : headers)
            if (leading(header, 2) != leading(file, 2)) uses[leading(file, 2)].insert(leading(header, 2));
    std::vector<std::string> way;
    std::set<std::string> done;
    std::string found;
    const std::function<void(const std::string&)> visit = [&](const std::string& folder) {
        const auto earlier = std::find(way.begin(), way.end(), folder);
        if (earlier != way.end()) {
            for (auto i = earlier; i != way.end(); ++i) found += *i + " -> ";
            found += folder;
        }
        if (!found.empty() || done.count(folder)) return;
        way.push_back(folder);
        for (const std::string& next : uses[folder]) visit(next);
        way.pop_back();
        done.insert(folder);
    };
    std::vector<std::string> folders;
    for (const auto& [folder, ignored] : uses) folders.push_back(folder);
    for (const std::string& folder : folders) visit(folder);
    return found;
}

}  // namespace

TEST_CASE("no room includes a higher one") {
    const Includes includes = read_tree(HEDDLE_SOURCE_DIR);
    REQUIRE(includes.size() > 900);
    const std::vector<std::string> upwards = includes_upwards(includes);
    INFO((upwards.empty() ? "" : upwards.front()));
    CHECK(upwards.empty());
}

TEST_CASE("no two folders of rooms include one another") {
    CHECK(circle(read_tree(HEDDLE_SOURCE_DIR)) == "");
}

TEST_CASE("an include upwards and a circle are noticed") {
    Includes includes{{"isa/ptx/parser.cpp", {"isa/ptx/parser.h", "isa/common/error.h"}},
                      {"sim/run/assemble/assemble.cpp", {"isa/ptx/parser.h"}},
                      {"sim/cli/run.cpp", {"validation/run/validation.h"}}};
    CHECK(includes_upwards(includes).empty());
    CHECK(circle(includes) == "");
    includes["models/gpu/sm.cpp"] = {"sim/run/assemble/assemble.h"};
    includes["sim/run/report.cpp"] = {"sim/cli/output.h"};
    includes["isa/common/error.h"] = {"isa/ptx/module.h"};
    CHECK(includes_upwards(includes) ==
          std::vector<std::string>{"models/gpu/sm.cpp includes sim/run/assemble/assemble.h",
                                   "sim/run/report.cpp includes sim/cli/output.h"});
    CHECK(circle(includes) == "isa/common -> isa/ptx -> isa/common");
    CHECK(included_by("#include \"isa/common/error.h\"\n#include <vector>\n#include \"near.h\"\n") ==
          std::vector<std::string>{"isa/common/error.h"});
}
