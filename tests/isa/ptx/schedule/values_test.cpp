// A kernel computes the same bits after the scheduling pass as it does as written.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "../compare_modes.h"
#include "../launch.h"
#include "random_program.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

struct Outcome {
    std::vector<std::uint32_t> data, results;
    std::size_t instructions = 0, steering = 0;
};

Outcome run(const std::shared_ptr<const Module>& module, Assembly assembly, std::uint32_t seed) {
    const LoadedKernel kernel(module, "test", 90, assembly);
    Device device;
    std::vector<std::uint32_t> data(kRandomThreads * kRandomSliceBytes / 4);
    std::mt19937 random(seed ^ 0x9e3779b9u);
    for (std::uint32_t& value : data) value = random() >> (random() % 24);
    const std::uint64_t at = device.upload("data", data);
    const std::uint64_t results =
        device.upload("results", std::vector<std::uint32_t>(kRandomThreads * kRandomResultBytes / 4));
    LaunchContext launch;
    launch.kernel = &kernel;
    launch.grid = {1};
    launch.block = {kRandomThreads};
    launch.parameters = pack_parameters(kernel, std::vector{argument(at), argument(results)});
    launch.memory = &device.memory;
    run_functionally(launch);
    return {device.download<std::uint32_t>(at, data.size()),
            device.download<std::uint32_t>(results, kRandomThreads * kRandomResultBytes / 4),
            kernel.instructions().size(), kernel.steering_instructions()};
}

}  // namespace

TEST_CASE("random programs compute the same bits with and without scheduling", "[schedule]") {
    std::size_t shorter = 0;
    for (std::uint32_t seed = 1; seed <= 3000; ++seed) {
        const std::string text = random_module(seed);
        const auto module = parse_shared(text, "random.ptx");
        const Outcome written = run(module, Assembly::as_written, seed);
        const Outcome scheduled = run(module, Assembly::scheduled, seed);
        const bool same = written.results == scheduled.results && written.data == scheduled.data;
        if (!same) {
            CAPTURE(seed, text);
            REQUIRE(same);
        }
        shorter += scheduled.instructions < written.instructions ? 1 : 0;
    }
    CHECK(shorter > 1500);  // the pass has done something
}
