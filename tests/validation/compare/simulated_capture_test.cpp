// Sections `numerics` and `kernels` of the simulator: its kernels run as PTX on the functional machine, and
// the comparison computes the same products from their plans. Two programs that share only the dot product
// unit.
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <set>

#include "../read/capture_folder.h"
#include "validation/capture/section.h"
#include "validation/capture/simulator/simulator_device.h"
#include "validation/compare/kernels.h"
#include "validation/compare/numerics.h"

using namespace heddle;
using namespace heddle::validation;
using heddle::validation::test::CaptureFolder;

namespace {

constexpr const char* kManifest =
    R"({"schema": 1, "silicon": false, "date": "2026-11-21", "device": {"name": "model of an H100", )"
    R"("hardware": "h100-sxm", "compute_capability": 90}, "order": ["numerics", "kernels"], )"
    R"("sections": {"numerics": {"complete": true}, "kernels": {"complete": true}}})";

/// Runs a section on the simulator until `records` have been added.
void record(const CaptureFolder& folder, const std::string& name, bool (*section)(capture::SectionContext&),
            std::size_t records) {
    folder.write("manifest.json", kManifest);
    const auto device = capture::make_simulator_device("h100-sxm");
    capture::Journal journal(folder.path(), name);
    capture::SectionContext context{*device, journal, capture::Extent::quick};
    context.stop = [&] { return journal.size() >= records; };
    section(context);
}

}  // namespace

TEST_CASE("the simulator's GEMMs are their plans, in every bit") {
    const CaptureFolder folder("simulated-numerics");
    record(folder, "numerics", capture::capture_numerics, 1000);
    const auto comparisons = compare_numerics(RecordedCapture(folder.path(), true), {});
    REQUIRE(comparisons.size() == 1);
    std::set<std::string> categories;
    for (const ComparisonRow& row : comparisons[0].rows) {
        categories.insert(row.category);
        if (row.category.find("GELU") != std::string::npos) continue;
        INFO(row.name << ": " << row.note);
        CHECK(row.bits->all());
    }
    CHECK(comparisons[0].holds());
    for (const char* category : {"bf16 bf16 -> f32", "f16 f16 -> f16", "f32 f32 -> f32", "f64 f64 -> f64",
                                 "bf16 bf16 -> bf16, GELU"})
        CHECK(categories.count(category) == 1);
}

TEST_CASE("the simulator's kernels are recorded, and found again") {
    const CaptureFolder folder("simulated-kernels");
    record(folder, "kernels", capture::capture_kernels, 1000);
    const RecordedCapture capture(folder.path(), true);
    const auto comparisons = compare_kernels(capture, {});
    REQUIRE(comparisons.size() == 1);
    const Comparison& comparison = comparisons[0];
    CHECK(comparison.holds());
    CHECK(comparison.missing.empty());
    CHECK(comparison.reference.hardware == "h100-sxm");
    CHECK(comparison.rows.size() == capture.section("kernels").records.size());
    std::set<std::string> categories;
    for (const ComparisonRow& row : comparison.rows) {
        INFO(row.name << ": " << row.note);
        categories.insert(row.category);
        CHECK(row.bits->all());
        CHECK(*row.simulated == *row.captured);
        CHECK(*row.captured > 0);
    }
    CHECK(categories.size() >= 7);
}
