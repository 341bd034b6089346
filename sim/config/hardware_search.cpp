// Finding hardware files by name.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>

#include "sim/config/hardware_file.h"

namespace heddle::sim {
namespace {

namespace fs = std::filesystem;

bool is_yaml(const fs::path& path) {
    return path.extension() == ".yaml" || path.extension() == ".yml";
}

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

void add_directory(std::vector<std::string>& directories, const fs::path& path) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) return;
    const std::string text = fs::weakly_canonical(path, ignored).string();
    if (std::find(directories.begin(), directories.end(), text) == directories.end()) {
        directories.push_back(text);
    }
}

}  // namespace

std::vector<std::string> hardware_directories() {
    std::vector<std::string> directories;
    if (const char* variable = std::getenv("HEDDLE_HARDWARE_PATH")) {
        const std::string list = variable;
        for (std::size_t begin = 0; begin <= list.size();) {
            const std::size_t end = std::min(list.find(':', begin), list.size());
            if (end > begin) add_directory(directories, list.substr(begin, end - begin));
            begin = end + 1;
        }
    }
    std::error_code failure;
    const fs::path executable = fs::read_symlink("/proc/self/exe", failure);
    if (!failure) {
        // <source>/build/sim/cli/heddle, so that a tree that was moved after building still finds its files.
        add_directory(directories, executable.parent_path() / "../../../sim/hardware");
        add_directory(directories, executable.parent_path() / "../share/heddle/hardware");
    }
    add_directory(directories, HEDDLE_HARDWARE_DIRECTORY);
    // Programs of others are anywhere.
    add_directory(directories, HEDDLE_INSTALLED_HARDWARE_DIRECTORY);
    return directories;
}

std::vector<std::string> hardware_names() {
    std::set<std::string> names;
    for (const std::string& directory : hardware_directories()) {
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(directory, ignored)) {
            if (is_yaml(entry.path())) names.insert(entry.path().stem().string());
        }
    }
    return {names.begin(), names.end()};
}

std::string find_hardware_file(const std::string& name_or_file) {
    const fs::path path = name_or_file;
    std::error_code ignored;
    if (name_or_file.find('/') != std::string::npos || is_yaml(path)) {
        if (fs::is_regular_file(path, ignored)) return name_or_file;
        if (name_or_file.find('/') != std::string::npos) {
            throw Error("no such hardware file", {name_or_file, 0, ""},
                        "give a file, or one of the names: " + joined(hardware_names()));
        }
    }
    const std::string stem = is_yaml(path) ? path.stem().string() : name_or_file;
    for (const std::string& directory : hardware_directories()) {
        for (const char* ending : {".yaml", ".yml"}) {
            const fs::path candidate = fs::path(directory) / (stem + ending);
            if (!stem.empty() && fs::is_regular_file(candidate, ignored)) return candidate.string();
        }
    }
    const std::vector<std::string> names = hardware_names();
    if (names.empty()) {
        throw Error("no hardware named `" + name_or_file + "`", {},
                    "no hardware files are found at all: set HEDDLE_HARDWARE_PATH to their folder");
    }
    // Who writes `h100` means h100-sxm, far as that is by letters.
    const auto longer = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
        return !stem.empty() && name.starts_with(stem);
    });
    const std::string near = longer != names.end() ? *longer : nearest_word(stem, names.data(), names.size());
    throw Error("no hardware named `" + name_or_file + "`", {},
                (near.empty() ? "known: " : "did you mean `" + near + "`? Known: ") + joined(names));
}

}  // namespace heddle::sim
