#include "validation/compare/collective_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "isa/common/error.h"

namespace heddle::validation {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> cells_of(std::string line) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    return cells;
}

/// Places of the columns that are needed.
std::map<std::string, std::size_t> columns_of(const std::string& heading, const fs::path& file) {
    const std::vector<std::string> names = cells_of(heading);
    std::map<std::string, std::size_t> columns;
    for (const char* name : {"op_name", "nccl_dtype", "num_gpus", "message_size", "latency"}) {
        const auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end())
            throw Error(std::string("there is no column `") + name + "`", {file.string(), 1, ""},
                        "the table needs op_name, nccl_dtype, num_gpus, message_size and latency");
        columns[name] = static_cast<std::size_t>(found - names.begin());
    }
    return columns;
}

double number_of(const std::string& text, const fs::path& file, unsigned line, const char* column) {
    try {
        std::size_t used = 0;
        const double value = std::stod(text, &used);
        if (used == text.size() && value > 0 && std::isfinite(value)) return value;
    } catch (const std::logic_error&) {  // told below
    }
    throw Error("`" + text + "` is no positive number", {file.string(), line, column});
}

sim::CollectiveKind kind_of(std::string name, const fs::path& file, unsigned line) {
    if (name == "alltoall") name = "all_to_all";
    std::replace(name.begin(), name.end(), '_', '-');
    try {
        return sim::collective_kind(name);
    } catch (const Error& failure) {
        throw Error(failure.problem(), {file.string(), line, "op_name"}, failure.remedy());
    }
}

std::string type_of(const std::string& name, const fs::path& file, unsigned line) {
    const std::map<std::string, std::string> types{
        {"half", "f16"}, {"float", "f32"}, {"int8", "i8"}, {"bfloat16", "bf16"}};
    const auto found = types.find(name);
    if (found == types.end())
        throw Error("`" + name + "` is no type of nccl-tests that is known here",
                    {file.string(), line, "nccl_dtype"}, "known: half, bfloat16, float, int8");
    return found->second;
}

}  // namespace

std::vector<CollectiveRow> read_collective_table(const fs::path& file) {
    std::ifstream stream(file);
    std::string line;
    if (!stream || !std::getline(stream, line)) throw Error("cannot read the table", {file.string(), 0, ""});
    const std::map<std::string, std::size_t> columns = columns_of(line, file);
    std::size_t most = 0;
    for (const auto& [name, place] : columns) most = std::max(most, place);
    const std::map<std::string, std::uint64_t> bytes_of{{"f16", 2}, {"bf16", 2}, {"f32", 4}, {"i8", 1}};
    std::vector<CollectiveRow> rows;
    for (unsigned number = 2; std::getline(stream, line); ++number) {
        const std::vector<std::string> cells = cells_of(line);
        if (cells.empty()) continue;
        if (cells.size() <= most) throw Error("the line has too few columns", {file.string(), number, ""});
        CollectiveRow row;
        row.line = number;
        row.kind = kind_of(cells[columns.at("op_name")], file, number);
        row.type = type_of(cells[columns.at("nccl_dtype")], file, number);
        row.ranks =
            static_cast<std::uint32_t>(number_of(cells[columns.at("num_gpus")], file, number, "num_gpus"));
        row.bytes = static_cast<std::uint64_t>(
                        number_of(cells[columns.at("message_size")], file, number, "message_size")) *
                    bytes_of.at(row.type);
        row.recorded = number_of(cells[columns.at("latency")], file, number, "latency") * 1e-3;
        rows.push_back(row);
    }
    if (rows.empty()) throw Error("the table has no rows", {file.string(), 0, ""});
    return rows;
}

void time_collectives(std::vector<CollectiveRow>& rows, sim::CollectiveTimer& timer) {
    for (CollectiveRow& row : rows) {
        sim::CollectiveRequest request;
        request.kind = row.kind;
        request.bytes = row.bytes;
        request.type = row.type;
        request.ranks.resize(row.ranks);
        std::iota(request.ranks.begin(), request.ranks.end(), 0u);
        const sim::CollectiveResult result = timer.time(request);
        row.simulated = result.seconds;
        row.algorithm = result.algorithm;
        row.protocol = result.protocol;
    }
}

CollectiveErrors errors_of(const std::vector<CollectiveRow>& rows) {
    CollectiveErrors errors;
    errors.n = rows.size();
    if (rows.empty()) return errors;
    std::vector<double> magnitudes, signs;
    for (const CollectiveRow& row : rows) {
        signs.push_back(row.error());
        magnitudes.push_back(std::fabs(row.error()));
    }
    std::sort(magnitudes.begin(), magnitudes.end());
    std::sort(signs.begin(), signs.end());
    const auto at = [](const std::vector<double>& sorted, double part) {
        return sorted[std::min(sorted.size() - 1,
                               static_cast<std::size_t>(part * static_cast<double>(sorted.size())))];
    };
    errors.median = at(magnitudes, 0.5);
    errors.p90 = at(magnitudes, 0.9);
    errors.worst = magnitudes.back();
    errors.mean =
        std::accumulate(magnitudes.begin(), magnitudes.end(), 0.0) / static_cast<double>(rows.size());
    errors.bias = at(signs, 0.5);
    return errors;
}

std::string format_collective_table(const std::vector<CollectiveRow>& rows, const std::string& heading,
                                    bool all) {
    std::string text = heading + "\n";
    if (all) {
        text += fmt::format("\n{:<15} {:>3} {:<4} {:>11} {:>12} {:>12} {:>8}  {}\n", "collective", "n",
                            "type", "bytes", "recorded/us", "simulated/us", "error", "as");
        for (const CollectiveRow& r : rows)
            text += fmt::format("{:<15} {:>3} {:<4} {:>11} {:>12.2f} {:>12.2f} {:>+7.1f} %  {} {}\n",
                                sim::name_of(r.kind), r.ranks, r.type, r.bytes, r.recorded * 1e6,
                                r.simulated * 1e6, 100 * r.error(), sim::name_of(r.algorithm),
                                sim::name_of(r.protocol));
    }
    text += fmt::format("\n{:<15} {:>3} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "collective", "n", "rows",
                        "median", "p90", "mean", "worst", "bias");
    const auto line = [&](const std::string& name, const std::string& ranks, const CollectiveErrors& e) {
        text +=
            fmt::format("{:<15} {:>3} {:>6} {:>7.1f} % {:>7.1f} % {:>7.1f} % {:>7.1f} % {:>+7.1f} %\n", name,
                        ranks, e.n, 100 * e.median, 100 * e.p90, 100 * e.mean, 100 * e.worst, 100 * e.bias);
    };
    std::map<std::pair<sim::CollectiveKind, std::uint32_t>, std::vector<CollectiveRow>> groups;
    for (const CollectiveRow& row : rows) groups[{row.kind, row.ranks}].push_back(row);
    for (const auto& [key, group] : groups)
        line(sim::name_of(key.first), std::to_string(key.second), errors_of(group));
    line("all", "", errors_of(rows));
    return text;
}

std::string collective_table_json(const std::vector<CollectiveRow>& rows) {
    const CollectiveErrors e = errors_of(rows);
    nlohmann::ordered_json json{{"n", e.n},       {"median", e.median}, {"p90", e.p90},
                                {"mape", e.mean}, {"worst", e.worst},   {"bias", e.bias}};
    for (const CollectiveRow& r : rows)
        json["rows"].push_back({{"line", r.line},
                                {"collective", sim::name_of(r.kind)},
                                {"ranks", r.ranks},
                                {"type", r.type},
                                {"bytes", r.bytes},
                                {"recorded_us", r.recorded * 1e6},
                                {"simulated_us", r.simulated * 1e6},
                                {"algorithm", sim::name_of(r.algorithm)},
                                {"protocol", sim::name_of(r.protocol)}});
    return json.dump(2) + "\n";
}

}  // namespace heddle::validation
