// What commands tell about where time goes and in what steps differ: lines of PTX, counters over time,
// differences.
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support/command.h"

using Json = nlohmann::json;
using heddle::tests::Folder;
using heddle::tests::Outcome;
using heddle::tests::run_heddle;
using heddle::tests::text_of;

namespace {

const std::string kSaxpy = HEDDLE_SOURCE_DIR "/examples/kernels/saxpy/";

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

}  // namespace

TEST_CASE(
    "kernel --lines: each line of PTX that runs stands there once, and their shares are all of the time") {
    const Folder folder;
    const Outcome outcome =
        run_heddle(folder, "kernel " + kSaxpy + "launch.yaml --hardware h100-sxm --lines");
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const std::vector<std::string> source = lines_of(text_of(kSaxpy + "saxpy.ptx"));
    double shares = 0;
    std::set<std::size_t> seen;
    bool table = false;
    for (const std::string& line : lines_of(outcome.out)) {
        if (line.rfind("PTX line", 0) == 0) {
            table = true;
            continue;
        }
        if (table && line.empty()) break;
        if (!table) continue;
        std::istringstream words(line);
        std::size_t number = 0;
        double share = 0;
        words >> number >> share;
        INFO(line);
        REQUIRE(number >= 1);
        REQUIRE(number <= source.size());
        CHECK(seen.insert(number).second);
        // The opcode that is told is the one that stands in that line of the file.
        std::istringstream instruction(source[number - 1]);
        std::string opcode;
        instruction >> opcode;
        if (opcode.rfind("@", 0) == 0) instruction >> opcode;
        if (!opcode.empty() && opcode.back() == ';') opcode.pop_back();
        CHECK(line.find(opcode) != std::string::npos);
        shares += share;
    }
    CHECK(seen.size() > 10);
    CHECK(shares == Approx(100).margin(1));
}

TEST_CASE("kernel --series: counters of a copy over time add up to its bytes") {
    const Folder folder;
    const Outcome plain =
        run_heddle(folder, "kernel " + kSaxpy + "launch.yaml --hardware h100-sxm --timeline plain.json");
    const Outcome series = run_heddle(
        folder, "kernel " + kSaxpy + "launch.yaml --hardware h100-sxm --timeline series.json --series 256");
    INFO(plain.err + series.err);
    REQUIRE(plain.code == 0);
    REQUIRE(series.code == 0);
    const auto counters = [&](const char* file) {
        std::map<std::string, std::size_t> count;
        const Json timeline = Json::parse(text_of(folder.path() / file));
        for (const Json& event : timeline.at("traceEvents"))
            if (event.at("ph") == "C") ++count[event.at("name")];
        return count;
    };
    const auto without = counters("plain.json"), with = counters("series.json");
    CHECK(without.count("instructions per cycle and SM") == 0);
    REQUIRE(with.count("instructions per cycle and SM") == 1);
    // A launch of thousands of cycles has many intervals of 256.
    CHECK(with.at("DRAM traffic") > 4);
    const Outcome alone =
        run_heddle(folder, "kernel " + kSaxpy + "launch.yaml --hardware h100-sxm --series-of sm");
    CHECK(alone.code == 2);
}

TEST_CASE("trace diff: what is there twice as often is told, with the first op that differs") {
    const Folder folder;
    for (const char* batch : {"64", "128"}) {
        const Outcome written =
            run_heddle(folder, "trace export mlp " + std::string(batch) + ".json --option batch=" + batch);
        INFO(written.err);
        REQUIRE(written.code == 0);
    }
    const Outcome same = run_heddle(folder, "trace diff 64.json 64.json");
    CHECK(same.code == 0);
    CHECK(same.out.find("the same ops on the same operands") != std::string::npos);
    const Outcome text = run_heddle(folder, "trace diff 64.json 128.json");
    CHECK(text.code == 0);
    CHECK(text.out.find("the first op that differs is number 0") != std::string::npos);
    CHECK(text.out.find("matmul 128x512x784 f32 nt") != std::string::npos);
    const Json json = Json::parse(run_heddle(folder, "trace diff 64.json 128.json --json").out);
    CHECK(json.at("equal") == false);
    for (const Json& kind : json.at("kinds")) {
        CHECK(kind.at("first").at("count") == kind.at("second").at("count"));
        if (kind.at("name") != "matmul") continue;
        // Three products of each of the layers 784-512-256-10 but one: no gradient of the data itself.
        const double rows = 64, inner = 784.0 * 512 + 512.0 * 256 + 256.0 * 10;
        CHECK(kind.at("first").at("flops").get<double>() ==
              Approx(2 * rows * (3 * inner - 784.0 * 512)).epsilon(1e-12));
        CHECK(kind.at("second").at("flops").get<double>() == 2 * kind.at("first").at("flops").get<double>());
    }
    CHECK(run_heddle(folder, "trace diff 64.json nosuch.json").code == 2);
}
