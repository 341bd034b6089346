// The micro-benchmarks measure what they say: on the model, whose numbers are known because they stand in its
// hardware file, each must find the number again; and when the file changes, so must what they find.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "validation/capture/microbenchmarks/benchmark.h"
#include "validation/capture/simulator/simulator_device.h"

using namespace heddle;
using namespace heddle::capture;
namespace fs = std::filesystem;

namespace {

Measurement measure(Device& device, const std::string& id) {
    for (const Benchmark& benchmark : microbenchmarks())
        if (benchmark.id == id) return benchmark.measure(device, {1});
    FAIL("no micro-benchmark " << id);
    return {};
}

/// A hardware file that changes some values of the H100.
class ChangedHardware {
  public:
    explicit ChangedHardware(const std::string& changes)
        : path_(fs::temp_directory_path() / ("heddle-changed-" + std::to_string(getpid()) + ".yaml")) {
        std::ofstream(path_) << "extends: " HEDDLE_SOURCE_DIR "/sim/hardware/h100-sxm.yaml\n" << changes;
    }
    ~ChangedHardware() { fs::remove(path_); }
    std::string file() const { return path_.string(); }

  private:
    fs::path path_;
};

}  // namespace

TEST_CASE("every micro-benchmark has a name of its own and PTX for the device it needs") {
    std::set<std::string> ids;
    for (const Benchmark& benchmark : microbenchmarks()) {
        INFO(benchmark.id);
        CHECK(ids.insert(benchmark.id).second);
        CHECK_FALSE(benchmark.group.empty());
        const unsigned capability =
            benchmark.only_capability != 0 ? benchmark.only_capability : benchmark.minimum_capability;
        CHECK(benchmark.runs_on(capability));
        CHECK_FALSE(benchmark.texts(capability).empty());
    }
    CHECK(ids.size() > 500);
}

TEST_CASE("latencies and rates of instructions are those of the hardware file") {
    const models::gpu::GpuConfig config = sim::gpu_config(sim::load_hardware("h100-sxm"));
    const auto device = make_simulator_device("h100-sxm");
    const auto latency = [&](const std::string& name, double cycles) {
        INFO(name);
        CHECK(measure(*device, "latency/" + name).value == Approx(cycles).margin(0.01));
    };
    using enum ptx::Operation;
    latency("ffma", config.pipelines[fp32].latency);
    latency("fadd", config.pipelines[fp32].latency);
    latency("fmin", config.pipelines[fp32_compare].latency);
    latency("imad", config.pipelines[multiply].latency);
    latency("lop3", config.pipelines[integer].latency);
    latency("hfma2", config.pipelines[half].latency);
    latency("hfma2_bf16", config.pipelines[bf16].latency);
    latency("dfma", config.pipelines[fp64].latency);
    latency("ex2", config.pipelines[special].latency);
    latency("popc", config.pipelines[bit_count].latency);
    latency("shfl", config.shared.shuffle_latency);
    // Rates: 32 lanes of a warp instruction per `interval` cycles in each of four sub-cores.
    const auto rate = [&](const std::string& name, double per_cycle) {
        INFO(name);
        CHECK(measure(*device, "throughput/" + name + "/warps=16").value == Approx(per_cycle).epsilon(0.01));
    };
    rate("ffma", 4 / config.pipelines[fp32].issue_interval());
    rate("fadd", 4 / config.pipelines[fp32].issue_interval());
    rate("fmin", 4 / config.pipelines[fp32_compare].issue_interval());
    rate("imad", 4 / config.pipelines[multiply].issue_interval());
    rate("lop3", 4 / config.pipelines[integer].issue_interval());
    rate("hfma2", 4 / config.pipelines[half].issue_interval());
    rate("hfma2_bf16", 4 / config.pipelines[bf16].issue_interval());
    rate("dfma", 4 / config.pipelines[fp64].issue_interval());
    rate("ex2", 4 / config.pipelines[special].issue_interval());
    rate("popc", 4 / config.pipelines[bit_count].issue_interval());
}

TEST_CASE("tensor cores reach the rates of the hardware file") {
    const models::gpu::GpuConfig config = sim::gpu_config(sim::load_hardware("h100-sxm"));
    const auto device = make_simulator_device("h100-sxm");
    const auto rate = [&](const std::string& id, double macs) {
        INFO(id);
        CHECK(measure(*device, id).value == Approx(macs).epsilon(0.01));
    };
    const double efficiency = config.tensor.mma_sync_efficiency;
    rate("throughput/mma/m16n8k16_bf16_f32/warps=8/chains=4", config.tensor.f16 * efficiency);
    rate("throughput/mma/m16n8k8_tf32_f32/warps=8/chains=4", config.tensor.tf32 * efficiency);
    rate("throughput/mma/m16n8k32_s8_s32/warps=8/chains=4", config.tensor.s8 * efficiency);
    rate("throughput/wgmma/bf16_f32/n=256/a=shared/warpgroups=1", config.tensor.f16);
    rate("throughput/wgmma/bf16_f32/n=128/a=registers/warpgroups=2", config.tensor.f16);
    rate("throughput/wgmma/e4m3_f32/n=64/a=shared/warpgroups=1", config.tensor.f8);
    // Chains on an H100 SXM5 (suite of arXiv 2501.12084): 24.1 and 16.0 cycles.
    CHECK(measure(*device, "latency/mma/m16n8k16_f16_f32").value == Approx(24.1).margin(0.5));
    CHECK(measure(*device, "latency/mma/m16n8k8_f16_f32").value == Approx(16.0).margin(0.5));
}

TEST_CASE("latencies of memory are those of the hardware file, and of the chip that it describes") {
    const models::gpu::GpuConfig config = sim::gpu_config(sim::load_hardware("h800-pcie"));
    const auto device = make_simulator_device("h800-pcie");
    CHECK(measure(*device, "latency/shared").value == Approx(config.shared.latency).margin(0.05));
    CHECK(measure(*device, "latency/l1").value == Approx(config.l1.latency).margin(0.1));
    // By pair of SMs.
    const double remote = measure(*device, "latency/distributed_shared/cluster=2").value;
    CHECK(remote >= config.cluster.latency);
    CHECK(remote <= config.cluster.latency + config.cluster.spread + 1);
    CHECK(measure(*device, "latency/atomic/shared_add_u32").value ==
          Approx(config.shared.atomic_latency).margin(0.1));
    // Dissection of an H800 PCIe: 264.4 cycles, and 638 to 657 from DRAM.
    CHECK(measure(*device, "latency/l2").value == Approx(264.4).epsilon(0.01));
    CHECK(measure(*device, "latency/dram").value == Approx(647.5).epsilon(0.05));
    // A ring that L1 holds, one that it does not, one that L2 does not.
    CHECK(measure(*device, "latency/ring/ca/128KiB").value == Approx(config.l1.latency).margin(0.1));
    CHECK(measure(*device, "latency/ring/ca/512KiB").value > 200);
    CHECK(measure(*device, "latency/ring/cg/131072KiB").value > 450);
}

TEST_CASE("bandwidths are those of the hardware file") {
    const models::gpu::GpuConfig config = sim::gpu_config(sim::load_hardware("h100-sxm"));
    const auto device = make_simulator_device("h100-sxm");
    const double wavefront = config.load_store.wavefront_bytes;
    CHECK(measure(*device, "bandwidth/sm/shared_load").value == Approx(wavefront).epsilon(0.01));
    CHECK(measure(*device, "bandwidth/sm/shared_store").value == Approx(wavefront).epsilon(0.01));
    CHECK(measure(*device, "bandwidth/sm/l1_load").value == Approx(wavefront).epsilon(0.12));
    CHECK(measure(*device, "bandwidth/sm/l2_load").value ==
          Approx(config.crossbar.response_bytes).epsilon(0.01));
    // Conflicts of banks: lanes 2, 8, 32 words apart share a bank by 2, 8, 32.
    for (const unsigned stride : {2u, 8u, 32u})
        CHECK(measure(*device, "bandwidth/sm/shared_stride/" + std::to_string(stride)).value ==
              Approx(wavefront / stride).epsilon(0.01));
    CHECK(measure(*device, "bandwidth/sm/shared_stride/33").value == Approx(wavefront).epsilon(0.01));
    const double from_dram = measure(*device, "bandwidth/gpu/read/1024MiB").value;
    CHECK(from_dram < config.hbm.bandwidth / 1e9);
    CHECK(from_dram > 0.8 * config.hbm.bandwidth / 1e9);
    // A buffer of less than one step of all threads, which L2 holds.
    CHECK(measure(*device, "bandwidth/gpu/read/2MiB").value > 2 * config.hbm.bandwidth / 1e9);
    CHECK(measure(*device, "clock/sm").value == Approx(config.clock / 1e6).epsilon(0.005));
}

TEST_CASE("what is written to a buffer larger than L2 goes to DRAM") {
    const models::gpu::GpuConfig config = sim::gpu_config(sim::load_hardware("h100-sxm"));
    const auto device = make_simulator_device("h100-sxm");
    const double written = measure(*device, "bandwidth/gpu/write/1024MiB").value;
    CHECK(written < 1.03 * config.hbm.bandwidth / 1e9);  // both runs leave something behind in L2
    CHECK(written > 0.7 * config.hbm.bandwidth / 1e9);
}

TEST_CASE("copies by the bulk engine reach what the levels give") {
    const models::gpu::GpuConfig config = sim::gpu_config(sim::load_hardware("h100-sxm"));
    const auto device = make_simulator_device("h100-sxm");
    // One copy under way per SM: its bytes in one latency.
    const double bytes = 1024, sms = config.sm.count;
    const double cycles = measure(*device, "latency/tma/bulk/1024").value;
    const double alone = measure(*device, "tma/bulk/l2/bytes=1024/stages=1/ctas=1").value;
    CHECK(alone == Approx(sms * bytes * config.clock / cycles / 1e9).epsilon(0.15));
    CHECK(measure(*device, "tma/tensor/l2/bytes=1024/stages=1/ctas=1").value == Approx(alone).epsilon(0.1));
    const double cold = measure(*device, "tma/bulk/dram/bytes=8192/stages=4/ctas=3").value;
    CHECK(cold < config.hbm.bandwidth / 1e9);
    CHECK(cold > 0.8 * config.hbm.bandwidth / 1e9);
}

TEST_CASE("another machine, other findings") {
    const ChangedHardware changed(
        "pipelines.fp32.latency: 7 cycles\nshared.latency: 41 cycles\nl1.latency: 55 cycles\n"
        "pipelines.special.interval: 16 cycles\ntensor.macs_per_cycle.f16: 1024\nl2.link_latency: 200 "
        "cycles\n");
    const auto device = make_simulator_device(changed.file());
    CHECK(measure(*device, "latency/ffma").value == Approx(7).margin(0.01));
    CHECK(measure(*device, "latency/shared").value == Approx(41).margin(0.05));
    CHECK(measure(*device, "latency/l1").value == Approx(55).margin(0.1));
    CHECK(measure(*device, "throughput/ex2/warps=16").value == Approx(0.25).epsilon(0.01));
    CHECK(measure(*device, "throughput/wgmma/bf16_f32/n=256/a=shared/warpgroups=1").value ==
          Approx(1024).epsilon(0.01));
    // Half of the lines have their home in the other partition, a link of 200 cycles each way and another
    // pass of a slice away: from memory, the distribution has two groups. In L2 all have come near.
    const Measurement lines = measure(*device, "lines/dram/sm_0_of_8");
    REQUIRE(lines.bytes.size() == 2 * 4096);
    std::vector<std::uint16_t> cycles(4096);
    std::memcpy(cycles.data(), lines.bytes.data(), lines.bytes.size());
    std::sort(cycles.begin(), cycles.end());
    // Quartiles: a few lines meet a refresh.
    const int near = cycles[1024], far_away = cycles[3072];
    CHECK(far_away - near == Approx(2 * 200 + 41).margin(110));  // open rows
    const auto far = std::count_if(cycles.begin(), cycles.end(), [&](int each) { return each > near + 200; });
    CHECK(far > 4096 * 0.4);
    CHECK(far < 4096 * 0.6);
}
