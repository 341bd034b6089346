// A whole capture of the simulator: every section that there is, in the format that is read afterwards.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/folder.h"
#include "validation/capture/program.h"
#include "validation/capture/simulator/simulator_device.h"
#include "validation/read/recorded_capture.h"

using namespace heddle;
using namespace heddle::capture;
using validation::CapturedRecord;
using validation::RecordedCapture;

using heddle::tests::Folder;
using heddle::tests::text_of;

namespace {

Outcome capture_into(const std::filesystem::path& folder, const std::string& hardware,
                     const std::vector<std::string>& names) {
    const auto device = make_simulator_device(hardware);
    Progress progress(false);
    CaptureRun run;
    run.output = folder;
    run.extent = heddle::capture::Extent::quick;
    run.sections = names;
    run.command_line = "test";
    return run_capture(*device, sections(), run, progress);
}

/// What a capture of the simulator may lack: products that the kernel library does not have.
bool is_missing_algorithm(const std::string& error) {
    return error.find("no algorithm") != std::string::npos;
}

}  // namespace

TEST_CASE("every section runs on the simulator, and what it wrote is read back") {
    const Folder folder;
    REQUIRE(capture_into(folder.path(), "h100-sxm", {}) == Outcome::complete);
    const RecordedCapture capture(folder.path(), true);
    CHECK_FALSE(capture.is_silicon());
    CHECK(capture.compute_capability() == 90);
    CHECK_THROWS(RecordedCapture(folder.path()));  // nobody takes it for silicon
    for (const Section& planned : sections()) {
        INFO(planned.name);
        const validation::CapturedSection& section = capture.section(planned.name);
        CHECK(section.complete);
        CHECK_FALSE(section.records.empty());
        for (const CapturedRecord& record : section.records) {
            INFO(record.id);
            const std::string error = record.get_or<std::string>("error", "");
            CHECK((error.empty() || is_missing_algorithm(error)));
            // The simulator computes with the model that predicts; "unknown": nobody predicts.
            CHECK(record.values.value("agrees", nlohmann::json()) != false);
        }
    }
    std::uintmax_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) bytes += file.file_size();
    CHECK(bytes < 12'000'000);
}

TEST_CASE("a capture of the simulator does not vary") {
    const Folder first, second;
    // Not the sections that reveal as many orders of summation as there is time for.
    const std::vector<std::string> names{"probes", "kernels"};
    REQUIRE(capture_into(first.path(), "h100-sxm", names) == Outcome::complete);
    REQUIRE(capture_into(second.path(), "h100-sxm", names) == Outcome::complete);
    for (const std::string& name : names)
        CHECK((text_of(first / (name + ".jsonl")) == text_of(second / (name + ".jsonl"))));
}

TEST_CASE("sections run on devices without tensor cores for every type") {
    const Folder folder;
    // No section that takes time: a process holds the model of one GPU.
    REQUIRE(capture_into(folder.path(), "v100-sxm", {"probes", "order", "numerics"}) == Outcome::complete);
    const RecordedCapture capture(folder.path(), true);
    CHECK(capture.compute_capability() == 70);
    for (const char* name : {"probes", "order", "numerics"}) {
        for (const CapturedRecord& record : capture.section(name).records) {
            INFO(record.id);
            const std::string error = record.get_or<std::string>("error", "");
            CHECK((error.empty() || is_missing_algorithm(error)));
            CHECK(record.values.value("agrees", nlohmann::json()) != false);
        }
    }
}
