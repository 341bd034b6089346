#include "validation/recorded/csv_table.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "isa/common/checked.h"
#include "isa/common/text_file.h"

namespace heddle::validation {
namespace {

std::vector<std::string> cells_of(std::string line) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::vector<std::string> cells;
    for (std::size_t begin = 0; !line.empty();) {
        const std::size_t comma = line.find(',', begin);
        cells.push_back(line.substr(begin, comma - begin));
        if (comma == std::string::npos) break;
        begin = comma + 1;
    }
    return cells;
}

template <typename Number>
std::optional<Number> number_in(const std::string& text) {
    Number value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

}  // namespace

CsvTable::CsvTable(const std::filesystem::path& file, const std::string& what) : file_(file.string()) {
    const std::string remedy = "--data names " + what;
    std::istringstream stream(read_text_file(file_, kMostOfPrinted, remedy));
    std::string text;
    if (!std::getline(stream, text)) throw Error("cannot be read", {file_, 0, ""}, remedy);
    columns_ = cells_of(text);
    for (unsigned line = 2; std::getline(stream, text); ++line) {
        CsvRow row{line, cells_of(text)};
        if (row.cells.empty()) continue;
        if (row.cells.size() > columns_.size())
            throw Error("a line has " + std::to_string(row.cells.size()) + " columns", {file_, line, ""},
                        "the heading has " + std::to_string(columns_.size()));
        row.cells.resize(columns_.size());
        rows_.push_back(std::move(row));
    }
    if (rows_.empty()) throw Error("the table has no rows", {file_, 0, ""}, remedy);
}

std::optional<std::size_t> CsvTable::find(const std::string& name) const {
    const auto found = std::find(columns_.begin(), columns_.end(), name);
    if (found == columns_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns_.begin());
}

std::optional<std::size_t> CsvTable::find_prefix(const std::string& prefix) const {
    const auto found = std::find_if(columns_.begin(), columns_.end(), [&](const std::string& name) {
        return name.compare(0, prefix.size(), prefix) == 0;
    });
    if (found == columns_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - columns_.begin());
}

std::size_t CsvTable::column(const std::string& name) const {
    if (const auto found = find(name)) return *found;
    std::string all;
    for (const std::string& each : columns_) all += (all.empty() ? "" : ", ") + each;
    throw Error("there is no column `" + name + "`", {file_, 1, ""}, "columns are: " + all);
}

double CsvTable::number(const CsvRow& row, std::size_t column) const {
    const std::optional<double> value = number_in<double>(row.cells[column]);
    if (!value || !gates::kFinite.admits(*value))
        gates::kFinite.refuse(row.cells[column], place(row, columns_[column]));
    return *value;
}

double CsvTable::positive(const CsvRow& row, std::size_t column) const {
    const double value = number(row, column);
    if (!(value > 0)) throw Error("`" + row.cells[column] + "` is not above 0", place(row, columns_[column]));
    return gates::kMicroseconds.check(value, place(row, columns_[column]));
}

std::uint32_t CsvTable::extent(const CsvRow& row, std::size_t column) const {
    const std::optional<std::uint32_t> value = number_in<std::uint32_t>(row.cells[column]);
    if (!value || *value == 0)
        throw Error("`" + row.cells[column] + "` is no whole number from 1 to 4294967295",
                    place(row, columns_[column]));
    return *value;
}

SourceLocation CsvTable::place(const CsvRow& row, const std::string& column) const {
    return {file_, row.line, column};
}

}  // namespace heddle::validation
