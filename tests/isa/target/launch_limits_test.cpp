// CUDA's limits of a launch. Figures: CUDA C++ Programming Guide, "Technical Specifications per Compute
// Capability"; clusters of 16 are Hopper's non-portable size.
#include "isa/target/launch_limits.h"

#include <catch2/catch.hpp>

using heddle::target::fault_of;
using heddle::target::LaunchExtents;

namespace {

std::string problem_of(const LaunchExtents& launch) {
    const auto fault = fault_of(launch);
    return fault ? std::string(fault->part) + ": " + fault->problem : "";
}

constexpr std::uint64_t kMost = 0x7FFFFFFF;  // 2^31 - 1

}  // namespace

TEST_CASE("launches at every limit can be launched") {
    CHECK(problem_of({{kMost, 65535, 65535}, {1, 1, 1}, {1, 1, 1}}).empty());
    for (const auto& block :
         {std::array<std::uint64_t, 3>{1024, 1, 1}, {1, 1024, 1}, {16, 1, 64}, {4, 4, 64}})
        CHECK(problem_of({{1, 1, 1}, block, {1, 1, 1}}).empty());
    CHECK(problem_of({{32, 2, 6}, {128, 1, 1}, {4, 2, 2}}).empty());
    CHECK(problem_of({}).empty());
}

TEST_CASE("launches beyond a limit are told which one, and by how much") {
    CHECK(problem_of({{kMost + 1, 1, 1}, {1, 1, 1}, {1, 1, 1}}) ==
          "grid: a grid has at most 2147483647 blocks in x, this has 2147483648");
    CHECK(problem_of({{1, kMost + 1, 1}, {1, 1, 1}, {1, 1, 1}}) ==
          "grid: a grid has at most 65535 blocks in y, this has 2147483648");
    CHECK(problem_of({{1, 1, 65536}, {1, 1, 1}, {1, 1, 1}}) ==
          "grid: a grid has at most 65535 blocks in z, this has 65536");
    CHECK(problem_of({{1, 0, 1}, {1, 1, 1}, {1, 1, 1}}) == "grid: a grid of 1 x 0 x 1 blocks is empty");
    CHECK(problem_of({{1, 1, 1}, {1025, 1, 1}, {1, 1, 1}}) ==
          "block: a block has at most 1024 threads, this has 1025");
    CHECK(problem_of({{1, 1, 1}, {32, 33, 1}, {1, 1, 1}}) ==
          "block: a block has at most 1024 threads, this has 1056");
    CHECK(problem_of({{1, 1, 1}, {2, 1, 65}, {1, 1, 1}}) ==
          "block: a block has at most 64 threads in z, this has 65");
    // 2^66 threads are more than a number of 64 bits holds.
    CHECK(problem_of({{1, 1, 1}, {1ull << 22, 1ull << 22, 1ull << 22}, {1, 1, 1}}).rfind("block: ", 0) == 0);
    CHECK(problem_of({{34, 1, 1}, {1, 1, 1}, {17, 1, 1}}) ==
          "cluster: a cluster has at most 16 blocks, this has 17");
    CHECK(problem_of({{6, 1, 1}, {1, 1, 1}, {4, 1, 1}}) ==
          "cluster: the grid 6 x 1 x 1 is not made of whole clusters of 4 x 1 x 1");
}
