// Captures of probes read back: of a device that computes as its generation does, and of one that does not.
#include "validation/compare/probes.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "../capture/functional_device.h"
#include "validation/capture/section.h"

using namespace heddle::validation;
namespace capture = heddle::capture;

namespace {

// Says that it is of one generation and computes as another.
class Pretender : public capture::test::FunctionalDevice {
  public:
    Pretender(unsigned said, unsigned real) : FunctionalDevice(real), said_(said) {}
    unsigned compute_capability() const override { return said_; }

  private:
    unsigned said_;
};

Comparison compare(unsigned said, unsigned real) {
    const auto folder =
        std::filesystem::temp_directory_path() / ("heddle_probes_compare_test-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    {
        Pretender device(said, real);
        capture::Journal journal(folder, "probes");
        capture::SectionContext context{device, journal, capture::Extent::quick};
        REQUIRE(capture::capture_probes(context));
        journal.finish();
    }
    std::ofstream(folder / "manifest.json")
        << R"({"format": "heddle-capture", "schema": 1, "silicon": false, "date": "2026-11-21", "device": {"name": )"
        << R"("test", "compute_capability": )" << said
        << R"(}, "order": ["probes"], "sections": {"probes": {"complete": true}}})";
    const RecordedCapture recorded(folder, true);
    Comparison comparison = compare_probes(recorded, {}).at(0);
    std::filesystem::remove_all(folder);
    return comparison;
}

/// Is there a row with this question, topic, answer and judgement, whose instructions begin so?
bool answers(const Comparison& comparison, const std::vector<std::string>& cells,
             const std::string& instructions = "") {
    const auto& rows = comparison.tables.at(0).rows;
    return std::any_of(rows.begin() + 1, rows.end(), [&](const std::vector<std::string>& row) {
        return std::equal(cells.begin(), cells.end(), row.begin()) && row.at(4).starts_with(instructions);
    });
}

}  // namespace

TEST_CASE("probes of a device that computes as the model does") {
    const Comparison comparison = compare(90, 90);
    CHECK(comparison.holds());
    CHECK(comparison.rows.size() > 500);
    for (const ComparisonRow& row : comparison.rows) {
        INFO(row.name << ": " << row.note);
        CHECK(row.bits->all());
    }
    CHECK(answers(comparison, {"1", "block length", "L=8 (the whole instruction)", "agrees"}));
    CHECK(answers(comparison, {"3", "alignment", "truncated at F=25", "agrees"}));
    CHECK(answers(comparison, {"10", "subnormal fp32", "kept", "agrees"}, "fma.rn.f32"));
    CHECK_FALSE(answers(comparison, {"1", "block length", "L=4"}));
}

TEST_CASE("probes of a device of another generation than it says") {
    const Comparison wrong = compare(90, 80);
    CHECK_FALSE(wrong.holds());
    REQUIRE(wrong.bars.size() == 1);
    CHECK(wrong.bars[0].reached < 100);
    CHECK(answers(wrong, {"1", "block length", "L=8", "differs: L=16 (the whole instruction) was believed"},
                  "mma.sync"));
    CHECK(answers(wrong, {"3", "alignment", "truncated at F=24", "differs: truncated at F=25 was believed"},
                  "mma.sync"));
    bool explained = false;
    for (const ComparisonRow& row : wrong.rows)
        explained = explained || row.note.find(" recorded, ") != std::string::npos;
    CHECK(explained);
}
