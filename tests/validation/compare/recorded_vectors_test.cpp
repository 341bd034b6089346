#include "validation/compare/recorded_vectors.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iostream>

#include "../read/capture_folder.h"
#include "validation/recorded/tensor_core_vectors.h"
#include "validation/run/validation.h"

using namespace heddle::validation;
namespace fs = std::filesystem;

namespace {

/// Empty, with a line on the standard output, where the recordings are not.
fs::path recordings() {
    const fs::path data = data_folder();
    const fs::path folder = data.empty() ? data : tensor_core_folder(data);
    if (folder.empty()) std::cout << "skipped: no tensor core recordings under " << data << "\n";
    return folder;
}

}  // namespace

TEST_CASE("the recorded vectors hold every bar") {
    const fs::path folder = recordings();
    if (folder.empty()) return;
    const Comparison comparison = compare_recorded_vectors(folder, {});
    CHECK(comparison.rows.size() == 48);
    for (const ComparisonRow& row : comparison.rows) {
        CAPTURE(row.name);
        REQUIRE(row.bits);
        CHECK(row.bits->total == 5000);
        CHECK(row.bits->all());
    }
    CHECK(comparison.bars.size() == 6);
    CHECK(comparison.holds());
    CHECK(comparison.histograms.at(0).bins.at(0).count == 240000);
    CHECK(comparison.reference.device == "NVIDIA V100, A2, A100, Ada, L40S, H100, H200, B200");
    CHECK(comparison.missing ==
          std::vector<std::string>{"not recorded there: L40S e4m3 -> fp16, L40S e5m2 -> fp16"});
}

TEST_CASE("one flipped bit of a recording breaks the bar, and its row is named with its inputs") {
    const fs::path folder = recordings();
    if (folder.empty()) return;
    const test::CaptureFolder copy("recordings");
    fs::create_directories(copy.path() / "A100");
    fs::copy(folder / "A100" / "tf32", copy.path() / "A100" / "tf32", fs::copy_options::recursive);
    const fs::path file = copy.path() / "A100" / "tf32" / "d_A100_fp32.txt";
    std::fstream stream(file, std::ios::in | std::ios::out);
    std::string line;
    for (int i = 0; i < 41; ++i) std::getline(stream, line);
    const auto last_bit = stream.tellg() - std::streamoff(1) - std::streamoff(line.size() > 32 ? 2 : 1);
    stream.seekg(last_bit);
    const char bit = static_cast<char>(stream.get());
    REQUIRE((bit == '0' || bit == '1'));
    stream.seekp(last_bit);
    stream.put(bit == '0' ? '1' : '0');
    stream.close();
    CompareOptions options;
    options.filter = "A100 tf32";
    const Comparison comparison = compare_recorded_vectors(copy.path(), options);
    REQUIRE(comparison.rows.size() == 1);
    CHECK(comparison.rows[0].bits->identical == 4999);
    CHECK(comparison.rows[0].largest_ulp == 1);
    CHECK_THAT(comparison.rows[0].note, Catch::Contains("line 41") && Catch::Contains("recorded"));
    CHECK_FALSE(comparison.holds());
}

TEST_CASE("series that are there and are not compared are named with the reason, by filter too") {
    const test::CaptureFolder folder("recordings");
    const auto write = [&](const std::string& file, const std::string& text) {
        fs::create_directories((folder.path() / file).parent_path());
        folder.write(file, text);
    };
    for (const std::string device : {"A100", "MI300X"}) {
        for (const char* operand : {"a", "b"})
            write(device + "/tf32/" + operand + "_" + device + "_tf32.txt", "3f800000\n");
        write(device + "/tf32/c_" + device + "_fp32.txt", std::string(32, '0') + "\n");
        write(device + "/tf32/d_" + device + "_fp32.txt", "00111111100000000000000000000000\n");
    }
    const auto told = [&](const std::string& filter) {
        CompareOptions options;
        options.filter = filter;
        const Comparison comparison = compare_recorded_vectors(folder.path(), options);
        std::string text = std::to_string(comparison.rows.size()) + " rows";
        for (const std::string& line : comparison.missing) text += "\n" + line;
        return text;
    };
    const std::string unknown = "\nskipped: MI300X tf32 -> fp32: the generation of its device is not known";
    CHECK_THAT(told(""), Catch::StartsWith("1 rows" + unknown) &&
                             Catch::Contains("\nnot recorded there: V100, A2, A100 fp16 -> fp32, "));
    CHECK_THAT(told("MI300X"), Catch::StartsWith("0 rows" + unknown));
    CHECK(told("A100") == "1 rows");
}

TEST_CASE("a filter that leaves nothing says so and judges nothing") {
    CompareOptions options;
    options.filter = "no such series";
    const Comparison comparison = compare_recorded_vectors("/nowhere", options);
    CHECK(comparison.rows.empty());
    CHECK(comparison.bars.empty());
    CHECK(comparison.missing.size() == 1);
}
