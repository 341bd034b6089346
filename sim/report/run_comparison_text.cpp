// Two runs beside each other, for people and for scripts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/report/numbers.h"
#include "sim/report/run_comparison.h"
#include "sim/report/text_table.h"

namespace heddle::sim {
namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

std::string signed_time(double microseconds) {
    return (microseconds > 0 ? "+" : "") + format_microseconds(microseconds);
}

std::string change(const Both& row) {
    if (row.first <= 0) return row.second > 0 ? "new" : "";
    return format_difference(row.second, row.first);
}

std::string table(const std::string& name, const std::vector<Both>& rows, std::size_t most, bool more,
                  std::size_t width) {
    std::vector<Both> shown;
    for (const Both& row : rows)
        if (shown.size() < most && (row.difference() != 0 || !more)) shown.push_back(row);
    if (shown.empty()) return {};
    Rows cells{{name, "first", "second", "difference", "change"}};
    std::vector<bool> right{false, true, true, true, true};
    if (more) {
        cells[0].emplace_back("what changed");
        right.push_back(false);
    }
    for (const Both& row : shown) {
        cells.push_back({row.name, format_microseconds(row.first), format_microseconds(row.second),
                         signed_time(row.difference()), change(row)});
        if (more) cells.back().push_back(row.more);
    }
    return "\n" + fit_columns(std::move(cells), right, width);
}

std::string causes(const RunComparison& comparison, std::size_t width) {
    double first = 0, second = 0;
    for (const Both& kind : comparison.kinds) {
        first += kind.first;
        second += kind.second;
    }
    if (comparison.causes.empty()) return "\nkernels take the same time in both\n";
    Rows rows{{"why kernels differ", "part", "of the first"}};
    for (const Both& cause : comparison.causes)
        if (std::abs(cause.second) >= 1e-5 * std::max(first, second))
            rows.push_back({cause.name, signed_time(cause.second),
                            first > 0 ? fmt::format("{:+.1f} %", 100 * cause.second / first) : ""});
    rows.push_back({"together", signed_time(second - first),
                    first > 0 ? fmt::format("{:+.1f} %", 100 * (second - first) / first) : ""});
    return "\n" + fit_columns(std::move(rows), {false, true, true}, width);
}

std::string settings(
    const char* name,
    const std::vector<std::pair<std::string, std::pair<std::string, std::string>>>& differing,
    std::size_t width) {
    if (differing.empty()) return {};
    Rows rows{{name, "first", "second"}};
    for (const auto& [path, values] : differing)
        rows.push_back(
            {path, values.first.empty() ? "-" : values.first, values.second.empty() ? "-" : values.second});
    return "\n" + fit_columns(std::move(rows), {}, width);
}

std::string of_run(const char* which, const StoredRun& run) {
    std::string text =
        fmt::format("{}: {} ({} on {}), step {}, {} of the time cycle by cycle", which, run.folder,
                    run.workload, run.hardware, format_microseconds(run.step_us), format_share(run.cycle));
    if (run.clock_hz > 0) text += ", at " + format_si(run.clock_hz, "Hz");
    if (run.joules > 0) text += ", " + format_si(run.joules, "J");
    return text + "\n";
}

Json rows_json(const std::vector<Both>& rows) {
    Json list = Json::array();
    for (const Both& row : rows) {
        Json one{{"name", row.name}, {"first_us", row.first}, {"second_us", row.second}};
        if (!row.more.empty()) one["changed"] = row.more;
        list.push_back(std::move(one));
    }
    return list;
}

Json run_json(const StoredRun& run) {
    return {{"folder", run.folder},
            {"workload", run.workload},
            {"hardware", run.hardware},
            {"step_time_us", run.step_us},
            {"clock_hz", run.clock_hz},
            {"joules", run.joules},
            {"coverage", {{"cycle", run.cycle}, {"estimated", run.estimated}, {"unknown", run.unknown}}}};
}

}  // namespace

std::string format_run_comparison(const RunComparison& comparison, std::size_t rows, std::size_t width) {
    const StoredRun &first = comparison.first, &second = comparison.second;
    std::string text = of_run("first", first) + of_run("second", second);
    text += fmt::format("the second step takes {} of the first: {}\n",
                        first.step_us > 0 ? format_share(second.step_us / first.step_us) : "-",
                        signed_time(second.step_us - first.step_us));
    text += table("step", comparison.division, 100, false, width);
    text += causes(comparison, width);
    text += table("op kind", comparison.kinds, 100, false, width);
    text += table("op", comparison.ops, rows, true, width);
    const auto others = std::count_if(comparison.ops.begin(), comparison.ops.end(),
                                      [](const Both& op) { return op.difference() != 0; });
    if (others > static_cast<std::ptrdiff_t>(rows))
        text +=
            fmt::format("... and {} more; --rows N shows them\n", others - static_cast<std::ptrdiff_t>(rows));
    text += table("what simulated time went to", comparison.reasons, 100, false, width);
    text += settings("hardware parameter", comparison.parameters, width) +
            settings("option", comparison.options, width);
    for (const StoredRun* run : {&first, &second})
        if (run->parameters.empty())
            text += "note: " + run->folder + " has no configuration.json: its parameters are not compared\n";
    if (!first.parameters.empty() && !second.parameters.empty() && comparison.parameters.empty())
        text += "\nno parameter of the hardware differs\n";
    return text;
}

std::string run_comparison_json(const RunComparison& comparison) {
    Json json{{"first", run_json(comparison.first)}, {"second", run_json(comparison.second)}};
    json["division"] = rows_json(comparison.division);
    json["causes"] = Json::array();
    for (const Both& cause : comparison.causes)
        json["causes"].push_back({{"cause", cause.name}, {"difference_us", cause.second}});
    json["kinds"] = rows_json(comparison.kinds);
    json["ops"] = rows_json(comparison.ops);
    json["reasons"] = rows_json(comparison.reasons);
    const auto settings = [&](const char* key, const auto& differing) {
        json[key] = Json::array();
        for (const auto& [name, values] : differing)
            json[key].push_back({{"name", name}, {"first", values.first}, {"second", values.second}});
    };
    settings("parameters", comparison.parameters);
    settings("options", comparison.options);
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::sim
