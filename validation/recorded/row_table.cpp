#include "validation/recorded/row_table.h"

#include <charconv>
#include <cmath>
#include <sstream>
#include <string>

#include "isa/common/checked.h"
#include "isa/common/text_file.h"

namespace heddle::validation {
namespace {

constexpr double kRowTableMostElements = 40e9;  // of fp16 in the 80 GB of an A100
constexpr const char* kForm = "a line has the extents and 10^9 elements per second";

}  // namespace

std::vector<RecordedRow> read_rows(const std::filesystem::path& file, std::size_t extents) {
    std::istringstream stream(read_text_file(file.string(), kMostOfPrinted));
    std::vector<RecordedRow> rows;
    std::string text;
    for (unsigned line = 1; std::getline(stream, text); ++line) {
        const auto fail = [&](const std::string& problem) {
            throw Error(problem, {file.string(), line, ""}, kForm);
        };
        if (text.empty()) continue;
        std::vector<double> numbers;
        std::stringstream fields(text);
        for (std::string field; std::getline(fields, field, ',');) {
            field.erase(0, field.find_first_not_of(' '));
            double value = 0;
            const auto result = std::from_chars(field.data(), field.data() + field.size(), value);
            if (result.ec != std::errc() || result.ptr != field.data() + field.size() || !(value > 0) ||
                !gates::kFinite.admits(value))
                fail("'" + field + "' is no number above zero");
            numbers.push_back(value);
        }
        if (numbers.size() != extents + 1)
            fail("a line has " + std::to_string(numbers.size()) + " columns instead of " +
                 std::to_string(extents + 1));
        RecordedRow row;
        double elements = 1;
        for (std::size_t i = 0; i < extents; ++i) {
            elements *= numbers[i];
            if (numbers[i] != std::floor(numbers[i])) fail("an extent is no whole number");
            if (elements > kRowTableMostElements) fail("the tensor is larger than the GPU's memory");
            row.shape.push_back(static_cast<std::int64_t>(numbers[i]));
        }
        row.microseconds = elements / numbers.back() / 1e3;
        if (!gates::kMicroseconds.admits(row.microseconds)) fail("the rate is no rate of a GPU");
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace heddle::validation
