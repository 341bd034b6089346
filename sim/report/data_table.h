// Long tables: all rows are in the page, which sorts, filters and saves them; the first ones need no script.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace heddle::sim {

struct DataColumn {
    std::string name;
    /// Of numbers: see format_value(). Without one, cells are text.
    std::string unit = "text";
    bool text() const { return unit == "text"; }
};

/// Sorted as a number, shown as its text: "50 MiB".
struct ShownNumber {
    double value = 0;
    std::string text;
};

/// A number that is not finite is an empty cell.
using DataCell = std::variant<std::string, double, ShownNumber>;

struct DataTable {
    std::string id;     ///< unique in its page: letters, digits, hyphens
    std::string title;  ///< text, for those who hear the page
    std::vector<DataColumn> columns;
    std::vector<std::vector<DataCell>> rows;
};

/// Rows that stand in the page without its script.
inline constexpr std::size_t kRowsWithoutScript = 100;

std::string data_table_html(const DataTable& table);

}  // namespace heddle::sim
