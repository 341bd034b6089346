#include "sim/run/time/kernel_cache.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "isa/common/activity.h"
#include "sim/run/time/unclaimed_jobs.h"

using namespace heddle::sim;

TEST_CASE("the cache gives back what was stored under the whole key, and survives damage") {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("heddle-kernel-cache-test-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder);
    ::setenv("HEDDLE_CACHE", folder.c_str(), 1);
    KernelCache cache = KernelCache::standard();
    REQUIRE(cache.enabled());
    REQUIRE_FALSE(cache.find("gemm 1").has_value());
    cache.store("gemm 1", "12345 cycles");
    REQUIRE(cache.find("gemm 1").value() == "12345 cycles");
    REQUIRE_FALSE(cache.find("gemm 2").has_value());
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        std::ofstream(entry.path(), std::ios::trunc) << "damaged";
    }
    REQUIRE_FALSE(cache.find("gemm 1").has_value());
    ::setenv("HEDDLE_CACHE", "off", 1);
    REQUIRE_FALSE(KernelCache::standard().enabled());
    std::filesystem::remove_all(folder);
}

namespace {

/// A folder of its own for the standard cache, gone at the end.
class Folder {
  public:
    explicit Folder(const std::string& megabytes) {
        std::filesystem::remove_all(path);
        ::setenv("HEDDLE_CACHE", path.c_str(), 1);
        ::setenv("HEDDLE_CACHE_SIZE", megabytes.c_str(), 1);
    }
    ~Folder() {
        std::filesystem::remove_all(path);
        ::setenv("HEDDLE_CACHE", "off", 1);
        ::unsetenv("HEDDLE_CACHE_SIZE");
    }
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("heddle-kernel-cache-folder-" + std::to_string(getpid()));
};

}  // namespace

TEST_CASE("a result with one changed byte, or cut short, is no result") {
    const Folder folder("1024");
    KernelCache cache = KernelCache::standard();
    const std::string result = "cycles: 123456789";
    cache.store("kernel", result);
    const std::filesystem::path file = std::filesystem::directory_iterator(folder.path)->path();
    const auto size = std::filesystem::file_size(file);
    for (std::uint64_t at = 0; at < size; ++at) {
        CAPTURE(at);
        char byte = 0;
        {
            std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
            stream.seekg(static_cast<std::streamoff>(at)).get(byte);
            stream.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(byte ^ 1));
        }
        CHECK_FALSE(cache.find("kernel").has_value());
        std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekp(static_cast<std::streamoff>(at)).put(byte);
    }
    CHECK(cache.find("kernel") == result);
    for (std::uint64_t left = 0; left < size; ++left) {
        std::filesystem::resize_file(file, left);
        CHECK_FALSE(cache.find("kernel").has_value());
        cache.store("kernel", result);
    }
}

TEST_CASE("the cache stays within its bound and keeps what was used last") {
    const Folder folder("1");
    const std::string result(100 << 10, 'x');
    KernelCache cache = KernelCache::standard();
    const auto hour = std::chrono::hours(1);
    const auto now = std::filesystem::file_time_type::clock::now();
    for (int i = 0; i < 20; ++i) {
        cache.store("kernel " + std::to_string(i), result);
        // The newest files are those that have not been dated back: number 19 is the oldest.
        for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
            if (now - entry.last_write_time() < hour)
                std::filesystem::last_write_time(entry.path(), now - hour * (i + 2));
        }
    }
    std::ofstream(folder.path / "0123.json.abandoned") << "half a result";
    std::filesystem::last_write_time(folder.path / "0123.json.abandoned", now - 2 * hour);
    cache.make_room();
    std::uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path)) bytes += entry.file_size();
    CHECK(bytes <= (1u << 20));
    CHECK(bytes >= (700u << 10));
    CHECK(cache.find("kernel 0").has_value());
    CHECK_FALSE(cache.find("kernel 19").has_value());
    CHECK_FALSE(std::filesystem::exists(folder.path / "0123.json.abandoned"));
}

TEST_CASE("processes that write the same keys at the same time leave whole results") {
    const Folder folder("1024");
    const auto result = [](int key) { return std::string(static_cast<std::size_t>(1000 + 500 * key), 'a'); };
    std::vector<pid_t> children;
    for (int child = 0; child < 4; ++child) {
        const pid_t process = ::fork();
        if (process == 0) {
            KernelCache cache = KernelCache::standard();
            bool good = true;
            for (int round = 0; round < 25; ++round) {
                for (int key = 0; key < 8; ++key) {
                    cache.store("key " + std::to_string(key), result(key));
                    good = good && cache.find("key " + std::to_string(key)) == result(key);
                }
            }
            ::_exit(good ? 0 : 1);
        }
        children.push_back(process);
    }
    for (const pid_t child : children) {
        int status = -1;
        ::waitpid(child, &status, 0);
        CHECK(status == 0);
    }
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path)) ++files;
    CHECK(files == 8);
}

TEST_CASE("a kernel that another process is about cannot be claimed, until it has ended or died") {
    const Folder folder("1024");
    const KernelCache cache = KernelCache::standard();
    for (const bool dies : {false, true}) {
        int ready[2], go[2];
        REQUIRE(::pipe(ready) == 0);
        REQUIRE(::pipe(go) == 0);
        const pid_t process = ::fork();
        if (process == 0) {
            std::optional<KernelClaim> claim = cache.claim("kernel");
            char byte = claim ? 'y' : 'n';
            (void)!::write(ready[1], &byte, 1);
            if (dies) ::pause();
            (void)!::read(go[0], &byte, 1);
            claim.reset();
            (void)!::write(ready[1], &byte, 1);
            (void)!::read(go[0], &byte, 1);
            ::_exit(0);
        }
        char byte = 0;
        REQUIRE(::read(ready[0], &byte, 1) == 1);
        CHECK(byte == 'y');
        CHECK_FALSE(cache.claim("kernel").has_value());
        CHECK(cache.claim("another kernel").has_value());
        if (dies) {
            ::kill(process, SIGKILL);
            ::waitpid(process, nullptr, 0);
        } else {
            REQUIRE(::write(go[1], "g", 1) == 1);
            REQUIRE(::read(ready[0], &byte, 1) == 1);
        }
        CHECK(cache.claim("kernel").has_value());
        CHECK(cache.claim("kernel").has_value());  // the one before was let go of
        if (!dies) {
            REQUIRE(::write(go[1], "g", 1) == 1);
            ::waitpid(process, nullptr, 0);
        }
        for (const int end : {ready[0], ready[1], go[0], go[1]}) ::close(end);
    }
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path)) ++files;
    CHECK(files == 0);
    ::setenv("HEDDLE_CACHE", "off", 1);
    const KernelCache none = KernelCache::standard();
    const std::optional<KernelClaim> first = none.claim("kernel"), second = none.claim("kernel");
    CHECK(first.has_value());
    CHECK(second.has_value());
}

TEST_CASE("a claim that is not renewed is taken over, and its late holder takes nothing away") {
    const Folder folder("1024");
    const KernelCache cache = KernelCache::standard();
    CHECK_FALSE(cache.claim_renewed("kernel").has_value());
    CHECK(cache.claim_holder("kernel").empty());
    std::optional<KernelClaim> first = cache.claim("kernel");
    REQUIRE(first.has_value());
    const std::optional<std::int64_t> begun = cache.claim_renewed("kernel");
    REQUIRE(begun.has_value());
    // Linux names who has taken a lock, but for what another container has taken.
    const std::string holder = cache.claim_holder("kernel");
    CHECK((holder == "PID " + std::to_string(::getpid()) || holder == "another process"));
    ::usleep(20000);
    first->renew();
    CHECK(*cache.claim_renewed("kernel") > *begun);
    CHECK_FALSE(cache.take_over("kernel", *begun).has_value());  // it was renewed meanwhile
    std::optional<KernelClaim> second = cache.take_over("kernel", *cache.claim_renewed("kernel"));
    REQUIRE(second.has_value());
    CHECK_FALSE(cache.claim("kernel").has_value());
    first.reset();  // the first holder goes on, and ends
    CHECK_FALSE(cache.claim("kernel").has_value());
    second.reset();
    CHECK(cache.claim("kernel").has_value());
    CHECK(std::filesystem::is_empty(folder.path));
}

TEST_CASE("jobs of a process that gets no further are taken over when patience ends") {
    const Folder folder("1024");
    const KernelCache cache = KernelCache::standard();
    const std::optional<KernelClaim> foreign = cache.claim("key 1");  // nobody renews it
    constexpr std::chrono::milliseconds kPatience{300};
    UnclaimedJobs jobs(2, cache,
                       {.key = [](std::size_t job) { return "key " + std::to_string(job); },
                        .name = [](std::size_t job) { return "kernel " + std::to_string(job); },
                        .take = [](std::size_t) { return false; }},
                       kPatience);
    CHECK(jobs.next() == std::optional<std::size_t>(0));
    CHECK_FALSE(jobs.next().has_value());
    REQUIRE(heddle::this_activity().seen().has_value());
    CHECK_THAT(heddle::this_activity().seen()->what,
               Catch::StartsWith("waiting for ") && Catch::EndsWith(" to simulate kernel 1"));
    for (unsigned i = 0; i < 5; ++i) {  // while it is renewed it stays
        ::usleep(200000);
        foreign->renew();
        CHECK_FALSE(jobs.next().has_value());
    }
    CHECK(jobs.has_more());
    std::optional<std::size_t> job;
    for (unsigned i = 0; i < 1000 && !job; ++i) {
        ::usleep(10000);
        job = jobs.next();
    }
    CHECK(job == std::optional<std::size_t>(1));
    CHECK_FALSE(jobs.has_more());
    CHECK_FALSE(heddle::this_activity().seen().has_value());
    // Others wait for it now, as long as it goes on.
    const std::optional<std::int64_t> taken = cache.claim_renewed("key 1");
    ::usleep(50000);
    jobs.still_running(1);
    REQUIRE(cache.claim_renewed("key 1").has_value());
    CHECK(*cache.claim_renewed("key 1") > *taken);
}

TEST_CASE("one changed character changes the hash") {
    REQUIRE(hash_text("abcdefgh12345678x") != hash_text("abcdefgh12345678y"));
    REQUIRE(hash_text("abcdefgh") != hash_text(std::string("abcdefgh\0", 9)));
    REQUIRE(hash_text("") != hash_text(std::string(8, '\0')));
}
