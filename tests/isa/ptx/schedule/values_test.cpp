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
    RandomRun values;
    std::size_t instructions = 0, steering = 0;
};

Outcome run(const std::shared_ptr<const Module>& module, Assembly assembly, std::uint32_t seed) {
    const LoadedKernel kernel(module, "test", 90, assembly);
    return {run_random(kernel, seed), kernel.instructions().size(), kernel.steering_instructions()};
}

}  // namespace

TEST_CASE("random programs compute the same bits with and without scheduling", "[schedule]") {
    std::size_t shorter = 0;
    for (std::uint32_t seed = 1; seed <= 3000; ++seed) {
        const std::string text = random_module(seed);
        const auto module = parse_shared(text, "random.ptx");
        const Outcome written = run(module, Assembly::as_written, seed);
        const Outcome scheduled = run(module, Assembly::scheduled, seed);
        const bool same = written.values.results == scheduled.values.results &&
                          written.values.data == scheduled.values.data;
        if (!same) {
            CAPTURE(seed, text);
            REQUIRE(same);
        }
        shorter += scheduled.instructions < written.instructions ? 1 : 0;
    }
    CHECK(shorter > 1500);  // the pass has done something
}
