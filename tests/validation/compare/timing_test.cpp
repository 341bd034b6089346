// The section `timing` recorded from the simulator, compared with the simulator: it must agree with itself,
// and say so when the capture is changed. Published figures beside the presets.
#include "validation/compare/timing.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "isa/common/error.h"
#include "support/folder.h"
#include "validation/capture/program.h"
#include "validation/capture/sections/gemm_sweep.h"
#include "validation/capture/simulator/simulator_device.h"
#include "validation/compare/recorded_gemms.h"

using namespace heddle;
using namespace heddle::validation;
namespace fs = std::filesystem;

using heddle::tests::Folder;

namespace {

void record_timing(const fs::path& folder) {
    const auto device = capture::make_simulator_device("h100-sxm");
    capture::CaptureRun run;
    run.output = folder;
    run.sections = {"timing"};
    run.extent = capture::Extent::quick;
    capture::Progress progress(false);
    REQUIRE(run_capture(*device, capture::sections(), run, progress) == capture::Outcome::complete);
}

const ComparisonRow& row_of(const Comparison& comparison, const std::string& name) {
    for (const ComparisonRow& row : comparison.rows)
        if (row.name == name) return row;
    FAIL("no row " << name);
    return comparison.rows.front();
}

/// Multiplies the value of one record.
void falsify(const fs::path& folder, const std::string& id, double factor) {
    const fs::path file = folder / "timing.jsonl";
    std::ifstream in(file);
    std::string line, text;
    while (std::getline(in, line)) {
        nlohmann::ordered_json record = nlohmann::ordered_json::parse(line);
        if (record["id"] == id) record["value"] = record["value"].get<double>() * factor;
        text += record.dump() + "\n";
    }
    in.close();
    std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("a capture by the simulator agrees with the simulator, and a changed record is found") {
    const Folder folder;
    record_timing(folder.path());
    CompareOptions options;
    options.hardware = "h100-sxm";
    options.workers = 2;
    options.filter = "latency";
    // Never taken for silicon.
    CHECK_THROWS_AS(RecordedCapture(folder.path()), Error);
    std::vector<double> simulated;
    {
        const auto comparisons = compare_timing(RecordedCapture(folder.path(), true), options);
        REQUIRE(comparisons.size() == 1);
        for (const ComparisonRow& row : comparisons[0].rows) simulated.push_back(row.simulated.value_or(-1));
        CHECK_FALSE(comparisons[0].reference.silicon);
        CHECK(comparisons[0].rows.size() >= 10);
        for (const ComparisonRow& row : comparisons[0].rows) {
            INFO(row.name);
            REQUIRE(relative_error(row).has_value());
            CHECK(*relative_error(row) < 0.01);  // other addresses: other slices, banks, refreshes of DRAM
        }
    }
    falsify(folder.path(), "latency/ffma", 1.25);
    options.error_bars["instruction latency"] = 1;
    options.workers = 3;
    const auto comparisons = compare_timing(RecordedCapture(folder.path(), true), options);
    // The number of workers changes nothing, nor which of them did what.
    REQUIRE(comparisons[0].rows.size() == simulated.size());
    for (std::size_t i = 0; i < simulated.size(); ++i) {
        INFO(comparisons[0].rows[i].name);
        CHECK(comparisons[0].rows[i].simulated == simulated[i]);
    }
    CHECK(relative_error(row_of(comparisons[0], "latency/ffma")) == Approx(0.2));
    REQUIRE(comparisons[0].bars.size() == 1);
    CHECK_FALSE(comparisons[0].holds());
    CHECK(worst_rows(comparisons[0].rows).front()->name == "latency/ffma");
}

TEST_CASE("published latencies stand beside the presets that were made from them") {
    CompareOptions options;
    options.workers = 2;
    options.filter = "latency/l";
    const auto comparisons = compare_published_timing(options);
    REQUIRE(comparisons.size() >= 3);
    for (const Comparison& comparison : comparisons) {
        CHECK(comparison.reference.kind == "publication");
        for (const ComparisonRow& row : comparison.rows) {
            INFO(comparison.reference.hardware << " " << row.name);
            CHECK_FALSE(row.note.empty());
            REQUIRE(relative_error(row).has_value());
            if (row.category == "used by the hardware file") CHECK(*relative_error(row) < 0.02);
        }
        // Each figure that is judged has a bar, 5 % or 3 cycles; one that is missed makes the command fail.
        const auto judged = std::count_if(comparison.rows.begin(), comparison.rows.end(),
                                          [](const auto& row) { return row.category != "not comparable"; });
        CHECK(comparison.bars.size() == static_cast<std::size_t>(judged));
        for (const Bar& bar : comparison.bars) CHECK(bar.required >= 5);
    }
    options.hardware = "a100-pcie";
    const auto one = compare_published_timing(options);
    REQUIRE(one.size() == 1);
    CHECK(row_of(one[0], "latency/l2").simulated == Approx(202.8).epsilon(0.01));
}

TEST_CASE("recorded times of GEMMs stand beside simulated ones, a damaged table is one clear error") {
    const Folder folder;
    fs::create_directories(folder.path() / "gemm");
    const fs::path file = folder.path() / "gemm" / "h100_sxm_bf16.csv";
    std::ofstream(file) << "m,n,k,trtllm_us,vllm_us\n1,32,32,2.581,2.6\n64,256,64,3.5,\n64,128,128,3.4,"
                           "\n8192,8192,8192,1500,1400\n";
    CompareOptions options;
    options.workers = 1;
    CHECK(compare_recorded_gemms("", options).empty());
    const auto comparisons = compare_recorded_gemms(folder.path(), options);
    REQUIRE(comparisons.size() == 1);
    CHECK(comparisons[0].reference.hardware == "h100-sxm");
    // The largest would take minutes; 128 x 128 is of the half to which figures were fitted.
    REQUIRE(comparisons[0].rows.size() == 2);
    CHECK(comparisons[0].rows[0].captured == Approx(2.581));
    CHECK(comparisons[0].rows[1].captured == Approx(3.5));
    for (const ComparisonRow& row : comparisons[0].rows) {
        REQUIRE(row.simulated.has_value());
        CHECK(*row.simulated > 2);  // a launch from a graph
        CHECK(*row.simulated < 8);
    }
    std::ofstream(file, std::ios::app) << "1,32,many,2.5\n";
    try {
        compare_recorded_gemms(folder.path(), options);
        FAIL("a damaged table was accepted");
    } catch (const Error& error) {
        CHECK(std::string(error.what()).find("h100_sxm_bf16.csv:6") != std::string::npos);
        CHECK(std::string(error.what()).find("many") != std::string::npos);
    }
}

TEST_CASE("the sweep of GEMMs is about a thousand shapes, each once, the most valuable first") {
    const auto gemms = capture::designed_gemms();
    CHECK(gemms.size() > 800);
    CHECK(gemms.size() < 1200);
    std::set<std::string> ids, types;
    unsigned priority = 0, all_algorithms = 0;
    for (const capture::TimedGemm& gemm : gemms) {
        INFO(gemm.id());
        CHECK(ids.insert(gemm.id()).second);
        CHECK(gemm.priority >= priority);
        priority = gemm.priority;
        types.insert(capture::name_of(gemm.problem.a));
        CHECK(capture::largest_operand(gemm.problem) < std::uint64_t{1} << 31);
        CHECK(std::min({gemm.problem.m, gemm.problem.n, gemm.problem.k}) > 0);
        // What cublasLt demands of fp8 and int8: both operands K-major, 16-byte rows.
        if (gemm.problem.a == capture::Type::e4m3 || gemm.problem.a == capture::Type::i8) {
            CHECK_FALSE(gemm.problem.transpose_a);
            CHECK(gemm.problem.transpose_b);
            CHECK(gemm.problem.k % 16 == 0);
            CHECK(gemm.problem.n % 16 == 0);
        }
        all_algorithms += capture::wants_all_algorithms(gemm) ? 1 : 0;
    }
    CHECK(types == std::set<std::string>{"bf16", "f16", "f32", "f64", "e4m3", "i8"});
    CHECK(all_algorithms >= 40);
    CHECK(all_algorithms < 200);
}
