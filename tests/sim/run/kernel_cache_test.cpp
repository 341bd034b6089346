#include "sim/run/kernel_cache.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

using namespace heddle::sim;

TEST_CASE("the cache gives back what was stored under the whole key, and survives damage") {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("heddle-kernel-cache-test-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder);
    ::setenv("HEDDLE_CACHE", folder.c_str(), 1);
    const KernelCache cache = KernelCache::standard();
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

TEST_CASE("one changed character changes the hash") {
    REQUIRE(hash_text("abcdefgh12345678x") != hash_text("abcdefgh12345678y"));
    REQUIRE(hash_text("abcdefgh") != hash_text(std::string("abcdefgh\0", 9)));
    REQUIRE(hash_text("") != hash_text(std::string(8, '\0')));
}
