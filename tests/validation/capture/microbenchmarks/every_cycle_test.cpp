// Every micro-benchmark of the capture takes the same cycles with and without values, skipping cycles or
// looking at every block in each. On a small machine with few repetitions: what is compared does not depend
// on either.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>

#include "validation/capture/microbenchmarks/benchmark.h"
#include "validation/capture/simulator/simulator_device.h"

using namespace heddle::capture;
namespace fs = std::filesystem;

namespace {

/// One eighth of a GPU, as far as can be: `base` with 16 SMs in one GPC, which holds the largest cluster.
class SmallHardware {
  public:
    explicit SmallHardware(const std::string& base)
        : path_(fs::temp_directory_path() / ("heddle-small-" + base + std::to_string(getpid()) + ".yaml")) {
        std::ofstream(path_) << "extends: " HEDDLE_SOURCE_DIR "/sim/hardware/" << base << ".yaml\n"
                             << "sm.count: 16\nsm.gpcs: 1\nl2.slices: 8\nl2.size: 2 MiB\n"
                                "hbm.channels: 4\nhbm.bandwidth: 330 GB/s\n";
    }
    ~SmallHardware() { fs::remove(path_); }
    std::string file() const { return path_.string(); }

  private:
    fs::path path_;
};

/// The same kernel with the same loops for another SM, or with a longer stream.
bool repeats_another(const std::string& id) {
    if (id.rfind("lines/", 0) == 0) return id != "lines/l2/sm_0_of_8" && id != "lines/dram/sm_0_of_8";
    return id.rfind("l2_policy/", 0) == 0 && id.find("stream=32MiB") == std::string::npos;
}

/// Every `parts`-th benchmark of the device, beginning with `part`.
void check(const std::string& base, std::size_t part, std::size_t parts) {
    const SmallHardware hardware(base);
    const std::unique_ptr<Device> device = make_simulator_device(hardware.file(), true);
    MeasureSettings settings;
    settings.repetitions = 1;
    settings.effort = 1.0 / 256;
    std::size_t index = 0, measured = 0;
    for (const Benchmark& benchmark : microbenchmarks()) {
        if (!benchmark.runs_on(device->compute_capability()) || index++ % parts != part) continue;
        if (repeats_another(benchmark.id)) continue;
        INFO(benchmark.id);
        ++measured;
        try {
            CHECK(benchmark.measure(*device, settings).value >= 0);
        } catch (const DeviceError& error) {
            // What the model or this small machine does not do; never a difference in cycles.
            INFO(error.what());
            CHECK(std::string(error.what()).find("internal") == std::string::npos);
            CHECK(std::string(error.what()).find("silicon alone") != std::string::npos);
        }
    }
    CHECK(measured > 40);
}

}  // namespace

TEST_CASE("micro-benchmarks take the same cycles in every mode on a small H100: part 1 of 4") {
    check("h100-sxm", 0, 4);
}
TEST_CASE("micro-benchmarks take the same cycles in every mode on a small H100: part 2 of 4") {
    check("h100-sxm", 1, 4);
}
TEST_CASE("micro-benchmarks take the same cycles in every mode on a small H100: part 3 of 4") {
    check("h100-sxm", 2, 4);
}
TEST_CASE("micro-benchmarks take the same cycles in every mode on a small H100: part 4 of 4") {
    check("h100-sxm", 3, 4);
}
