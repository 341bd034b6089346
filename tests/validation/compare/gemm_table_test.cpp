#include "validation/compare/gemm_table.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "isa/common/error.h"
#include "sim/hardware/load_hardware.h"

using namespace heddle::validation;

namespace {

std::filesystem::path table_with(const std::string& text) {
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("heddle_gemm_table_" + std::to_string(::getpid()) + ".csv");
    std::ofstream(path) << text;
    return path;
}

GemmRow row(double recorded, double estimated) {
    GemmRow result;
    result.recorded = recorded;
    result.estimated = estimated;
    return result;
}

}  // namespace

TEST_CASE("A table of GEMMs is read by the names of its columns") {
    const auto path = table_with("k,m,other,n,us\n32,1,9,64,2.5\n64,2,9,128,\n96,3,,256,7.25\n");
    const std::vector<GemmRow> rows = read_gemm_table(path, "us");
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].m == 1);
    CHECK(rows[0].n == 64);
    CHECK(rows[0].k == 32);
    CHECK(rows[1].recorded == 7.25);
    CHECK_THROWS_WITH(read_gemm_table(path, "ms"), Catch::Contains("columns are: k, m, other, n, us"));
    CHECK_THROWS_WITH(read_gemm_table(table_with("m,n,k,us\n1,2,x,4\n"), "us"),
                      Catch::Contains(":2:") && Catch::Contains("`x`"));
    CHECK_THROWS_AS(read_gemm_table(table_with("m,n,k,us\n1,2,3,-4\n"), "us"), heddle::Error);
    CHECK_THROWS_AS(read_gemm_table("no-such-file.csv", "us"), heddle::Error);
}

TEST_CASE("Of several recordings the median counts, and their spread is said") {
    const auto path = table_with("m,n,k,a,b,c\n1,8,8,10,12,20\n40,8,8,,30,20\n2000,8,8,,,\n300,8,8,7,,\n");
    const std::vector<GemmRow> rows = read_gemm_table(path, std::vector<std::string>{"a", "b", "c"});
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].recorded == 12);
    CHECK(rows[1].recorded == 25);
    CHECK(rows[2].recorded == 7);
    CHECK(rows[1].recordings == std::vector<double>{30, 20});
    std::vector<const GemmRow*> all;
    for (const GemmRow& one : rows) all.push_back(&one);
    // Of the rows with several: 2, 0 and 8 of 12, 5 and 5 of 25.
    CHECK(spread_of(all) == Approx((2. / 12 + 8. / 12 + 2 * 5. / 25) / 5));
    CHECK(spread_of({&rows[2]}) == 0);
    CHECK(rows_of_m(rows, gemm_classes_of_m().front()).size() == 1);
    std::size_t classed = 0;
    for (const GemmClass& extent : gemm_classes_of_m()) classed += rows_of_m(rows, extent).size();
    CHECK(classed == rows.size());
    CHECK_THROWS_AS(read_gemm_table(path, std::vector<std::string>{"a", "a"}), heddle::Error);
    CHECK_THROWS_AS(read_gemm_table(path, std::vector<std::string>{"a", "d"}), heddle::Error);
}

TEST_CASE("A row that was not simulated is counted where it belongs") {
    std::vector<GemmRow> rows{row(10, 11), row(12, 12), row(400, 380)};
    for (GemmRow& one : rows) one.m = 64;
    rows[0].simulated.emplace();
    rows[0].simulated->seconds = 10.5e-6;
    rows[1].failure = "no room";
    const std::string text = format_gemm_table(rows, "three", true);
    CHECK_THAT(text, Catch::Contains("2 of 3 rows were not simulated"));
    CHECK_THAT(text, Catch::Contains("1 not simulated"));
    CHECK_THAT(text, Catch::Contains("no room"));
    CHECK_THAT(gemm_table_json(rows, true), Catch::Contains("\"unfinished\": 2"));
    // The closed form has every row.
    CHECK_THAT(format_gemm_table(rows, "three", false), !Catch::Contains("not simulated;"));
}

TEST_CASE("Halves are by n and k, samples by seed") {
    std::vector<GemmRow> rows;
    for (std::uint32_t n = 32; n <= 1024; n += 32) {
        for (std::uint32_t m = 1; m <= 4; ++m) {
            GemmRow one = row(1, 1);
            one.m = m;
            one.n = n;
            one.k = 64;
            rows.push_back(one);
        }
    }
    const auto first = half_of(rows, 0), second = half_of(rows, 1);
    CHECK(first.size() + second.size() == rows.size());
    std::set<std::uint32_t> of_first;
    for (const GemmRow& one : first) of_first.insert(one.n);
    for (const GemmRow& one : second) CHECK(of_first.count(one.n) == 0);
    CHECK(first.size() > rows.size() / 4);
    const auto a = sample_of(rows, 10, 7), b = sample_of(rows, 10, 7), c = sample_of(rows, 10, 8);
    REQUIRE(a.size() == 10);
    bool same = true, other = true;
    std::set<std::pair<std::uint32_t, std::uint32_t>> distinct;
    for (std::size_t i = 0; i < a.size(); ++i) {
        same = same && a[i].m == b[i].m && a[i].n == b[i].n;
        other = other && a[i].m == c[i].m && a[i].n == c[i].n;
        distinct.insert({a[i].m, a[i].n});
    }
    CHECK(same);
    CHECK_FALSE(other);
    CHECK(distinct.size() == 10);
    CHECK(sample_of(rows, 1000, 1).size() == rows.size());
}

TEST_CASE("Errors are those of the definition") {
    const std::vector<GemmRow> rows{row(10, 11), row(100, 80), row(1000, 1000), row(2, 2.1)};
    std::vector<const GemmRow*> all;
    for (const GemmRow& one : rows) all.push_back(&one);
    const GemmErrors errors = errors_of(all, GemmFigure::estimated);
    CHECK(errors.n == 4);
    CHECK(errors.mape == Approx((0.1 + 0.2 + 0 + 0.05) / 4));
    CHECK(errors.bias == Approx((0.1 - 0.2 + 0 + 0.05) / 4));
    CHECK(errors.p90 == Approx(0.2));
    CHECK(errors.r > 0.99);
    const auto worst = worst_of(rows, GemmFigure::estimated, 2);
    REQUIRE(worst.size() == 2);
    CHECK(worst[0]->recorded == 100);
    CHECK(worst[1]->recorded == 10);
    const std::string json = gemm_table_json(rows, false);
    for (const char* key : {"\"n\"", "\"mape\"", "\"median\"", "\"p90\"", "\"r\"", "\"roofline_mape\"",
                            "\"classes\"", "\"worst\""})
        CHECK_THAT(json, Catch::Contains(key));
}

TEST_CASE("Times of a table do not depend on the workers, and lie near those of an H100") {
    // m, n, k, microseconds: NVIDIA aiconfigurator, H100 SXM, bf16 (trtllm_us).
    const auto path = table_with(
        "m,n,k,us\n1,32,32,2.581\n1,64,512,3.197\n256,256,1536,4.879\n5,64,12288,5.637\n"
        "192,3072,1536,7.88\n1,1024,8192,10.46\n");
    const heddle::sim::Hardware hardware = heddle::sim::load_hardware("h100-sxm");
    std::vector<GemmRow> one = read_gemm_table(path, "us"), three = one;
    GemmTableOptions options;
    options.surroundings = {5, true};
    options.cache = false;
    options.workers = 1;
    time_gemm_table(one, hardware, options);
    options.workers = 3;
    time_gemm_table(three, hardware, options);
    for (std::size_t i = 0; i < one.size(); ++i) {
        CAPTURE(one[i].m, one[i].n, one[i].k, one[i].failure);
        REQUIRE(one[i].simulated);
        CHECK(one[i].simulated->seconds == three[i].simulated->seconds);
        CHECK(one[i].simulated_us() == Approx(one[i].recorded).epsilon(0.12));
    }
}

TEST_CASE("Other columns of a table are how far software is apart, and watts are compared beside times") {
    const auto path = table_with(
        "m,n,k,a_us,b_us,c_us,watts,note\n"
        "8,64,32,10,11,,100,1\n8,64,64,20,18,40,,1\n8,64,96,100,100,50,500,1\n8,64,128,,7,9,300,1\n");
    CHECK(other_gemm_columns(path, {"a_us"}) == std::vector<std::string>{"b_us", "c_us"});
    CHECK(other_gemm_columns(path, {"note"}) == std::vector<std::string>{"a_us", "b_us", "c_us"});
    std::vector<GemmRow> rows = read_gemm_table(path, "a_us");
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].others == std::vector<double>{11, 0});
    CHECK(rows[0].recorded_watts == 100);
    CHECK(rows[1].recorded_watts == 0);
    std::vector<const GemmRow*> all;
    for (GemmRow& one : rows) {
        one.estimated = one.recorded;
        one.estimated_watts = 110;
        all.push_back(&one);
    }
    // 10 %, 10 % and 0 of b; 100 % and 50 % of c.
    CHECK(disagreement_of(all, 0).n == 3);
    CHECK(disagreement_of(all, 0).mape == Approx(0.2 / 3));
    CHECK(disagreement_of(all, 1).n == 2);
    CHECK(disagreement_of(all, 1).mape == Approx(0.75));
    CHECK(disagreement_of(all, 2).n == 0);
    CHECK(watt_errors_of(all, false).n == 2);
    CHECK(watt_errors_of(all, false).mape == Approx((0.1 + 0.78) / 2));
    CHECK(watt_errors_of(all, true).n == 0);  // nothing was simulated
    const std::string text = format_gemm_table(rows, "heading", false, {"b_us", "c_us"});
    CHECK_THAT(text, Catch::Contains("6.7 / 10.0 / 10.0 % of 3") && Catch::Contains("watts, by time"));
    CHECK_THAT(format_gemm_table(rows, "heading", false), !Catch::Contains("other columns"));
    const std::string json = gemm_table_json(rows, false, {"b_us", "c_us"});
    for (const char* key : {"\"stacks\"", "\"watts\"", "\"recorded_w\"", "\"closed_form_w\""})
        CHECK_THAT(json, Catch::Contains(key));
    CHECK_THROWS_WITH(read_gemm_table(table_with("m,n,k,us,watts\n1,2,3,4,-1\n"), "us"), Catch::Contains("watts"));
}

TEST_CASE("Watts of the closed form follow what a product does") {
    const auto path = table_with("m,n,k,us,watts\n1,64,64,3,110\n8192,8192,8192,1500,690\n16,16384,16384,200,550\n");
    std::vector<GemmRow> rows = read_gemm_table(path, "us");
    GemmTableOptions options;
    options.surroundings = {5, true};
    options.simulate = false;
    time_gemm_table(rows, heddle::sim::load_hardware("h200-sxm"), options);
    // A tiny product takes little more than the board without work; a large one meets the limit of 700 W.
    CHECK(rows[0].estimated_watts > 80);
    CHECK(rows[0].estimated_watts < 160);
    CHECK(rows[1].estimated_watts == Approx(700).epsilon(0.05));
    CHECK(rows[2].estimated_watts > 250);
    CHECK(rows[2].estimated_watts < rows[1].estimated_watts);
}
