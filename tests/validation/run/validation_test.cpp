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

std::string readme_block() {
    const std::string file = HEDDLE_SOURCE_DIR "/README.md";
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
}

TEST_CASE("the README's accuracy table is what the code gives") {
    ValidationOptions options;
    options.subjects = {Subject::numerics};
    options.data = data_folder();
    if (options.data.empty() || tensor_core_folder(options.data).empty()) {
        std::cout << "skipped: no tensor core recordings\n";
        return;
    }
    const std::string block = readme_block();
    const Validation validation = validate(options);
    // Comparisons with captures take minutes; what needs none is compared here.
    for (const std::string& line : lines_of(
             accuracy_table({validation.comparisons.at(0)},
                            installed_captures().empty() ? validation.missing : std::vector<std::string>{})))
        CHECK_THAT(block, Catch::Contains(line + "\n"));
}

TEST_CASE("every committed capture stands in the README by its name") {
    const std::string block = readme_block();
    for (const fs::path& capture : installed_captures())
        CHECK_THAT(block, Catch::Contains(capture.filename().string()));
    if (installed_captures().empty()) CHECK_THAT(block, Catch::Contains("not yet recorded"));
}
