#include "sim/report/chart_library.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace heddle::sim {
namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& path) {
    std::error_code ignored;
    return !path.empty() && fs::is_regular_file(path, ignored);
}

}  // namespace

std::string chart_library_path() {
    if (const char* variable = std::getenv("HEDDLE_CHART_JS")) {
        const std::string path = variable;
        return is_file(path) ? path : "";
    }
    for (const char* path :
         {HEDDLE_CHART_JS_FOUND, "/usr/share/javascript/chart.js/chart.min.js",
          "/usr/share/nodejs/chart.js/dist/chart.min.js", "/usr/lib/node_modules/chart.js/dist/chart.umd.js"})
        if (is_file(path)) return path;
    return {};
}

std::string chart_library() {
    const std::string path = chart_library_path();
    if (path.empty()) return {};
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    const std::string library = text.str();
    const std::string head = library.substr(0, 400);
    const bool known =
        head.find("Chart.js v3") != std::string::npos || head.find("Chart.js v4") != std::string::npos;
    const bool ends_the_element = library.find("</script") != std::string::npos;
    return stream && known && !ends_the_element ? library : "";
}

}  // namespace heddle::sim
