#include "isa/common/result_folder.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "isa/common/error.h"
#include "isa/common/whole_file.h"

namespace heddle {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHeading =
    "# Heddle wrote the files that are named here, and may replace or remove them. It leaves every other "
    "file alone.\n";
constexpr const char* kKind = "kind: ";
constexpr const char* kFile = "file: ";

[[noreturn]] void fail(const std::string& what, const fs::path& path, const std::error_code& reason) {
    throw Error(what + ": " + reason.message(), {path.string(), 0, ""}, "choose another folder");
}

/// Where the folder lies: a link leads to it, and stays a link.
fs::path end_of_links(const std::string& path) {
    fs::path folder = fs::absolute(path).lexically_normal();
    if (!folder.has_filename()) folder = folder.parent_path();
    std::error_code failure;
    for (int links = 0; fs::is_symlink(folder, failure); ++links) {
        // As many as the system follows.
        if (links == 40)
            throw Error("is a link that leads to itself", {path, 0, ""}, "choose another folder");
        const fs::path target = fs::read_symlink(folder, failure);
        if (failure) fail("cannot read the link", path, failure);
        folder = (folder.parent_path() / target).lexically_normal();
        if (!folder.has_filename()) folder = folder.parent_path();
    }
    return folder;
}

/// Whether `inner` is `outer` or lies in it.
bool lies_in(const fs::path& inner, const fs::path& outer) {
    const auto [of_outer, of_inner] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
    return of_outer == outer.end() || (std::next(of_outer) == outer.end() && of_outer->empty());
}

std::vector<fs::path> home_folders() {
    std::vector<fs::path> homes;
    if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') homes.emplace_back(home);
    if (const passwd* user = ::getpwuid(::getuid()); user != nullptr && user->pw_dir != nullptr)
        homes.emplace_back(user->pw_dir);
    return homes;
}

/// Whether a marker may name it: a file of the folder itself.
bool is_plain_name(const std::string& name) {
    const bool printable =
        std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= ' ' && c != '/'; });
    return printable && !name.empty() && name != "." && name != ".." && name != ResultFolder::kMarker;
}

/// Holds the folder against another process that commits to it at the same time.
class FolderHeld {
  public:
    explicit FolderHeld(const fs::path& folder)
        : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        if (descriptor_ >= 0) ::flock(descriptor_, LOCK_EX);
    }
    ~FolderHeld() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    FolderHeld(const FolderHeld&) = delete;
    FolderHeld& operator=(const FolderHeld&) = delete;

  private:
    int descriptor_;
};

}  // namespace

ResultFolder::ResultFolder(const std::string& path, std::string kind, std::string option, Use use)
    : told_(path), kind_(std::move(kind)), option_(std::move(option)), use_(use) {
    if (path.empty()) throw Error("no folder is named", {option_, 0, ""});
    folder_ = end_of_links(path);
    if (use_ == Use::own) check_place();
    check_marker();
}

ResultFolder::~ResultFolder() {
    std::error_code ignored;
    // Made by this object, with a name of its own.
    if (!staging_.empty()) fs::remove_all(staging_, ignored);
}

void ResultFolder::check_place() const {
    std::error_code ignored;
    const fs::path real = fs::weakly_canonical(folder_, ignored);
    const auto refuse = [&](const std::string& what) {
        throw Error("is " + what + "; results go to a folder of their own", {told_, 0, option_},
                    "name a new folder, such as " + option_ + " " +
                        (fs::path(told_) / "results").lexically_normal().string());
    };
    const fs::path current = fs::weakly_canonical(fs::current_path(ignored), ignored);
    if (real == real.root_path()) refuse("the root of the file system");
    if (real == current) refuse("the current folder");
    for (const fs::path& named : home_folders()) {
        const fs::path home = fs::weakly_canonical(named, ignored);
        if (real == home) refuse("the home folder");
        if (home != home.root_path() && lies_in(home, real)) refuse("a folder that the home folder lies in");
    }
    if (lies_in(current, real)) refuse("a folder that the current folder lies in");
}

void ResultFolder::check_marker() const {
    std::error_code ignored;
    if (!fs::exists(folder_, ignored)) return;
    if (!fs::is_directory(folder_, ignored))
        throw Error("this is a file, not a folder", {told_, 0, ""}, "choose another with " + option_);
    if (fs::exists(folder_ / kMarker, ignored)) {
        (void)listed();
    } else if (use_ == Use::own && !fs::is_empty(folder_, ignored)) {
        throw Error("the folder holds files, and none that says that Heddle wrote them (" +
                        std::string(kMarker) + ")",
                    {told_, 0, ""}, "choose a new folder with " + option_ + ", or empty this one");
    }
}

std::set<std::string> ResultFolder::listed() const {
    const fs::path marker = folder_ / kMarker;
    std::set<std::string> names;
    std::ifstream stream(marker, std::ios::binary);
    if (!stream) return names;
    std::string line, kind;
    for (std::int64_t number = 1; std::getline(stream, line); ++number) {
        if (line.empty() || line[0] == '#') continue;
        if (line.rfind(kKind, 0) == 0) {
            kind = line.substr(std::string(kKind).size());
            continue;
        }
        const std::string name = line.rfind(kFile, 0) == 0 ? line.substr(std::string(kFile).size()) : "";
        // A marker that came with a foreign archive leads to no other folder.
        if (!is_plain_name(name) || names.size() == 100'000)
            throw Error("is no marker of a folder of results", {marker.string(), number, ""},
                        "choose another folder with " + option_);
        names.insert(name);
    }
    if (kind != kind_ && use_ == Use::own)
        throw Error("the folder holds " +
                        (kind.empty() ? "other results" : "results of another kind (" + kind + ")") +
                        ", not those of a" +
                        (std::string("aeio").find(kind_[0]) == std::string::npos ? " " : "n ") + kind_,
                    {told_, 0, ""}, "choose another with " + option_);
    return names;
}

void ResultFolder::check(const std::vector<std::string>& names) const {
    const std::set<std::string> ours = listed();
    for (const std::string& name : names) {
        if (!is_plain_name(name))
            throw Error("is no name of a file in a folder of results", {told_, 0, name}, "name it otherwise");
        struct stat there {};
        if (::lstat((folder_ / name).c_str(), &there) != 0) continue;
        if (ours.count(name) == 0 || S_ISDIR(there.st_mode))
            throw Error("is there already, and Heddle did not write it",
                        {(fs::path(told_) / name).string(), 0, ""},
                        "move it away, or choose another folder with " + option_);
    }
}

void ResultFolder::write_marker(const fs::path& folder, const std::set<std::string>& names) const {
    std::string text = std::string(kHeading) + kKind + kind_ + "\n";
    for (const std::string& name : names) text += kFile + name + "\n";
    write_whole_file((folder / kMarker).string(), text);
}

void ResultFolder::claim(const std::vector<std::string>& names) {
    std::error_code failure;
    fs::create_directories(folder_, failure);
    if (failure && !fs::is_directory(folder_)) fail("cannot make the folder", told_, failure);
    const FolderHeld held(folder_);
    check(names);
    claimed_.insert(names.begin(), names.end());
    std::set<std::string> all = listed();
    all.insert(names.begin(), names.end());
    write_marker(folder_, all);
}

const fs::path& ResultFolder::staging() {
    if (!staging_.empty()) return staging_;
    std::error_code failure;
    const bool there = fs::is_directory(folder_, failure);
    // On the same disk: within the folder, or beside where it will be.
    const fs::path parent = there ? folder_ : folder_.parent_path();
    fs::create_directories(parent, failure);
    std::string pattern = (parent / ("." + folder_.filename().string() + ".partial-XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr)
        fail("cannot make the folder", told_, std::error_code(errno, std::generic_category()));
    staging_ = pattern;
    return staging_;
}

void ResultFolder::stage(const std::string& name, const std::string& text) {
    write_whole_file((staging() / name).string(), text);
}

void ResultFolder::commit() {
    std::set<std::string> staged;
    for (const auto& entry : fs::directory_iterator(staging()))
        staged.insert(entry.path().filename().string());
    std::error_code failure;
    if (!fs::exists(folder_, failure)) {
        write_marker(staging(), staged);
        // As any folder that is made: mkdtemp() lets only its owner in.
        const mode_t mask = ::umask(0);
        ::umask(mask);
        fs::permissions(staging_, static_cast<fs::perms>(0777 & ~mask), failure);
        fs::rename(staging_, folder_, failure);
        if (failure) fail("cannot rename to it", told_, failure);
        staging_.clear();
        return;
    }
    const FolderHeld held(folder_);
    check({staged.begin(), staged.end()});
    replace(staged);
}

void ResultFolder::replace(const std::set<std::string>& staged) {
    const std::set<std::string> before = listed();
    std::set<std::string> all = before;
    all.insert(staged.begin(), staged.end());
    write_marker(folder_, all);
    // First everything old goes, so that no moment has files of two results.
    std::error_code failure;
    for (const std::string& name : before)
        if ((use_ == Use::own || staged.count(name) != 0) && claimed_.count(name) == 0 &&
            !fs::is_directory(fs::symlink_status(folder_ / name, failure)))
            fs::remove(folder_ / name, failure);
    for (const std::string& name : staged) {
        fs::rename(staging_ / name, folder_ / name, failure);
        if (failure) fail("cannot rename to it", folder_ / name, failure);
    }
    if (use_ == Use::own) {
        all = staged;
        all.insert(claimed_.begin(), claimed_.end());
    }
    write_marker(folder_, all);
}

}  // namespace heddle
