// Recordings at the command line: what the doctor says, what a result rests on, times of another device.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "support/command.h"

using Json = nlohmann::json;
using heddle::tests::Folder;
using heddle::tests::Outcome;
using heddle::tests::run_heddle;

namespace {

const std::string kAdd =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, "
    "3> >(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)";

/// A profile of an A100 without shapes: a pointwise kernel of 10 us, and a stranger.
void write_profile(const Folder& folder, const std::string& stranger_us) {
    const auto call = [](int number, int at) {
        return R"({"ph": "X", "cat": "cpu_op", "name": "aten::op)" + std::to_string(number) +
               R"(", "pid": 1, "tid": 1, "ts": )" + std::to_string(at) + R"(, "dur": 50, "args": {"External id": )" +
               std::to_string(number) + "}},";
    };
    const auto kernel = [](int number, int at, const std::string& name, const std::string& length) {
        return R"({"ph": "X", "cat": "kernel", "name": ")" + name + R"(", "pid": 0, "tid": 7, "ts": )" +
               std::to_string(at) + R"(, "dur": )" + length + R"(, "args": {"External id": )" +
               std::to_string(number) +
               R"(, "stream": 7, "grid": [2048, 1, 1], "block": [128, 1, 1], "correlation": 9)" +
               std::to_string(number) + "}}";
    };
    folder.write("profile.json",
                 R"({"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85097971712}],
                 "traceEvents": [)" +
                     call(1, 100) + call(2, 200) + kernel(1, 120, kAdd, "10") + "," +
                     kernel(2, 1000, "my_own_kernel(int)", stranger_us) + "]}");
}

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

}  // namespace

TEST_CASE("trace doctor: what there is, what is missing, and which option would have recorded it") {
    const Folder folder;
    write_profile(folder, "90");
    const Outcome text = run_heddle(folder, "trace doctor profile.json");
    INFO(text.err);
    REQUIRE(text.code == 0);
    CHECK_THAT(first_line(text.out), Catch::StartsWith("only 10.0 % of the recorded time can be simulated"));
    CHECK_THAT(text.out, Catch::Contains("--hardware a100-sxm") && Catch::Contains("shapes of operands") &&
                             Catch::Contains("record_shapes=True") && Catch::Contains("my_own_kernel"));
    const Json json = Json::parse(run_heddle(folder, "trace doctor profile.json --json").out);
    CHECK(json.at("kernels") == 2);
    CHECK(json.at("calls_with_shapes") == 0);
    CHECK(json.at("coverage").at("inferred_us") == 10.0);
    CHECK(json.at("coverage").at("unknown_us") == 90.0);
    // 2048 x 128 x 4 floats, two read and one written, at 2.039 TB/s: 6.2 us; too short to be checked.
    CHECK(json.at("inferred_sizes").at("ops") == 0);
    REQUIRE(json.at("unknown").size() == 1);
    CHECK(json.at("unknown").at(0).at("measured_us") == 90.0);
    // Where most is known there is no warning.
    write_profile(folder, "1");
    CHECK_THAT(first_line(run_heddle(folder, "trace doctor profile.json").out), Catch::StartsWith("recording: "));
    CHECK(run_heddle(folder, "trace doctor nosuch.json").code == 2);
}

TEST_CASE("a comparison says on which share it rests, and a result that is mostly recorded says so first") {
    const Folder folder;
    write_profile(folder, "90");
    const Outcome own = run_heddle(folder, "simulate profile.json --no-out");
    INFO(own.err);
    REQUIRE(own.code == 0);
    CHECK_THAT(first_line(own.out), Catch::StartsWith("only 10.0 % of the time was simulated"));
    CHECK_THAT(own.out,
               Catch::Contains("measured kernels without communication 100 us, of which 10.0 % were simulated"));
}

TEST_CASE("times of another device stand in for none of this one's") {
    const Folder folder;
    write_profile(folder, "90");
    const Json own = Json::parse(run_heddle(folder, "simulate profile.json --no-out --json").out);
    const Json other =
        Json::parse(run_heddle(folder, "simulate profile.json --no-out --json --hardware v100-sxm").out);
    const auto time_of_stranger = [](const Json& summary) {
        for (const Json& op : summary.at("ops"))
            if (op.at("kind") == "unknown") return op.at("time_us").get<double>();
        return -1.0;
    };
    CHECK(time_of_stranger(own) == Approx(90));
    // What an A100 moves in 90 us at 2.039 TB/s takes a V100 at 900 GB/s 204 us, and a launch.
    CHECK(time_of_stranger(other) == Approx(90 * 2039.0 / 900).margin(3));
    CHECK_THAT(run_heddle(folder, "simulate profile.json --no-out --hardware v100-sxm").out,
               Catch::Contains("note: recorded on NVIDIA A100-SXM4-80GB"));
}
