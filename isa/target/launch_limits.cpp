#include "isa/target/launch_limits.h"

#include <algorithm>

namespace heddle::target {
namespace {

using Extents = std::array<std::uint64_t, 3>;

constexpr Extents kMostBlocks{0x7FFFFFFF, 65535, 65535};
constexpr Extents kMostThreads{1024, 1024, 64};
constexpr std::uint64_t kAnyNumber = ~std::uint64_t{0};
constexpr std::uint64_t kMostThreadsOfBlock = 1024;
constexpr std::uint64_t kMostBlocksOfCluster = 16;  // above 8 by an attribute of the kernel

std::string text_of(const Extents& extents) {
    return std::to_string(extents[0]) + " x " + std::to_string(extents[1]) + " x " +
           std::to_string(extents[2]);
}

/// The product; one that does not fit is the largest number.
std::uint64_t product(const Extents& extents) {
    std::uint64_t result = 1;
    for (const std::uint64_t extent : extents)
        if (extent != 0 && __builtin_mul_overflow(result, extent, &result)) return ~std::uint64_t{0};
    return result;
}

/// Of one part alone. "" when it may be.
std::string fault_of_extents(const std::string& what, const std::string& unit, const Extents& extents,
                             const Extents& most, std::uint64_t most_together) {
    const auto too_many = [&](std::uint64_t allowed, const std::string& where, std::uint64_t given) {
        return "a " + what + " has at most " + std::to_string(allowed) + " " + unit + where + ", this has " +
               std::to_string(given);
    };
    if (std::count(extents.begin(), extents.end(), 0) != 0)
        return "a " + what + " of " + text_of(extents) + " " + unit + " is empty";
    if (product(extents) > most_together) return too_many(most_together, "", product(extents));
    for (std::size_t i = 0; i < extents.size(); ++i)
        if (extents[i] > most[i]) return too_many(most[i], std::string(" in ") + "xyz"[i], extents[i]);
    return {};
}

}  // namespace

std::optional<LaunchFault> fault_of(const LaunchExtents& launch) {
    constexpr Extents kMostOfCluster{kMostBlocksOfCluster, kMostBlocksOfCluster, kMostBlocksOfCluster};
    std::string fault = fault_of_extents("grid", "blocks", launch.grid, kMostBlocks, kAnyNumber);
    if (!fault.empty()) return LaunchFault{"grid", fault};
    fault = fault_of_extents("block", "threads", launch.block, kMostThreads, kMostThreadsOfBlock);
    if (!fault.empty()) return LaunchFault{"block", fault};
    fault = fault_of_extents("cluster", "blocks", launch.cluster, kMostOfCluster, kMostBlocksOfCluster);
    if (!fault.empty()) return LaunchFault{"cluster", fault};
    for (std::size_t i = 0; i < 3; ++i)
        if (launch.grid[i] % launch.cluster[i] != 0)
            return LaunchFault{"cluster", "the grid " + text_of(launch.grid) +
                                              " is not made of whole clusters of " + text_of(launch.cluster)};
    return {};
}

}  // namespace heddle::target
