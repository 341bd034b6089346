// Tables that somebody recorded, as CSV: a heading, then a row a line; no quotes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "isa/common/error.h"

namespace heddle::validation {

struct CsvRow {
    unsigned line = 0;  ///< of the file, 1-based
    std::vector<std::string>
        cells;  ///< as many as the table has columns; those after the line's end are empty
};

/// The heading and the rows of a file. A line may end with a carriage return; an empty one is no row.
class CsvTable {
  public:
    /// Throws heddle::Error with file and line where the file cannot be read, has no rows, or a row has more
    /// cells than the heading. `what` is for the remedy: "a table of GEMM times".
    CsvTable(const std::filesystem::path& file, const std::string& what);

    const std::vector<std::string>& columns() const { return columns_; }
    const std::vector<CsvRow>& rows() const { return rows_; }

    /// The place of a column. Throws heddle::Error, which lists those that are there.
    std::size_t column(const std::string& name) const;
    std::optional<std::size_t> find(const std::string& name) const;
    /// The first column whose name begins so.
    std::optional<std::size_t> find_prefix(const std::string& prefix) const;

    /// A cell as a finite number, as a time above 0 (microseconds, or longer units), as a whole number from 1
    /// on. They throw heddle::Error with file, line and column.
    double number(const CsvRow& row, std::size_t column) const;
    double positive(const CsvRow& row, std::size_t column) const;
    std::uint32_t extent(const CsvRow& row, std::size_t column) const;

    /// Where an error is: in the file, in a line, in a column.
    SourceLocation place(const CsvRow& row, const std::string& column = "") const;

  private:
    std::string file_;
    std::vector<std::string> columns_;
    std::vector<CsvRow> rows_;
};

}  // namespace heddle::validation
