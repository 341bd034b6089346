// The built `heddle` command as a user meets it, in a folder of its own. HEDDLE_COMMAND: where it is.
#pragma once

#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace heddle::tests {

inline std::string text_of(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

/// A working folder, which goes with the object.
class Folder {
  public:
    Folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "heddle-test-XXXXXX").string();
        REQUIRE(::mkdtemp(pattern.data()) != nullptr);
        path_ = pattern;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(path_ / name, std::ios::binary) << text;
    }
    std::string read(const std::string& name) const { return text_of(path_ / name); }
    std::size_t entries() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
    }

  private:
    std::filesystem::path path_;
};

struct Outcome {
    int code = -1;  ///< of the exit; -1: a signal ended it
    std::string out, err;
};

/// Runs `heddle <arguments>` in the folder; arguments are words for the shell.
inline Outcome run_heddle(const Folder& folder, const std::string& arguments) {
    // Beside the folder, so that nothing but the command's own files lie in it.
    const std::string base = folder.path().string();
    const std::string command = "cd '" + base + "' && '" HEDDLE_COMMAND "' " + arguments + " >'" + base +
                                ".out' 2>'" + base + ".err' </dev/null";
    const int status = std::system(command.c_str());
    Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(base + ".out"),
                    text_of(base + ".err")};
    std::filesystem::remove(base + ".out");
    std::filesystem::remove(base + ".err");
    return outcome;
}

}  // namespace heddle::tests
