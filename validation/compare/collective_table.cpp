#include "validation/compare/collective_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "isa/common/checked.h"
#include "validation/recorded/csv_table.h"

namespace heddle::validation {
namespace {

namespace fs = std::filesystem;

sim::CollectiveKind kind_of(std::string name, const SourceLocation& place) {
    if (name == "alltoall") name = "all_to_all";
    std::replace(name.begin(), name.end(), '_', '-');
    try {
        return sim::collective_kind(name);
    } catch (const Error& failure) {
        throw Error(failure.problem(), place, failure.remedy());
    }
}

std::string type_of(const std::string& name, const SourceLocation& place) {
    const std::map<std::string, std::string> types{
        {"half", "f16"}, {"float", "f32"}, {"int8", "i8"}, {"bfloat16", "bf16"}};
    const auto found = types.find(name);
    if (found == types.end())
        throw Error("`" + name + "` is no type of nccl-tests that is known here", place,
                    "known: half, bfloat16, float, int8");
    return found->second;
}

}  // namespace

std::vector<CollectiveRow> read_collective_table(const fs::path& file) {
    const CsvTable table(file, "a table of nccl-tests");
    const std::size_t kind = table.column("op_name"), type = table.column("nccl_dtype"),
                      ranks = table.column("num_gpus"), size = table.column("message_size"),
                      latency = table.column("latency");
    const std::map<std::string, std::uint64_t> bytes_of{{"f16", 2}, {"bf16", 2}, {"f32", 4}, {"i8", 1}};
    std::vector<CollectiveRow> rows;
    for (const CsvRow& cells : table.rows()) {
        CollectiveRow row;
        row.line = cells.line;
        row.kind = kind_of(cells.cells[kind], table.place(cells, "op_name"));
        row.type = type_of(cells.cells[type], table.place(cells, "nccl_dtype"));
        constexpr Gate kDevices{"a number of devices", 1, 1 << 20, true};
        row.ranks = static_cast<std::uint32_t>(
            kDevices.check(std::uint64_t{table.extent(cells, ranks)}, table.place(cells, "num_gpus")));
        row.bytes = table.extent(cells, size) * bytes_of.at(row.type);
        row.recorded = table.positive(cells, latency) * 1e-3;
        rows.push_back(row);
    }
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
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::validation
