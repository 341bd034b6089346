// Shares of peaks that say of which, and power above the limit, as the command prints them.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/command.h"

using Json = nlohmann::ordered_json;
using heddle::tests::Folder;
using heddle::tests::Outcome;

namespace {

Outcome run_heddle(const std::string& arguments) {
    const Folder folder;
    return heddle::tests::run_heddle(folder, arguments);
}

}  // namespace

TEST_CASE("`heddle gemm` says of which peak, and flags power above the board's limit") {
    const std::string product = "gemm 2048 2048 2048 --hardware h100-sxm";
    const Outcome usual = run_heddle(product);
    REQUIRE(usual.code == 0);
    CHECK_THAT(usual.out,
               Catch::Matches("[^]*[0-9.]+ % of the [0-9.]+ of dense bf16 at [0-9]+ MHz, [0-9]+ W\n[^]*"));

    // A board that may draw less, for as short a time much more (power.allowance).
    const std::string small = product + " --set power.limit=350W --set power.allowance=1";
    const Outcome above = run_heddle(small);
    REQUIRE(above.code == 0);
    CHECK_THAT(above.out, Catch::Contains("is more than the board's limit of 350 W (power.limit)"));
    CHECK_THAT(above.out, Catch::Contains("--set power.allowance=0"));
    const Json told = Json::parse(run_heddle(small + " --json").out);
    CHECK(told["above_power_limit"] == true);
    CHECK(told["power_limit"] == 350);
    CHECK(told["power"].get<double>() > 361);

    // What the note names does what it says.
    const Outcome kept = run_heddle(product + " --set power.limit=350W --set power.allowance=0");
    CHECK_THAT(kept.out, !Catch::Contains("board's limit"));
    const Json within =
        Json::parse(run_heddle(product + " --set power.limit=350W --set power.allowance=0 --json").out);
    CHECK(within["above_power_limit"] == false);
    CHECK(within["clock"].get<double>() < told["clock"].get<double>());
}

TEST_CASE("`heddle gemm` on a TPU tells a published peak from the one that products sustain") {
    const Outcome v6e = run_heddle("gemm 1024 1024 1024 --hardware tpu-v6e");
    CHECK_THAT(v6e.out,
               Catch::Contains("% of the 786.4 of these formats at the 1500 MHz that products sustain"));
    CHECK_THAT(v6e.out, Catch::Contains("% of the published 917.5 at 1750 MHz"));
    const Outcome v5e = run_heddle("gemm 1024 1024 1024 --hardware tpu-v5e");
    CHECK_THAT(v5e.out, Catch::Contains("% of the 196.6 of these formats at 1500 MHz; launch"));
    const Json json = Json::parse(run_heddle("gemm 1024 1024 1024 --hardware tpu-v6e --json").out);
    CHECK(json["published_peak"].get<double>() / json["peak"].get<double>() == Approx(1.75 / 1.5));
}

TEST_CASE("steps of many devices, and plans, say of which peak their share is") {
    const Outcome step = run_heddle(
        "simulate gpt2-small --cluster dgx-a100 --option layers=2 --micro-batch 1 --sequence 256 --data 2 "
        "--no-out");
    REQUIRE(step.code == 0);
    CHECK_THAT(step.out, Catch::Contains("% of 311.9 TFLOP/s, dense bf16 at 1410 MHz"));
    const Outcome plans = run_heddle("parallelism gpt2-small --cluster dgx-a100 --batch 8 --option layers=2");
    REQUIRE(plans.code == 0);
    CHECK_THAT(plans.out,
               Catch::Contains("of peak: of 311.9 TFLOP/s, dense bf16 at 1410 MHz, for each device"));
}

TEST_CASE("the device of a cluster is changed by --set, too") {
    const std::string step =
        "simulate gpt2-small --cluster dgx-a100 --option layers=2 --micro-batch 1 --sequence 256 --data 2 "
        "--json";
    const Json usual = Json::parse(run_heddle(step).out);
    const Json slower = Json::parse(run_heddle(step + " --set clock=705MHz").out);
    CHECK(slower["peak_flops"].get<double>() == Approx(usual["peak_flops"].get<double>() / 2));
    CHECK(slower["flops_per_device"].get<double>() < usual["flops_per_device"].get<double>());
}

TEST_CASE("a kernel that draws more than the board may is flagged, with the clock that would do") {
    const std::string kernel =
        "kernel " HEDDLE_SOURCE_DIR "/examples/kernels/hopper_gemm/launch.yaml --hardware h100-sxm";
    const Outcome usual = run_heddle(kernel);
    REQUIRE(usual.code == 0);
    CHECK_THAT(usual.out, !Catch::Contains("board's limit"));
    CHECK_THAT(usual.out, Catch::Contains("rates at 1980 MHz:"));
    const Outcome above = run_heddle(kernel + " --set power.limit=90W");
    CHECK_THAT(above.out, Catch::Contains("is more than the board's limit of 90 W (power.limit)"));
    CHECK_THAT(above.out, Catch::Contains("MHz simulates that"));
    const Json json = Json::parse(run_heddle(kernel + " --set power.limit=90W --json").out);
    CHECK(json["launches"][0]["above_power_limit"] == true);
    CHECK(json["launches"][0]["power_limit_watts"] == 90);
}

TEST_CASE("`heddle hardware area` explains what is built and switched off") {
    const Outcome h100 = run_heddle("hardware area h100-sxm");
    REQUIRE(h100.code == 0);
    // NVIDIA's H100 whitepaper: 144 SMs, 60 MB of L2 and six stacks on the die; 132, 50 and 5 enabled.
    CHECK_THAT(h100.out, Catch::Contains("spare: 12 of 144 SMs, 10 of 60 MiB of L2, 1 of 6 stacks of HBM"));
    CHECK_THAT(h100.out, Catch::Contains("die.sms_enabled, die.l2_enabled"));
    const Json json = Json::parse(run_heddle("hardware area h100-sxm --json").out);
    CHECK(json["spare"].size() == 3);
    double spare = 0;
    for (const Json& part : json["parts"]) spare += part["spare_mm2"].get<double>();
    CHECK(spare == Approx(json["spare_mm2"].get<double>()));
    CHECK_THAT(run_heddle("hardware area rtx-a6000").out, !Catch::Contains("spare:"));
}
