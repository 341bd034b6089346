// Finding cluster files by name.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>

#include "sim/cluster/cluster.h"

namespace heddle::sim {
namespace {

namespace fs = std::filesystem;

bool is_yaml(const fs::path& path) {
    return path.extension() == ".yaml" || path.extension() == ".yml";
}

void add_directory(std::vector<std::string>& directories, const fs::path& path) {
    std::error_code ignored;
    if (path.empty() || !fs::is_directory(path, ignored)) return;
    const std::string text = fs::weakly_canonical(path, ignored).string();
    if (std::find(directories.begin(), directories.end(), text) == directories.end())
        directories.push_back(text);
}

}  // namespace

std::vector<std::string> cluster_directories() {
    std::vector<std::string> directories;
    if (const char* variable = std::getenv("HEDDLE_CLUSTER_PATH")) {
        std::istringstream list(variable);
        for (std::string part; std::getline(list, part, ':');) add_directory(directories, part);
    }
    std::error_code failure;
    const fs::path executable = fs::read_symlink("/proc/self/exe", failure);
    if (!failure) {
        // A tree that was moved after building still finds its files.
        add_directory(directories, executable.parent_path() / "../../../sim/clusters");
        add_directory(directories, executable.parent_path() / "../share/heddle/clusters");
    }
    add_directory(directories, HEDDLE_CLUSTER_DIRECTORY);
    add_directory(directories, HEDDLE_INSTALLED_CLUSTER_DIRECTORY);
    return directories;
}

std::vector<std::string> cluster_names() {
    std::set<std::string> names;
    for (const std::string& directory : cluster_directories()) {
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(directory, ignored))
            if (is_yaml(entry.path())) names.insert(entry.path().stem().string());
    }
    return {names.begin(), names.end()};
}

std::string find_cluster_file(const std::string& name_or_file) {
    const fs::path path = name_or_file;
    std::error_code ignored;
    const std::vector<std::string> names = cluster_names();
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    if (name_or_file.find('/') != std::string::npos || is_yaml(path)) {
        if (fs::is_regular_file(path, ignored)) return name_or_file;
        if (name_or_file.find('/') != std::string::npos)
            throw Error("no such cluster file", {name_or_file, 0, ""},
                        "give a file, or one of the names: " + known);
    }
    const std::string stem = is_yaml(path) ? path.stem().string() : name_or_file;
    for (const std::string& directory : cluster_directories()) {
        for (const char* ending : {".yaml", ".yml"}) {
            const fs::path candidate = fs::path(directory) / (stem + ending);
            if (!stem.empty() && fs::is_regular_file(candidate, ignored)) return candidate.string();
        }
    }
    const std::string near = nearest_word(stem, names.data(), names.size());
    throw Error("no cluster named `" + name_or_file + "`", {},
                (near.empty() ? "known: " : "did you mean `" + near + "`? Known: ") + known);
}

}  // namespace heddle::sim
