#include "sim/report/data_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/report/numbers.h"
#include "sim/report/page.h"

namespace heddle::sim {
namespace {

using Json = nlohmann::ordered_json;

std::string shown(const DataCell& cell, const DataColumn& column) {
    if (const std::string* text = std::get_if<std::string>(&cell)) return *text;
    if (const ShownNumber* number = std::get_if<ShownNumber>(&cell)) return number->text;
    return format_value(std::get<double>(cell), column.unit);
}

std::string row_html(const DataTable& table, const std::vector<DataCell>& row) {
    std::string html = "<tr>";
    for (std::size_t c = 0; c < table.columns.size(); ++c)
        html += fmt::format("<td{}>{}</td>", table.columns[c].text() ? "" : " class=\"r\"",
                            escape_html(shown(row.at(c), table.columns[c])));
    return html + "</tr>\n";
}

Json number_json(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json cell_json(const DataCell& cell) {
    if (const std::string* text = std::get_if<std::string>(&cell)) return *text;
    if (const ShownNumber* number = std::get_if<ShownNumber>(&cell))
        return Json::array({number_json(number->value), number->text});
    return number_json(std::get<double>(cell));
}

Json table_json(const DataTable& table) {
    Json json{{"id", table.id}};
    json["columns"] = Json::array();
    for (const DataColumn& column : table.columns)
        json["columns"].push_back({{"name", column.name}, {"unit", column.unit}});
    json["rows"] = Json::array();
    for (const std::vector<DataCell>& row : table.rows) {
        Json cells = Json::array();
        for (const DataCell& cell : row) cells.push_back(cell_json(cell));
        json["rows"].push_back(std::move(cells));
    }
    return json;
}

}  // namespace

void drop_empty_columns(DataTable& table) {
    for (std::size_t c = table.columns.size(); c-- > 0;) {
        const bool empty = std::all_of(table.rows.begin(), table.rows.end(), [&](const std::vector<DataCell>& row) {
            return shown(row.at(c), table.columns[c]).empty();
        });
        if (!empty || table.rows.empty()) continue;
        const auto at = static_cast<std::ptrdiff_t>(c);
        table.columns.erase(table.columns.begin() + at);
        for (std::vector<DataCell>& row : table.rows) row.erase(row.begin() + at);
    }
}

std::string data_table_html(const DataTable& table) {
    if (table.rows.empty()) return {};
    std::string html = fmt::format(
        "<div class=\"data-table\" id=\"table-{}\">\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
        "aria-label=\"{}\"><table><thead><tr>",
        table.id, escape_html(table.title));
    for (const DataColumn& column : table.columns)
        html += fmt::format("<th scope=\"col\"{}>{}</th>", column.text() ? "" : " class=\"r\"",
                            escape_html(column.name));
    html += "</tr></thead>\n<tbody>\n";
    const std::size_t shown_rows = std::min(table.rows.size(), kRowsWithoutScript);
    for (std::size_t i = 0; i < shown_rows; ++i) html += row_html(table, table.rows[i]);
    html += "</tbody></table></div>\n";
    if (table.rows.size() > shown_rows)
        html +=
            fmt::format("<p class=\"faint count\">The first {} of {}.</p>\n", shown_rows, table.rows.size());
    return html + "<script type=\"application/json\">" + json_for_script(table_json(table)) +
           "</script>\n</div>\n";
}

}  // namespace heddle::sim
