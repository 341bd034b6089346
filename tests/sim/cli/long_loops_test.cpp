// Programs of XLA with loops that are too long to be written out, as a user simulates them.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/command.h"

using Json = nlohmann::ordered_json;
using heddle::tests::Folder;
using heddle::tests::Outcome;
using heddle::tests::run_heddle;
using heddle::tests::text_of;

namespace {

/// for (i = FIRST; i < turns; ++i) x = x x + 1, all elements.
void write_loop(const Folder& folder, const std::string& turns, const std::string& first = "constant(0)") {
    const std::string state = "(s64[], f32[256,256])",
                      head =
                          " {\n  s = " + state + " parameter(0)\n  i = s64[] get-tuple-element(s), index=0\n";
    std::ofstream(folder.path() / "loop.hlo")
        << "HloModule loop\nbody" << head
        << "  x = f32[256,256] get-tuple-element(s), index=1\n  one = s64[] constant(1)\n"
           "  j = s64[] add(i, one)\n  c = f32[] constant(1)\n"
           "  cs = f32[256,256] broadcast(c), dimensions={}\n  y = f32[256,256] multiply(x, x)\n"
           "  z = f32[256,256] add(y, cs)\n  ROOT r = "
        << state << " tuple(j, z)\n}\ncond" << head << "  n = s64[] constant(" << turns
        << ")\n  ROOT p = pred[] compare(i, n), direction=LT\n}\nENTRY e {\n"
           "  x = f32[256,256] parameter(0)\n  z = s64[] "
        << first << "\n  t = " << state << " tuple(z, x)\n  w = " << state
        << " while(t), condition=cond, body=body\n"
           "  ROOT r = f32[256,256] get-tuple-element(w), index=1\n}\n";
}

Json simulated(const Folder& folder, const std::string& hardware) {
    const Outcome outcome =
        run_heddle(folder, "simulate loop.hlo --no-out --no-cache --json --hardware " + hardware);
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    return Json::parse(outcome.out);
}

double time_of(const Json& json) {
    return json["step_time_us"].get<double>();
}

std::uint64_t launches_of(const Json& json) {
    std::uint64_t count = 0;
    for (const Json& op : json["ops"]) count += op["count"].get<std::uint64_t>();
    return count;
}

}  // namespace

TEST_CASE("a long loop takes as long as its turns, on a GPU and on a TPU") {
    for (const char* hardware : {"a100-sxm", "tpu-v4"}) {
        INFO(hardware);
        const Folder folder;
        // Two loops that are written out tell what a turn takes.
        write_loop(folder, "100");
        const Json short_one = simulated(folder, hardware);
        write_loop(folder, "300");
        const Json longer = simulated(folder, hardware);
        const double turn = (time_of(longer) - time_of(short_one)) / 200;
        CHECK(turn > 0.1);
        CHECK(launches_of(longer) == 300);
        for (const double turns : {65'536.0, 65'537.0, 2e9}) {
            write_loop(folder, std::to_string(static_cast<std::int64_t>(turns)));
            const Json json = simulated(folder, hardware);
            CHECK(time_of(json) == Catch::Detail::Approx(turns * turn).epsilon(0.01));
            CHECK(launches_of(json) == static_cast<std::uint64_t>(turns));
            CHECK(json["coverage"]["cycle"] == 1.0);
            CHECK_FALSE(json.contains("incomplete"));
            // Energy and work grow with the turns, power does not.
            if (json.contains("energy")) {
                double joules = 0, joules_of_longer = 0;
                for (const auto& [part, amount] : json["energy"]["joules"].items())
                    joules += amount.get<double>();
                for (const auto& [part, amount] : longer["energy"]["joules"].items())
                    joules_of_longer += amount.get<double>();
                CHECK(joules / turns == Catch::Detail::Approx(joules_of_longer / 300).epsilon(0.02));
            }
        }
    }
}

TEST_CASE("the headline tells what nobody can count, and no line claims all of the time") {
    const Folder folder;
    write_loop(folder, "9223372036854775807");
    Outcome outcome = run_heddle(folder, "simulate loop.hlo --hardware a100-sxm --out run");
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    const std::string head = outcome.out.substr(0, outcome.out.find("op kind"));
    CHECK_THAT(head, Catch::Contains("incomplete: 1 op is not understood"));
    CHECK_THAT(head, Catch::Contains("its turns from") && Catch::Contains("are missing"));
    CHECK_THAT(head, Catch::Contains("step time more than"));
    CHECK_THAT(outcome.out, Catch::Contains("coverage of the time that is known:"));
    CHECK_THAT(outcome.out, !Catch::Contains("coverage of the time:"));
    const Json summary = Json::parse(text_of(folder.path() / "run" / "summary.json"));
    REQUIRE(summary["incomplete"]["ops"].size() == 1);
    CHECK(summary["incomplete"]["ops"][0]["count"] == 1);
    CHECK_THAT(text_of(folder.path() / "run" / "report.html"), Catch::Contains("incomplete: 1 op"));

    // Data decides how often it loops.
    write_loop(folder, "10", "parameter(1)");
    outcome = run_heddle(folder, "simulate loop.hlo --hardware tpu-v4 --no-out");
    REQUIRE(outcome.code == 0);
    CHECK_THAT(outcome.out, Catch::Contains("incomplete: 1 op is not understood") &&
                                Catch::Contains("depends on data") &&
                                Catch::Contains("coverage of the time that is known: 0.0 % cycle"));
}

TEST_CASE("values of a loop that is held need every turn") {
    const Folder folder;
    write_loop(folder, "100000");
    const Outcome outcome = run_heddle(folder, "simulate loop.hlo --hardware tpu-v4 --no-out --numerics");
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, Catch::Contains("--numerics") && Catch::Contains("every turn"));
    // What a trace counts: each turn does two operations on 65,536 elements.
    const Outcome shown = run_heddle(folder, "trace inspect loop.hlo --json");
    CAPTURE(shown.err);
    REQUIRE(shown.code == 0);
    CHECK_THAT(shown.out, Catch::Contains("100000"));
}
