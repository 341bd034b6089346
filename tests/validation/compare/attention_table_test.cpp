#include "validation/compare/attention_table.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "isa/common/error.h"
#include "sim/hardware/load_hardware.h"

using namespace heddle::validation;

namespace {

std::filesystem::path table_with(const std::string& text) {
    const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                       ("heddle_attention_table_" + std::to_string(::getpid()) + ".csv");
    std::ofstream(path) << text;
    return path;
}

const std::string heading = "batch,sequence,heads,kv_heads,head_dim,latency_us\n";

AttentionRow row(std::uint32_t head_dim, double recorded, double simulated) {
    AttentionRow result;
    result.head_dim = head_dim;
    result.recorded = recorded;
    result.roofline = 2 * recorded;
    result.simulated = AttentionAnswer{0, 1e-6 * simulated, 0, 1e9, 1};
    return result;
}

}  // namespace

TEST_CASE("A table of attention times is read by the names of its columns") {
    const auto rows = read_attention_table(
        table_with("latency_us,batch,sequence,heads,kv_heads,head_dim\n16.5,2,128,32,8,64\n9,1,1,4,4,128\n"));
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].recorded == 16.5);
    CHECK(rows[0].batch == 2);
    CHECK(rows[0].sequence == 128);
    CHECK(rows[0].heads == 32);
    CHECK(rows[0].kv_heads == 8);
    CHECK(rows[1].head_dim == 128);
    CHECK_THROWS_WITH(read_attention_table(table_with("batch,heads\n1,2\n")), Catch::Contains("`sequence`"));
    CHECK_THROWS_WITH(read_attention_table(table_with(heading + "1,2,3,x,64,5\n")),
                      Catch::Contains(":2:") && Catch::Contains("`x`"));
    CHECK_THROWS_WITH(read_attention_table(table_with(heading + "1,2,3,3,64\n")),
                      Catch::Contains(":2: latency_us"));
    CHECK_THROWS_WITH(read_attention_table(table_with(heading + "1,2,6,4,64,5\n")),
                      Catch::Contains("no multiple"));
    for (const char* large : {"4294967295,4294967295,16,16,64,5\n", "64,1048576,32,32,128,5\n"})
        CHECK_THROWS_WITH(read_attention_table(table_with(heading + large)),
                          Catch::Contains(":2") && Catch::Contains("memory"));
    CHECK_THROWS_AS(read_attention_table("no-such-file.csv"), heddle::Error);
}

TEST_CASE("Errors of attention rows are those of the definition, by series") {
    const std::vector<AttentionRow> rows{row(64, 10, 11), row(64, 50, 40), row(128, 100, 100),
                                         row(128, 15, 12)};
    const auto series = errors_of(rows);
    std::set<std::string> names;
    for (const AttentionErrors& errors : series) names.insert(errors.name);
    CHECK(names.count("heads of 64, below 20 us") == 1);
    CHECK(names.count("heads of 128, above 1 ms") == 0);  // no rows
    const AttentionErrors& all = series.back();
    CHECK(all.n == 4);
    CHECK(all.mape == Approx((0.1 + 0.2 + 0 + 0.2) / 4));
    CHECK(all.bias == Approx((0.1 - 0.2 + 0 - 0.2) / 4));
    CHECK(all.roofline_mape == Approx(1));
    const auto json = nlohmann::json::parse(attention_table_json(rows));
    CHECK(json["mape"].get<double>() == Approx(0.125));
    CHECK(json["rows"].size() == 4);
    CHECK(json["worst"][0]["recorded_us"].get<double>() != 100);
}

TEST_CASE("Rows are timed alike by one worker and by two, and more heads take longer") {
    std::vector<AttentionRow> once =
        read_attention_table(table_with(heading + "1,16,4,1,64,1\n1,16,528,132,64,1\n1,200,4,4,128,1\n"));
    std::vector<AttentionRow> twice = once;
    const heddle::sim::Hardware hardware = heddle::sim::load_hardware("h100-sxm", {});
    time_attention_table(once, hardware, {.workers = 1});
    time_attention_table(twice, hardware, {.workers = 2});
    for (std::size_t i = 0; i < once.size(); ++i) {
        REQUIRE(once[i].failure == "");
        CHECK(once[i].simulated_us() == twice[i].simulated_us());
        CHECK(once[i].simulated->attention > 1e-6);
    }
    // 4 tiles, one for an SM, or 528, four for each.
    CHECK(once[1].simulated->attention > 2 * once[0].simulated->attention);
    CHECK_THROWS_WITH(time_attention_table(once, heddle::sim::load_hardware("a100-sxm", {}), {}),
                      Catch::Contains("Hopper"));
}
