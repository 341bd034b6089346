#include "sim/run/kernel_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

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
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Hash of the running executable: models, kernel generators and number formats are all in it.
const std::string& executable_identity() {
    static const std::string identity = hash_text(read_file("/proc/self/exe"));
    return identity;
}

}  // namespace

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
    return KernelCache(folder);
}

std::string KernelCache::path_of(const std::string& key) const {
    return folder_ + "/" + hash_text(executable_identity() + "\n" + key) + ".json";
}

std::optional<std::string> KernelCache::find(const std::string& key) const {
    if (!enabled()) return std::nullopt;
    std::ifstream in(path_of(key), std::ios::binary);
    if (!in) return std::nullopt;
    std::string stored{std::istreambuf_iterator<char>(in), {}};
    // The file holds the whole key's second hash first, so that a collision of names cannot pass.
    const std::string check = hash_text(key);
    if (stored.compare(0, check.size(), check) != 0) return std::nullopt;
    return stored.substr(check.size());
}

void KernelCache::store(const std::string& key, const std::string& result) const {
    if (!enabled()) return;
    const std::string path = path_of(key);
    const std::string aside = path + "." + std::to_string(::getpid());
    std::error_code ignored;
    {
        std::ofstream out(aside, std::ios::binary);
        out << hash_text(key) << result;
        if (!out.flush()) {
            std::filesystem::remove(aside, ignored);
            return;
        }
    }
    std::filesystem::rename(aside, path, ignored);
    if (ignored) std::filesystem::remove(aside, ignored);
}

}  // namespace heddle::sim
