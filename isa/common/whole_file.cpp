#include "isa/common/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "isa/common/error.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

/// As many links as the system itself follows.
constexpr int kMostLinks = 40;

[[noreturn]] void fail(const std::string& path, int reason) {
    throw Error("cannot write the file" +
                    (reason == 0 ? "" : ": " + std::error_code(reason, std::generic_category()).message()),
                {.file = path}, "does the folder exist, and is there room?");
}

/// An open descriptor that is closed at the end, unless it belongs to somebody else.
class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number() const { return number_; }
    /// Closes it now. False: what was written is not there (a network's disk says so only here).
    bool close() { return ::close(std::exchange(number_, -1)) == 0; }

  private:
    int number_;
};

/// Where the bytes go at the end of all links.
struct FilePlace {
    std::string path;
    std::optional<int> own_descriptor = {};  ///< one of this process, by /dev/stdout or /dev/fd/N
    std::optional<struct stat> there = {};   ///< what stands there now
};

/// The number of a descriptor of this process that `path` is a name of: an entry of /proc/self/fd.
std::optional<int> descriptor_named(const fs::path& path) {
    std::error_code ignored;
    const fs::path folder = fs::canonical(path.parent_path(), ignored);
    if (ignored || folder != "/proc/" + std::to_string(::getpid()) + "/fd") return std::nullopt;
    const std::string name = path.filename().string();
    int number = -1;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failure != std::errc{} || end != name.data() + name.size()) return std::nullopt;
    return number;
}

FilePlace place_of(const std::string& path) {
    fs::path place = path;
    for (int links = 0; links <= kMostLinks; ++links) {
        struct stat there {};
        if (::lstat(place.c_str(), &there) != 0) return {place.string()};
        if (!S_ISLNK(there.st_mode)) return {place.string(), std::nullopt, there};
        if (const std::optional<int> own = descriptor_named(place)) return {place.string(), own};
        std::error_code failure;
        const fs::path target = fs::read_symlink(place, failure);
        if (failure) fail(path, failure.value());
        place = place.parent_path() / target;  // an absolute target replaces all before it
    }
    fail(path, ELOOP);
}

/// Writes all bytes. 0, or the reason why it could not.
int write_bytes(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

/// A new file with a name of its own, removed at the end unless it was renamed.
class Aside {
  public:
    Aside(const std::string& beside, const std::string& told) : told_(told) {
        const std::string stem = beside + ".partial-" + std::to_string(::getpid());
        path_ = stem;
        for (int attempt = 1;; ++attempt) {
            const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (file >= 0) {
                ::close(file);
                return;
            }
            if (errno != EEXIST || attempt == 100) fail(told_, errno);
            path_ = stem + "-" + std::to_string(attempt);
        }
    }
    ~Aside() {
        if (!path_.empty()) ::unlink(path_.c_str());
    }
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;
    const std::string& path() const { return path_; }

    void rename_to(const FilePlace& place) {
        if (place.there) {
            // Who may not change the owner keeps the permissions all the same.
            if (::chown(path_.c_str(), place.there->st_uid, place.there->st_gid) != 0) errno = 0;
            ::chmod(path_.c_str(), place.there->st_mode & 07777);
        }
        if (::rename(path_.c_str(), place.path.c_str()) != 0) fail(told_, errno);
        path_.clear();
    }

  private:
    std::string told_;  ///< the path that the user named
    std::string path_;
};

/// Copies a file into a device, a FIFO or a descriptor.
void write_into(const FilePlace& place, const std::string& told, const std::string& from) {
    const Descriptor source(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
    // What was printed before comes before it.
    if (place.own_descriptor) std::fflush(nullptr);
    Descriptor opened(place.own_descriptor ? -1
                                           : ::open(place.path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    const int target = place.own_descriptor.value_or(opened.number());
    if (source.number() < 0 || target < 0) fail(told, errno);
    std::array<char, 1 << 16> buffer{};
    for (;;) {
        const ssize_t count = ::read(source.number(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(told, errno);
        if (count == 0) break;
        if (const int reason = write_bytes(target, {buffer.data(), static_cast<std::size_t>(count)}))
            fail(told, reason);
    }
    if (!place.own_descriptor && !opened.close()) fail(told, errno);
}

/// `write` says 0 or the reason why it could not; below 0, that it does not know.
void write_by(const std::string& path, const std::function<int(const std::string& aside)>& write) {
    const FilePlace place = place_of(path);
    if (place.there && S_ISDIR(place.there->st_mode))
        throw Error("this is a folder, not a file", {.file = path}, "name a file in it");
    const bool file = !place.own_descriptor && (!place.there || S_ISREG(place.there->st_mode));
    if (file && place.there && ::access(place.path.c_str(), W_OK) != 0)
        throw Error("the file is write-protected", {.file = path},
                    "choose another, or allow it with chmod +w");
    Aside aside(file ? place.path : (fs::temp_directory_path() / "heddle-output").string(), path);
    if (const int reason = write(aside.path())) fail(path, std::max(reason, 0));
    if (file) {
        aside.rename_to(place);
    } else {
        write_into(place, path, aside.path());
    }
}

}  // namespace

void write_whole_file(const std::string& path, const std::function<bool(const std::string& aside)>& write) {
    write_by(path, [&](const std::string& aside) { return write(aside) ? 0 : -1; });
}

void write_whole_file(const std::string& path, std::string_view bytes) {
    write_by(path, [&](const std::string& aside) {
        Descriptor file(::open(aside.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
        if (file.number() < 0) return errno;
        if (const int reason = write_bytes(file.number(), bytes)) return reason;
        return file.close() ? 0 : errno;
    });
}

}  // namespace heddle
