// The built `heddle` as a child process that may be limited, interrupted and timed, and the folder that it
// works in.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
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
    std::uint64_t memory_limit = 0;     ///< bytes of address space that the command and each worker may have. 0: any
    std::string cache = "off";  ///< HEDDLE_CACHE
    std::string progress = "off";       ///< HEDDLE_PROGRESS
    std::string claim_seconds = "30";  ///< HEDDLE_CLAIM_SECONDS
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

/// `heddle <words>` beside this process, as a group of processes of its own. Killed with all its workers when
/// this object goes first.
class Running {
  public:
    Running(const Folder& folder, const std::vector<std::string>& words, const Conditions& conditions = {});
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    pid_t process() const { return process_; }
    /// To it and its workers.
    void signal(int number) const;
    /// What it has written to stderr so far.
    std::string errors() const;
    /// Waits until it has ended, at most as long as the conditions say.
    Outcome wait();

  private:
    const Folder& folder_;
    Conditions conditions_;
    std::chrono::steady_clock::time_point begin_;
    pid_t process_ = -1;
    bool ended_ = false;
};

/// Asks again and again, at most so many seconds. False: it never came true.
bool comes_true(const std::function<bool()>& condition, double seconds = 120);

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
