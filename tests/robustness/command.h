// The built `heddle` as a child process that may be limited, interrupted and timed, and the folder that it
// works in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace heddle::robustness {

/// A folder of its own under the temporary folder; gone with it.
class Folder {
  public:
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const std::filesystem::path& path() const { return path_; }
    void write(const std::string& name, const std::string& text) const;
    std::string read(const std::string& name) const;

  private:
    std::filesystem::path path_;
};

struct Conditions {
    double time_limit = 300;      ///< seconds; then it is killed
    double interrupt_after = -1;  ///< seconds until `signal` comes; negative: it never comes
    int signal = 0;               ///< SIGINT, SIGTERM
    std::uint64_t file_limit =
        0;  ///< bytes that any file may have: writes beyond fail, as on a full disk. 0: none
    std::string cache = "off";  ///< HEDDLE_CACHE
};

struct Outcome {
    int code = -1;      ///< exit code; -1: it was ended by a signal
    int signal = 0;     ///< that ended it
    bool late = false;  ///< it was killed at the time limit
    double seconds = 0;
    std::string out, err;
};

/// Runs `heddle <words>` in the folder.
Outcome run(const Folder& folder, const std::vector<std::string>& words, const Conditions& conditions = {});

/// A disk of its own at `folder`, in memory and seen by this process and its children alone; gone with it.
class SmallDisk {
  public:
    SmallDisk(const std::filesystem::path& folder, std::uint64_t bytes);
    ~SmallDisk();
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    /// False: this system lets nobody mount.
    bool mounted() const { return mounted_; }

  private:
    std::filesystem::path folder_;
    bool mounted_ = false;
};

/// What any command may do with bad input: exit code 2, one line on stderr that begins with "heddle: ",
/// nothing on stdout. Empty, or what is wrong with it.
std::string fault_of_refusal(const Outcome& outcome);

/// How many cases: the environment's HEDDLE_ROBUSTNESS_CASES, or `usual`.
unsigned cases(unsigned usual);

std::string text_of(const std::filesystem::path& path);

}  // namespace heddle::robustness
