// Long tables. All rows are in the page, whose script sorts, filters and saves them; the first rows are
// visible without the script.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace heddle::sim {

/// One column of a long table.
struct DataColumn {
    std::string name;
    /// The unit of a column of numbers, as in format_value(); "text" for a column of text.
    std::string unit = "text";
    bool text() const { return unit == "text"; }
};

/// A cell that is sorted as a number and shown as text, such as "50 MiB".
struct ShownNumber {
    double value = 0;
    std::string text;
};

/// A cell. A number that is not finite is shown as an empty cell.
using DataCell = std::variant<std::string, double, ShownNumber>;

/// One long table. Every row has a cell for each column.
struct DataTable {
    std::string id;     ///< unique in its page: letters, digits, hyphens
    std::string title;  ///< text, for screen readers
    std::vector<DataColumn> columns;
    std::vector<std::vector<DataCell>> rows;
};

/// Removes the columns in which no row has anything.
void drop_empty_columns(DataTable& table);

/// Number of rows that are visible without the page's script.
inline constexpr std::size_t kRowsWithoutScript = 100;

/// Returns the table as HTML, with all rows as JSON for the page's script.
std::string data_table_html(const DataTable& table);

}  // namespace heddle::sim
