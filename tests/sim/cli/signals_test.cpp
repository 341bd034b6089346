// --trace-signals of the commands: files that GTKWave shows, against what the same commands count.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/command.h"
#include "support/vcd_reader.h"

using namespace heddle::tests;
using Json = nlohmann::json;

namespace {

const std::string kSgemm =
    "kernel " HEDDLE_SOURCE_DIR "/examples/kernels/sgemm/launch.yaml --hardware h100-sxm";
/// No folder of results, which would be the same every time.
const std::string kStep =
    "simulate " HEDDLE_SOURCE_DIR "/examples/two-layers.json --hardware h100-sxm --no-out";

}  // namespace

TEST_CASE("a kernel's signals are written beside the same result") {
    const Folder folder;
    const Json plain = Json::parse(run_heddle(folder, kSgemm + " --json").out);
    const Outcome traced = run_heddle(folder, kSgemm + " --json --trace-signals all.vcd");
    Json with = Json::parse(traced.out);
    CHECK(with["outputs"] == Json::array({"all.vcd"}));
    with["outputs"] = plain["outputs"];
    with["simulation"] = plain["simulation"];  // what this machine took
    CHECK(with == plain);
    const Vcd vcd = read_vcd(folder.read("all.vcd"));
    CHECK(vcd.problems.empty());
    CHECK(vcd.signals.size() > 4000);
    double issued = 0;
    for (const auto& [name, signal] : vcd.signals)
        if (name.ends_with(".state")) issued += time_at(signal, 0, vcd.end);
    CHECK(issued > 0);
    // The file lasts as long as the kernel, its launch included.
    const double microseconds = plain["launches"][0]["time_us"].get<double>();
    CHECK(static_cast<double>(vcd.end) == Approx(microseconds * 1e6).epsilon(0.001));

    const Outcome one = run_heddle(folder, kSgemm + " --trace-signals /dev/stdout --signals 'gpu.*.sm0.*'");
    CHECK_THAT(one.out, Catch::Contains("$var wire 4") && Catch::Contains("26 signals"));
}

TEST_CASE("signals of kernels of a step are simulated, whatever the cache knows") {
    const Folder folder;
    const Json before = Json::parse(run_heddle(folder, kStep + " --json").out);
    const Outcome one_of_many = run_heddle(folder, kStep + " --trace-signals step.vcd");
    CHECK(one_of_many.code == 2);
    CHECK_THAT(one_of_many.err, Catch::Contains("name one with --trace-kernel"));
    const Outcome traced = run_heddle(folder, kStep +
                                                  " --trace-signals step.vcd --signals gpu.gpc0.sm0 "
                                                  "--trace-kernel 'gemm*' --set power.governor=0");
    CAPTURE(traced.err);
    CHECK(traced.code == 0);
    CHECK_THAT(traced.out, Catch::Contains("signals of kernel gemm"));
    const bool several = std::filesystem::exists(folder.path() / "step-1.vcd");
    CHECK(several != std::filesystem::exists(folder.path() / "step.vcd"));
    const Vcd vcd = read_vcd(folder.read(several ? "step-1.vcd" : "step.vcd"));
    CHECK(vcd.problems.empty());
    CHECK(vcd.signals.size() == 26);
    Json after = Json::parse(
        run_heddle(folder,
                   kStep + " --json --trace-signals step.vcd --signals gpu.gpc0.sm0 --trace-kernel 'gemm*'")
            .out);
    Json same = before;
    for (Json* const json : {&after, &same}) json->erase("simulation");
    CHECK(after == same);
}

TEST_CASE("signals of a TPU's program and of a product are written") {
    const Folder folder;
    CHECK_THAT(run_heddle(folder, "simulate " HEDDLE_SOURCE_DIR
                                  "/examples/tpu/two-tiles.tpu --hardware tpu-v5e --trace-signals tiles.vcd")
                   .out,
               Catch::Contains("written: tiles.vcd, "));
    const Vcd tiles = read_vcd(folder.read("tiles.vcd"));
    CHECK(tiles.problems.empty());
    CHECK(integral(tiles.signals.at("tpu.hbm.read_bytes"), tiles.end) > 0);
    for (const std::string hardware : {"tpu-v5e", "h100-sxm --full"}) {
        CHECK(run_heddle(folder, "gemm 256 256 256 --hardware " + hardware + " --trace-signals product.vcd")
                  .code == 0);
        CHECK(read_vcd(folder.read("product.vcd")).problems.empty());
    }
}

TEST_CASE("what cannot be traced is told") {
    const Folder folder;
    const auto refused = [&](const std::string& command, const std::string& why) {
        const Outcome outcome = run_heddle(folder, command);
        CAPTURE(command, outcome.err);
        CHECK(outcome.code == 2);
        CHECK_THAT(outcome.err, Catch::Contains(why));
        CHECK(!std::filesystem::exists(folder.path() / "x.vcd"));
    };
    refused(kSgemm + " --trace-signals x.vcd --signals 'gpu.gpc0.sm0.sub_core0.stat'",
            "no signal matches `gpu.gpc0.sm0.sub_core0.stat`; of 4872 the nearest are "
            "gpu.gpc0.sm0.sub_core0.state");
    refused(kSgemm + " --trace-signals x.vcd --signals-size 64KiB", "more than 65536 bytes");
    refused(kSgemm + " --trace-signals x.fst", "vcd2fst");
    refused(kSgemm + " --trace-signals x.vcd --sample", "every simulated cycle");
    refused(kStep + " --trace-signals x.vcd --trace-kernel nobody", "no kernel and no op is named `nobody`");
    refused("gemm 256 256 256 --hardware h100-sxm --trace-signals x.vcd", "add --full");
}
