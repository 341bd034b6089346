#include "sim/config/gpu_names.h"
#include "validation/read/recorded_capture.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>

#include "capture_folder.h"

using namespace heddle;
using namespace heddle::validation;
using heddle::validation::test::CaptureFolder;

namespace {

constexpr const char* kManifest =
    R"({"schema": 1, "silicon": true, "date": "2026-11-21", "device": {"name": "NVIDIA H100 80GB HBM3", )"
    R"("compute_capability": 90, "driver_version": "580.95"}, "order": ["timing", "numerics"], "sections": {"numerics": {"complete": true}, "timing": {"complete": false}}})";

void write_small_capture(const CaptureFolder& folder) {
    folder.write("manifest.json", kManifest);
    folder.write("numerics.jsonl",
                 "{\"id\": \"a\", \"value\": 1.5, \"binary\": [0, 3]}\n"
                 "{\"id\": \"b\", \"value\": \"nan\", \"binary\": [3, 2]}\n"
                 "{\"id\": \"c\", \"value\": \"-inf\"}\n");
    folder.write("numerics.bin", "xyz12");
}

std::string text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What reading the section says is wrong.
std::string complaint(const CaptureFolder& folder) {
    try {
        RecordedCapture(folder.path()).section("numerics");
    } catch (const Error& error) {
        return error.what();
    }
    return "no complaint";
}

}  // namespace

TEST_CASE("a capture is read as it was written") {
    const CaptureFolder folder;
    write_small_capture(folder);
    const RecordedCapture capture(folder.path());
    CHECK(capture.is_silicon());
    CHECK(capture.device_name() == "NVIDIA H100 80GB HBM3");
    CHECK(capture.compute_capability() == 90);
    CHECK(capture.driver() == "driver 580.95");
    CHECK(capture.preset() == "h100-sxm");
    CHECK(capture.date() == "2026-11-21");
    CHECK(capture.sections() == std::vector<std::string>{"numerics"});
    const CapturedSection& section = capture.section("numerics");
    CHECK(section.complete);
    REQUIRE(section.records.size() == 3);
    CHECK(section.records[0].number("value") == 1.5);
    CHECK(std::isnan(section.records[1].number("value")));
    CHECK(section.records[2].number("value") == -INFINITY);
    CHECK(text_of(section.records[0].binary) == "xyz");
    CHECK(text_of(section.records[1].binary) == "12");
    CHECK(section.records[2].binary.empty());
    CHECK(section.find("b") == &section.records[1]);
    CHECK(section.find("z") == nullptr);
}

TEST_CASE("compressed bytes read the same, and cut-off ones are an error") {
    const CaptureFolder folder;
    write_small_capture(folder);
    const std::string file = (folder.path() / "numerics.bin").string();
    if (std::system(("gzip -f '" + file + "'").c_str()) != 0) return;
    CHECK(text_of(RecordedCapture(folder.path()).section("numerics").records[1].binary) == "12");
    std::filesystem::resize_file(file + ".gz", std::filesystem::file_size(file + ".gz") - 6);
    CHECK_THAT(complaint(folder), Catch::Contains("numerics.bin.gz"));
}

TEST_CASE("damage is told with the file, the line and the key") {
    const CaptureFolder folder;
    struct Case {
        const char* lines;
        const char* expected;
    };
    const Case cases[] = {
        {"{\"id\": \"a\"}\n{\"id\": \"b\", \"val", "numerics.jsonl:2"},
        {"{\"id\": \"a\"}\n[1]\n", "numerics.jsonl:2"},
        {"{\"value\": 1}\n", "`id`"},
        {"{\"id\": 7}\n", "numerics.jsonl:1"},
        {"{\"id\": \"a\", \"binary\": [0, 9]}\n", "numerics.bin is too short"},
        {"{\"id\": \"a\", \"binary\": [4, 2]}\n", "numerics.bin is too short"},
        {"{\"id\": \"a\", \"binary\": [18446744073709551615, 2]}\n", "numerics.bin is too short"},
        {"{\"id\": \"a\", \"binary\": \"0\"}\n", "[offset, length]"},
        {"{\"id\": \"a\"}\n{\"id\": \"a\"}\n", "`a`"},
    };
    for (const Case& test : cases) {
        write_small_capture(folder);
        folder.write("numerics.jsonl", test.lines);
        CAPTURE(test.lines);
        CHECK_THAT(complaint(folder), Catch::Contains(test.expected) && Catch::Contains("numerics.jsonl"));
    }
    std::filesystem::remove(folder.path() / "numerics.jsonl");
    CHECK_THAT(complaint(folder), Catch::Contains("no section `numerics`"));
}

TEST_CASE("a member that is missing or of another kind is told with its key") {
    const CaptureFolder folder;
    write_small_capture(folder);
    const RecordedCapture capture(folder.path());
    const CapturedRecord& record = capture.section("numerics").records[0];
    CHECK_THROWS_WITH(record.get<int>("nothing"), Catch::Contains("`nothing`") && Catch::Contains("jsonl:1"));
    CHECK_THROWS_WITH(record.get<std::string>("value"), Catch::Contains("`value`"));
    CHECK_THROWS_WITH(record.number("id"), Catch::Contains("`id`"));
    CHECK(record.get_or<int>("nothing", 5) == 5);
}

TEST_CASE("a folder without a capture, another schema and a simulator's capture are refused") {
    const CaptureFolder folder;
    CHECK_THROWS_WITH(RecordedCapture(folder.path()), Catch::Contains("manifest.json"));
    folder.write("manifest.json", "{\"schema\": 1");
    CHECK_THROWS_WITH(RecordedCapture(folder.path()), Catch::Contains("not a JSON object"));
    folder.write("manifest.json", "{\"silicon\": true}");
    CHECK_THROWS_WITH(RecordedCapture(folder.path()), Catch::Contains("schema"));
    folder.write("manifest.json", "{\"schema\": 99, \"silicon\": true}");
    CHECK_THROWS_WITH(RecordedCapture(folder.path()), Catch::Contains("99") && Catch::Contains("update"));
    folder.write("manifest.json", "{\"schema\": 1}");
    CHECK_THROWS_WITH(RecordedCapture(folder.path()), Catch::Contains("silicon"));
    folder.write("manifest.json", "{\"schema\": 1, \"silicon\": false}");
    CHECK_THROWS_WITH(RecordedCapture(folder.path()), Catch::Contains("--allow-simulator"));
    CHECK_FALSE(RecordedCapture(folder.path(), true).is_silicon());
}

TEST_CASE("a GPU's own name leads to the hardware file that describes it") {
    const CaptureFolder folder;
    const auto preset_of = [&](const std::string& name) {
        folder.write("manifest.json",
                     R"({"schema": 1, "silicon": true, "device": {"name": ")" + name + "\"}}");
        return RecordedCapture(folder.path()).preset();
    };
    CHECK(preset_of("NVIDIA H100 80GB HBM3") == "h100-sxm");
    CHECK(preset_of("NVIDIA H100 PCIe") == "");
    CHECK(preset_of("NVIDIA H200") == "h200-sxm");
    CHECK(preset_of("NVIDIA H800 PCIe") == "h800-pcie");
    CHECK(preset_of("NVIDIA A100-SXM4-80GB") == "a100-sxm");
    CHECK(preset_of("NVIDIA A100-SXM4-40GB") == "a100-sxm-40gb");
    CHECK(sim::hardware_of_gpu("NVIDIA B200", 192265846784) == "b200-sxm");
    CHECK(sim::hardware_of_gpu("NVIDIA GB200") == "gb200");
    CHECK(sim::hardware_of_gpu("NVIDIA B300 SXM6 AC") == "b300-sxm");
    CHECK(sim::hardware_of_gpu("NVIDIA GB300").empty());
    CHECK(sim::hardware_of_gpu("NVIDIA GeForce RTX 5090") == "rtx-5090");
    CHECK(sim::hardware_of_gpu("NVIDIA GeForce RTX 5090 Laptop GPU").empty());
    CHECK(sim::hardware_of_gpu("NVIDIA RTX PRO 6000 Blackwell Workstation Edition") == "rtx-pro-6000");
    CHECK(sim::hardware_of_gpu("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition").empty());
    CHECK(sim::hardware_of_gpu("NVIDIA A100-PG509-200", 42505273344) == "a100-sxm-40gb");  // as recorded
    CHECK(sim::hardware_of_gpu("NVIDIA A100-SXM4-80GB", 85097971712) == "a100-sxm");
    CHECK(sim::hardware_of_gpu("NVIDIA A100-PG509-200") == "a100-sxm");
    CHECK(preset_of("NVIDIA A100-PCIE-40GB") == "a100-pcie");
    CHECK(preset_of("NVIDIA A100 80GB PCIe") == "a100-pcie");
    CHECK(preset_of("Tesla V100-SXM2-32GB") == "v100-sxm");
    CHECK(preset_of("Tesla V100-SXM2-16GB") == "v100-sxm-16gb");
    CHECK(sim::hardware_of_gpu("Tesla V100-SXM2", 16945512448) == "v100-sxm-16gb");
    CHECK(preset_of("Tesla V100-PCIE-16GB") == "v100-pcie");
    CHECK(preset_of("NVIDIA RTX A6000") == "rtx-a6000");
    CHECK(preset_of("NVIDIA H800") == "h800-sxm");
    CHECK(preset_of("NVIDIA H20") == "h20");
    CHECK(preset_of("NVIDIA A10G") == "a10g");
    CHECK(preset_of("NVIDIA L4") == "l4");
    CHECK(preset_of("NVIDIA L40") == "");
    CHECK(preset_of("NVIDIA L40S") == "l40s");
    CHECK(preset_of("Tesla T4") == "t4");
    CHECK(preset_of("NVIDIA GeForce RTX 4090") == "");
}

TEST_CASE("captures are found by their manifests, in order") {
    const CaptureFolder folder("captures");
    for (const char* name : {"b", "a", "not-one"}) std::filesystem::create_directory(folder.path() / name);
    folder.write("a/manifest.json", "{}");
    folder.write("b/manifest.json", "{}");
    const auto found = captures_in(folder.path());
    REQUIRE(found.size() == 2);
    CHECK(found[0].filename() == "a");
    CHECK(found[1].filename() == "b");
    CHECK(captures_in(folder.path() / "nowhere").empty());
}
