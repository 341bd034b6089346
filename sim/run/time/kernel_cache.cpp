#include "sim/run/time/kernel_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "isa/common/error.h"
#include "sim/run/workers/processes.h"

namespace heddle::sim {
namespace {

std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

std::string read_file(const std::string& path) {
    std::string bytes;
    std::FILE* const file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return bytes;
    std::size_t got = 0;
    do {
        const std::size_t before = bytes.size();
        bytes.resize(before + std::max<std::size_t>(1 << 16, before));
        got = std::fread(bytes.data() + before, 1, bytes.size() - before, file);
        bytes.resize(before + got);
    } while (got > 0);
    std::fclose(file);
    return bytes;
}

/// Files that are no results, and how old they must be before nobody can be writing them any more.
constexpr std::chrono::hours kAbandoned{1};
/// The folder is looked through after so many stored bytes, at the first use of a process too.
constexpr std::uint64_t kLookAfter = 64ull << 20;
/// What the name of a claim ends with.
constexpr const char* kClaim = ".claim";
/// The time of last use is renewed at most so often.
constexpr std::chrono::hours kRenewAfter{6};

std::uint64_t bound_from_environment() {
    constexpr std::uint64_t fallback = 1024;
    const char* const text = std::getenv("HEDDLE_CACHE_SIZE");
    char* end = nullptr;
    const unsigned long long given = text == nullptr ? fallback : std::strtoull(text, &end, 10);
    const bool good = text == nullptr || (end != text && *end == 0 && *text != '-' && given < (1ull << 40));
    if (!good)
        throw Error("`" + std::string(text) + "` is no size", {"HEDDLE_CACHE_SIZE", 0, ""}, "give MiB: 1024");
    return given << 20;
}

std::int64_t last_change(const struct stat& file) {
    return std::int64_t{file.st_mtim.tv_sec} * 1'000'000'000 + file.st_mtim.tv_nsec;
}

/// Of the code that results depend on.
std::string& model_identity() {
    static std::string identity;
    if (identity.empty()) identity = executable_identity();
    return identity;
}

}  // namespace

const std::string& executable_identity() {
    static const std::string identity = hash_text(read_file("/proc/self/exe"));
    return identity;
}

void set_model_identity(const std::string& identity) {
    model_identity() = identity;
}

std::string hash_file(const std::string& path) {
    return hash_text(read_file(path));
}

std::string hash_text(const std::string& text) {
    std::uint64_t a = 0x9e3779b97f4a7c15ull ^ text.size(), b = 0xc2b2ae3d27d4eb4full;
    std::size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) {
        std::uint64_t word;
        std::memcpy(&word, text.data() + at, 8);
        a = mix(a ^ word);
        b = mix(b + word * 0x9fb21c651e98df25ull);
    }
    std::uint64_t tail = 0;
    std::memcpy(&tail, text.data() + at, text.size() - at);
    a = mix(a ^ tail);
    b = mix(b + tail * 0x9fb21c651e98df25ull);
    return fmt::format("{:016x}{:016x}", mix(a ^ (b >> 32)), mix(b ^ a));
}

KernelCache KernelCache::standard() {
    std::string folder;
    if (const char* chosen = std::getenv("HEDDLE_CACHE")) {
        if (std::string(chosen) == "off") return disabled();
        folder = chosen;
    } else if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != 0) {
        folder = std::string(xdg) + "/heddle";
    } else if (const char* home = std::getenv("HOME"); home != nullptr && *home != 0) {
        folder = std::string(home) + "/.cache/heddle";
    } else {
        return disabled();
    }
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed || ::access(folder.c_str(), W_OK) != 0) return disabled();
    return KernelCache(folder, bound_from_environment());
}

std::string KernelCache::path_of(const std::string& key) const {
    return folder_ + "/" + hash_text(model_identity() + "\n" + key) + ".json";
}

std::optional<std::string> KernelCache::find(const std::string& key) const {
    if (!enabled()) return std::nullopt;
    const std::string path = path_of(key), stored = read_file(path);
    // The file holds the whole key's second hash first, so that a collision of names cannot pass, and then
    // that of the result.
    const std::string check = hash_text(key);
    if (stored.size() < 2 * check.size() || stored.compare(0, check.size(), check) != 0) return std::nullopt;
    std::string result = stored.substr(2 * check.size());
    if (stored.compare(check.size(), check.size(), hash_text(result)) != 0) return std::nullopt;
    namespace fs = std::filesystem;
    std::error_code ignored;
    const fs::file_time_type now = fs::file_time_type::clock::now(),
                             used = fs::last_write_time(path, ignored);
    if (!ignored && now - used > kRenewAfter) fs::last_write_time(path, now, ignored);
    return result;
}

void KernelCache::store(const std::string& key, const std::string& result) {
    if (!enabled()) return;
    const std::string path = path_of(key);
    std::string aside = path + ".XXXXXX";
    const int file = ::mkstemp(aside.data());
    if (file < 0) return;
    std::error_code ignored;
    const std::string text = hash_text(key) + hash_text(result) + result;
    const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (::close(file) != 0 || !written) {
        std::filesystem::remove(aside, ignored);
        return;
    }
    std::filesystem::rename(aside, path, ignored);
    if (ignored) std::filesystem::remove(aside, ignored);
    if (stored_ == 0 || stored_ + text.size() > kLookAfter) {
        make_room();
        stored_ = 0;
    }
    stored_ += text.size();
}

KernelClaim::~KernelClaim() {
    if (descriptor_ < 0) return;
    // Removed while it is locked: whoever has opened it sees then that it is gone. Children that were started
    // meanwhile have the file open too, so it is not enough to close it. Where somebody has taken it over, the
    // file of this name is not this one.
    struct stat own {}, there{};
    if (::fstat(descriptor_, &own) == 0 && ::stat(path_.c_str(), &there) == 0 && own.st_ino == there.st_ino)
        ::unlink(path_.c_str());
    ::flock(descriptor_, LOCK_UN);
    ::close(descriptor_);
}

KernelClaim::KernelClaim(KernelClaim&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

KernelClaim& KernelClaim::operator=(KernelClaim&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

void KernelClaim::renew() const {
    if (descriptor_ >= 0) ::futimens(descriptor_, nullptr);
}

std::optional<std::int64_t> KernelCache::claim_renewed(const std::string& key) const {
    struct stat status {};
    if (!enabled() || ::stat((path_of(key) + kClaim).c_str(), &status) != 0) return {};
    return last_change(status);
}

std::string KernelCache::claim_holder(const std::string& key) const {
    const int file = ::open((path_of(key) + kClaim).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    std::string holder = name_of_holder(file);
    ::close(file);
    return holder;
}

std::optional<KernelClaim> KernelCache::take_over(const std::string& key, std::int64_t renewed) const {
    const std::string path = path_of(key) + kClaim;
    struct stat status {};
    // What somebody else has taken over meanwhile, or what is renewed again, stays.
    if (enabled() && ::stat(path.c_str(), &status) == 0 && last_change(status) == renewed)
        ::unlink(path.c_str());
    return claim(key);
}

std::optional<KernelClaim> KernelCache::claim(const std::string& key) const {
    if (!enabled()) return KernelClaim();
    const std::string path = path_of(key) + kClaim;
    for (;;) {
        const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (file < 0) return KernelClaim();
        const bool locked = ::flock(file, LOCK_EX | LOCK_NB) == 0;
        const bool held = !locked && errno == EWOULDBLOCK;
        struct stat status {};
        const bool gone = locked && (::fstat(file, &status) != 0 || status.st_nlink == 0);
        if (locked && !gone) return KernelClaim(path, file);
        ::close(file);
        if (held) return std::nullopt;
        if (!gone) return KernelClaim();
    }
}

void KernelCache::make_room() {
    if (!enabled()) return;
    namespace fs = std::filesystem;
    struct File {
        fs::path path;
        fs::file_time_type used;
        std::uint64_t bytes;
    };
    std::vector<File> files;
    std::uint64_t total = 0;
    const fs::file_time_type now = fs::file_time_type::clock::now();
    std::error_code failed;
    for (fs::directory_iterator it(folder_, failed), end; !failed && it != end; it.increment(failed)) {
        std::error_code gone;
        const std::string name = it->path().filename().string();
        File file{it->path(), it->last_write_time(gone), 0};
        if (!gone) file.bytes = it->file_size(gone);
        if (gone || name.find(".json") == std::string::npos) continue;
        if (!name.ends_with(".json")) {
            if (now - file.used > kAbandoned) fs::remove(file.path, gone);
            continue;
        }
        total += file.bytes;
        files.push_back(std::move(file));
    }
    if (total <= bound_) return;
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
    for (const File& file : files) {
        if (total <= bound_ / 10 * 9) break;
        std::error_code gone;
        fs::remove(file.path, gone);
        total -= file.bytes;
    }
}

}  // namespace heddle::sim
