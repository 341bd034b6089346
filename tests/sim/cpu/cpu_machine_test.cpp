// CPUs under the commands.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "isa/common/error.h"
#include "sim/config/this_host.h"
#include "sim/cpu/cpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "support/command.h"

using namespace heddle;
using namespace heddle::tests;
using Json = nlohmann::json;
using Approx = Catch::Detail::Approx;

namespace {

Json cpu_summary(const Folder& folder, const std::string& arguments) {
    const Outcome outcome = run_heddle(folder, "simulate " + arguments + " --no-out --no-cache --json");
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return Json::parse(outcome.out);
}

}  // namespace

TEST_CASE("peaks of the presets follow from their counts") {
    const auto config = [](const std::string& name, const std::vector<std::string>& overrides = {}) {
        const sim::Hardware hardware = sim::load_hardware(name, overrides);
        REQUIRE(sim::cpu_machine(hardware) != nullptr);
        return sim::cpu_machine(hardware)->config;
    };
    // 56 cores, two 512-bit multiply-adds, 2.6 GHz; tiles: 2 * 16 * 16 * 32 operations in 16 cycles at 2.3 GHz.
    CHECK(config("xeon-8480plus").peak_f32() == Approx(56 * 2 * 2 * 16 * 2.6e9));
    CHECK(config("xeon-8480plus").peak_bf16() == Approx(56 * 1024.0 * 2.3e9));
    CHECK(config("epyc-9654").peak_f32() == Approx(96 * 2 * 16 * 3.3e9));
    CHECK(config("epyc-7763").peak_bf16() == Approx(64 * 2 * 2 * 8 * 3.1e9));
    CHECK(config("grace").peak_f32() == Approx(72 * 2 * 4 * 4 * 3.1e9));
    CHECK(config("epyc-9654", {"cores=48"}).peak_f32() == Approx(48 * 2 * 16 * 3.3e9));
    CHECK_THROWS_AS(config("epyc-9654", {"vector.bits=384"}), Error);
    CHECK_THROWS_AS(config("epyc-9654", {"matrix.interval=16 cycles", "vector.bits=256"}), Error);
    CHECK_THROWS_AS(config("epyc-9654", {"threads=500"}), Error);
}

TEST_CASE("a step on a CPU: more bandwidth and more cores are no slower, and one thread is slower") {
    const Folder folder;
    const Json usual = cpu_summary(folder, "mlp --batch 512 --widths 512,1024,1024,10 --hardware epyc-7763");
    const Json one = cpu_summary(folder, "mlp --batch 512 --widths 512,1024,1024,10 --hardware epyc-7763 --set threads=1");
    const Json half = cpu_summary(folder, "mlp --batch 512 --widths 512,1024,1024,10 --hardware epyc-7763 --set core.arithmetic_ports=1");
    const double time = usual.at("device_busy_us").get<double>();
    CHECK(one.at("device_busy_us").get<double>() > 10 * time);
    CHECK(half.at("device_busy_us").get<double>() > time);
    CHECK(usual.at("coverage").at("cycle").get<double>() == Approx(1));
    // No core does more than its peak: 64 cores of 2 x 8 lanes at 3.1 GHz, alone at 3.5.
    double flops = 0;
    for (const Json& op : one.at("ops")) flops += op.at("flops").get<double>();
    CHECK(flops / (one.at("device_busy_us").get<double>() * 1e-6) < 2 * 2 * 8 * 3.5e9);
    CHECK(flops / (one.at("device_busy_us").get<double>() * 1e-6) > 0.3 * 2 * 2 * 8 * 3.5e9);
}

TEST_CASE("training on a CPU computes what the reference does") {
    const Folder folder;
    for (const char* device : {"xeon-8480plus", "epyc-7763", "grace"}) {
        const Outcome outcome = run_heddle(folder, std::string("simulate mlp --batch 32 --widths 40,64,10 --numerics --steps 3 --no-out --hardware ") + device);
        INFO(outcome.out << outcome.err);
        CHECK(outcome.code == 0);
        CHECK(outcome.out.find("each step beside the reference") != std::string::npos);
    }
}

TEST_CASE("what a CPU does not have is refused") {
    const Folder folder;
    const auto refused = [&](const std::string& arguments, const std::string& why) {
        const Outcome outcome = run_heddle(folder, arguments);
        INFO(outcome.err);
        CHECK(outcome.code == 2);
        CHECK(outcome.err.find(why) != std::string::npos);
    };
    refused("simulate mlp --hardware grace --sample", "only GPUs are sampled");
    refused("simulate mlp --hardware grace --graph", "only GPUs have CUDA graphs");
    refused("hardware area grace", "the area of a CPU is not modelled");
    refused("explore mlp --hardware grace --vary cores=36,72 --minimise area --out found", "the area of a CPU is not modelled");
    refused("explore mlp --hardware grace --vary cores=36,72 --minimise energy --out found", "energy");
    const Outcome explored = run_heddle(folder, "explore mlp --hardware grace --vary cores=36,72 --minimise time --out found");
    INFO(explored.err);
    CHECK(explored.code == 0);
    CHECK(explored.out.find("cores") != std::string::npos);
}

TEST_CASE("this-host is what the machine says, and what was measured of it") {
    const Folder folder;
    const std::string file = folder.write("host.txt", "# measured\nclock.single: 4321 MHz\nclock.all: 4000 MHz\n").string();
    REQUIRE(setenv("HEDDLE_THIS_HOST", file.c_str(), 1) == 0);
    CHECK(sim::this_host_file() == file);
    const sim::Hardware hardware = sim::load_hardware("this-host");
    const models::CpuConfig& config = sim::cpu_machine(hardware)->config;
    CHECK(config.clock_single == Approx(4.321e9));
    CHECK(config.cores >= 1);
    CHECK(config.memory_bytes > (std::uint64_t{256} << 20));
    CHECK(hardware.origins.at("clock.single").source.find("measured") != std::string::npos);
    unsetenv("HEDDLE_THIS_HOST");
}

TEST_CASE("devices side by side") {
    const Folder folder;
    const Outcome outcome = run_heddle(folder, "devices mlp --hardware grace,tpu-v5e --option batch=64 --json");
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const Json rows = Json::parse(outcome.out);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].at("kind") == "CPU");
    CHECK(rows[1].at("kind") == "TPU");
    CHECK(rows[0].at("usd") == 0);
    CHECK(rows[1].at("usd").get<double>() == Approx(1.2 / 3600 * rows[1].at("step_time_s").get<double>()));
    const Json alone = cpu_summary(folder, "mlp --option batch=64 --hardware grace");
    CHECK(rows[0].at("step_time_s").get<double>() == Approx(alone.at("step_time_us").get<double>() * 1e-6));
}
