#include "validation/run/validation.h"

#include <catch2/catch.hpp>
#include <iostream>
#include <sstream>

#include "../read/capture_folder.h"
#include "isa/common/error.h"
#include "validation/recorded/tensor_core_vectors.h"
#include "validation/report/readme.h"

using namespace heddle::validation;
namespace fs = std::filesystem;

namespace {

std::string accuracy_page_block() {
    const std::string file = HEDDLE_SOURCE_DIR "/docs/validation.md";
    std::ifstream stream(file);
    std::ostringstream text;
    text << stream.rdbuf();
    return accuracy_block(text.str(), file);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

}  // namespace

TEST_CASE("without captures and recordings everything is named as missing, and no bar fails") {
    ValidationOptions options;
    options.subjects = subjects();
    options.compare.hardware = "nothing is simulated";
    options.compare.filter = "no row has this name";
    const Validation validation = validate(options);
    CHECK(validation.holds());
    std::size_t not_recorded = 0;
    for (const std::string& line : validation.missing)
        if (line.starts_with("not yet recorded: ")) ++not_recorded;
    CHECK(not_recorded >= 5);
    CHECK(not_recorded == validation.looked_for.size());
}

TEST_CASE("the table of accuracy is what the code gives") {
    ValidationOptions options;
    options.subjects = {Subject::numerics};
    options.data = data_folder();
    if (options.data.empty() || tensor_core_folder(options.data).empty()) {
        std::cout << "skipped: no tensor core recordings\n";
        return;
    }
    const std::string block = accuracy_page_block();
    const Validation validation = validate(options);
    // Comparisons with captures take minutes; what needs none is compared here.
    const AccuracyRun run{{validation.comparisons.at(0)},
                          installed_captures().empty() ? validation.missing : std::vector<std::string>{},
                          {}};
    for (const std::string& line : lines_of(accuracy_table(run))) {
        // Of what is not yet recorded, this subject knows a part.
        if (line.starts_with("Not yet recorded: ")) continue;
        CHECK_THAT(block, Catch::Contains(line + "\n"));
    }
    for (const std::string& what : validation.looked_for)
        if (installed_captures().empty()) CHECK_THAT(block, Catch::Contains(what));
}

TEST_CASE("every committed capture stands in the table of accuracy by its name") {
    const std::string block = accuracy_page_block();
    for (const fs::path& capture : installed_captures())
        CHECK_THAT(block, Catch::Contains(capture.filename().string()));
    if (installed_captures().empty()) CHECK_THAT(block, Catch::Contains("Not yet recorded: "));
}

namespace {

constexpr const char* kSimulatedManifest =
    R"({"schema": 1, "silicon": false, "device": {"name": "a model", "hardware": "h100-sxm", )"
    R"("compute_capability": 90}, "order": [], "sections": {}})";

/// What is said of a capture whose `section` holds this one record.
std::string complaint_about(Subject subject, const std::string& section, const std::string& record,
                            const std::string& binary = "") {
    const heddle::validation::test::CaptureFolder folder("damaged");
    folder.write("manifest.json", kSimulatedManifest);
    folder.write(section + ".jsonl", record + "\n");
    // Times of kernels are compared where there is a section of times.
    if (subject == Subject::timing && section != "timing") folder.write("timing.jsonl", "");
    if (!binary.empty()) folder.write(section + ".bin", binary);
    ValidationOptions options;
    options.subjects = {subject};
    options.captures = {folder.path()};
    options.allow_simulator = true;
    options.compare.workers = 1;
    try {
        validate(options);
    } catch (const heddle::Error& error) {
        return error.what();
    }
    return "no complaint";
}

/// A record of a product with this problem, algorithm and number of elements.
std::string gemm_record(const std::string& extents, const std::string& algorithm,
                        const std::string& elements) {
    return R"({"id": "g", "binary": [0, 4], "whole": false, "elements": )" + elements + R"(, "problem": {)" +
           extents +
           R"(, "a": "f32", "b": "f32", "c": "f32", "d": "f32", "compute": "f32"}, "inputs": {"generator": 1, )"
           R"("seed": "1", "a": "normal", "b": "normal", "c": "normal"}, "results": [{"algorithm": {)" +
           algorithm + R"(}, "hash": "1", "sample": 0}]})";
}

}  // namespace

TEST_CASE("values that no GPU could have recorded are one clear error, whatever is compared") {
    const std::string extents = R"("m": 1, "n": 1, "k": 64)";
    const std::string own = R"("id": 1001, "inner_shape": 8, "split_k": 1, "custom_option": 64)";
    struct Case {
        Subject subject;
        const char* section;
        std::string record, told;
    };
    const std::vector<Case> cases{
        {Subject::numerics, "numerics", gemm_record(R"("m": 1, "n": 1, "k": 4294967296)", own, "1"), ".k"},
        {Subject::numerics, "numerics", gemm_record(R"("m": -1, "n": 1, "k": 64)", own, "1"), ".m"},
        {Subject::numerics, "numerics",
         gemm_record(R"("m": 4194304, "n": 4194304, "k": 4194304, "batch": 2)", own, "1"), ".m"},
        {Subject::numerics, "numerics", gemm_record(extents, own, "4611686018427387904"), "elements"},
        {Subject::numerics, "numerics", gemm_record(extents, R"("id": 1001, "split_k": 2147483647)", "1"),
         "split_k"},
        {Subject::numerics, "numerics", gemm_record(extents, R"("id": 1e300)", "1"), ".id"},
        {Subject::numerics, "order", R"({"id": "o", "kind": "order", "algorithm": {"id": 1}, "tree": "0"})",
         "problem"},
        {Subject::numerics, "probes",
         R"({"id": "p", "binary": [0, 4], "kind": "scalar", "instruction": "x", "rows": 4611686018427387904})",
         "rows"},
        {Subject::timing, "timing",
         R"({"id": "t", "kind": "gemm", "cold": [1], "problem": {"m": 64, "n": 64, "k": 64, "a": "f32", )"
         R"("b": "f32", "c": "f32", "d": "f32", "compute": "f32"}, "algorithm": {"id": 1, "kernels": 5}})",
         "kernels"},
        {Subject::losses, "training",
         R"({"id": "r", "model": "mlp", "options": {}, "variant": "exact", "compute": "f32", "steps": -1})",
         "steps"},
    };
    for (const Case& damaged : cases) {
        CAPTURE(damaged.record);
        const std::string told = complaint_about(damaged.subject, damaged.section, damaged.record, "abcd");
        CHECK_THAT(told, Catch::Contains(damaged.told) &&
                             Catch::Contains(damaged.section + std::string(".jsonl:1")));
    }
}

TEST_CASE("a kernel's fingerprint and outputs of another kind are told with the record") {
    const std::string id =
        R"({"id": "sample/gemm simt f32 nn edges", "category": "gemm", "deterministic": true, )"
        R"("cold": [1], "fingerprint": )";
    for (const Subject subject : {Subject::kernels, Subject::timing}) {
        const std::string told = complaint_about(subject, "kernels", id + R"("no digits"})");
        CHECK_THAT(told, Catch::Contains("fingerprint") && Catch::Contains("kernels.jsonl:1"));
    }
}
