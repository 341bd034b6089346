// A third kind of machine (roofline_machine.cpp) under the commands as they are: what they ask of a machine is in its interface.
#include "sim/machine/machine.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "roofline_machine.h"
#include "support/command.h"

using heddle::tests::Folder;
using heddle::tests::Outcome;
using heddle::tests::run_heddle;
using Json = nlohmann::ordered_json;

namespace {

const std::string kDevice = HEDDLE_SOURCE_DIR "/tests/sim/machine/roofline.yaml";

Json summary_of(const Folder& folder, const std::string& arguments) {
    const Outcome outcome = run_heddle(folder, "simulate " + arguments + " --json");
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    return Json::parse(outcome.out);
}

}  // namespace

TEST_CASE("a step runs on a machine of a third kind, and its parameters are those of the machine") {
    const Folder folder;
    // A microsecond before each op, and of what waits for memory alone half the time at twice the bandwidth: nothing of a GPU's launches
    // or of a TPU's fusion.
    const std::string fast = "mlp --hardware " + kDevice + " --set compute.rate=1e17";
    const Json usual = summary_of(folder, fast + " --out usual");
    const Json twice = summary_of(folder, fast + " --set memory.bandwidth=2TB/s --out twice");
    CHECK(usual.at("hardware").get<std::string>() == "roofline");
    double ops = 0;
    for (const Json& op : usual.at("ops")) ops += op.at("count").get<double>();
    CHECK(ops > 5);
    CHECK(usual.at("launch_gap_us").get<double>() == Approx(ops));
    CHECK(twice.at("device_busy_us").get<double>() == Approx(usual.at("device_busy_us").get<double>() / 2));
    const Outcome difference = run_heddle(folder, "compare usual twice");
    INFO(difference.out << difference.err);
    CHECK(difference.code == 0);
    CHECK(difference.out.find("memory.bandwidth") != std::string::npos);
}

TEST_CASE("an exploration varies a machine of a third kind") {
    const Folder folder;
    const Outcome outcome =
        run_heddle(folder, "explore mlp --hardware " + kDevice +
                               " --vary memory.bandwidth=1TB/s,2TB/s,4TB/s --minimise time,area --out found");
    INFO(outcome.out << outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK(outcome.out.find("memory.bandwidth") != std::string::npos);
    // Power is modelled of GPUs alone.
    const Outcome energy = run_heddle(folder, "explore mlp --hardware " + kDevice +
                                                  " --vary memory.bandwidth=1TB/s,2TB/s --minimise energy --out energy");
    CHECK(energy.code == 2);
    CHECK(energy.err.find("energy") != std::string::npos);
}

TEST_CASE("what a machine of a third kind cannot do is refused in its own words") {
    const Folder folder;
    const Outcome numerics = run_heddle(folder, "simulate mlp --hardware " + kDevice + " --numerics");
    CHECK(numerics.code == 2);
    CHECK(numerics.err.find("a roofline computes no values") != std::string::npos);
    const Outcome impossible =
        run_heddle(folder, "simulate mlp --hardware " + kDevice + " --set compute.rate=1e18");
    CHECK(impossible.code == 2);
    CHECK(impossible.err.find("impossible machine: compute.rate is more than") != std::string::npos);
    const Outcome unknown = run_heddle(folder, "hardware describe " + folder.write("x.yaml", "kind: abacus\n").string());
    CHECK(unknown.code == 2);
    CHECK(unknown.err.find("write `cpu` or `gpu` or `roofline` or `tpu`") != std::string::npos);
    const Outcome large = run_heddle(folder, "simulate gpt2-small --hardware " + kDevice + " --set memory.size=2MB");
    CHECK(large.code == 4);
}
