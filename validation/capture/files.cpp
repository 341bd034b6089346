#include "validation/capture/files.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "isa/common/error.h"
#include "isa/common/whole_file.h"

namespace heddle::capture {
namespace {

std::filesystem::path aside(const std::filesystem::path& path) {
    return path.string() + ".part";
}

/// Runs `gzip` with standard input and output redirected. True when it ended well.
bool run_gzip(const std::filesystem::path& from, const std::filesystem::path& to, bool expand) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, from.c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, to.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    char program[] = "gzip", best[] = "-9", nameless[] = "-n", decompress[] = "-d", to_output[] = "-c";
    char* pack[] = {program, best, nameless, to_output, nullptr};
    char* unpack[] = {program, decompress, to_output, nullptr};
    pid_t child = 0;
    const int failure = posix_spawnp(&child, "gzip", &actions, nullptr, expand ? unpack : pack, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) return false;
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) throw Error("cannot read the file", {path.string()}, "check that it exists and is readable");
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write_file(const std::filesystem::path& path, std::string_view text) {
    write_whole_file(path.string(), text);
}

FolderLock::FolderLock(const std::filesystem::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    ::close(descriptor_);
    throw Error("another process is writing a capture there", {folder.string()},
                "wait for its end, or choose another --output");
}

FolderLock::~FolderLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

bool gzip_file(const std::filesystem::path& from, const std::filesystem::path& to, bool expand) {
    std::error_code failure;
    if (!run_gzip(from, aside(to), expand)) {
        std::filesystem::remove(aside(to), failure);
        return false;
    }
    std::filesystem::rename(aside(to), to, failure);
    if (failure) return false;
    std::filesystem::remove(from, failure);
    return true;
}

}  // namespace heddle::capture
