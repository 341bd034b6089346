// The table of attention times for people and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "validation/compare/attention_table.h"

namespace heddle::validation {
namespace {

double error_of(const AttentionRow& row) {
    return row.simulated_us() / row.recorded - 1;
}

AttentionErrors summary(const std::string& name, const std::vector<const AttentionRow*>& rows) {
    AttentionErrors result;
    result.name = name;
    std::vector<double> errors;
    for (const AttentionRow* row : rows) {
        if (!row->simulated) continue;
        errors.push_back(std::abs(error_of(*row)));
        result.bias += error_of(*row);
        result.roofline_mape += std::abs(row->roofline / row->recorded - 1);
    }
    result.n = errors.size();
    if (errors.empty()) return result;
    const auto count = static_cast<double>(errors.size());
    for (const double error : errors) result.mape += error / count;
    result.bias /= count;
    result.roofline_mape /= count;
    std::sort(errors.begin(), errors.end());
    const auto quantile = [&](double part) {
        return errors[static_cast<std::size_t>(std::lround(part * (count - 1)))];
    };
    result.median = quantile(0.5);
    result.p90 = quantile(0.9);
    return result;
}

std::vector<const AttentionRow*> worst_of(const std::vector<AttentionRow>& rows, std::size_t count) {
    std::vector<const AttentionRow*> worst;
    for (const AttentionRow& row : rows)
        if (row.simulated) worst.push_back(&row);
    std::stable_sort(worst.begin(), worst.end(), [](const AttentionRow* a, const AttentionRow* b) {
        return std::abs(error_of(*a)) > std::abs(error_of(*b));
    });
    worst.resize(std::min(count, worst.size()));
    return worst;
}

}  // namespace

std::vector<AttentionErrors> errors_of(const std::vector<AttentionRow>& rows) {
    struct Size {
        const char* name;
        double from, to;
    };
    constexpr Size sizes[] = {{"below 20 us", 0, 20},
                              {"20-100 us", 20, 100},
                              {"100-1000 us", 100, 1000},
                              {"above 1 ms", 1000, 1e300},
                              {"all", 0, 1e300}};
    std::vector<AttentionErrors> result;
    for (const std::uint32_t dim : {64u, 128u, 0u}) {
        for (const Size& size : sizes) {
            std::vector<const AttentionRow*> chosen;
            for (const AttentionRow& row : rows) {
                if ((dim == 0 || row.head_dim == dim) && row.recorded >= size.from && row.recorded < size.to)
                    chosen.push_back(&row);
            }
            const std::string heads = dim == 0 ? "all heads" : "heads of " + std::to_string(dim);
            const AttentionErrors errors = summary(heads + ", " + size.name, chosen);
            if (errors.n > 0) result.push_back(errors);
        }
    }
    return result;
}

AttentionErrors watt_errors_of(const std::vector<AttentionRow>& rows, double from) {
    // As times are compared: a row of watts.
    std::vector<AttentionRow> watts;
    for (const AttentionRow& row : rows) {
        if (!row.simulated || row.recorded_watts <= 0 || row.recorded < from) continue;
        AttentionRow one = row;
        one.recorded = one.roofline = row.recorded_watts;
        one.simulated->preparation = one.simulated->replay = 0;
        one.simulated->attention = row.simulated->power * 1e-6;
        watts.push_back(one);
    }
    std::vector<const AttentionRow*> all;
    for (const AttentionRow& row : watts) all.push_back(&row);
    return summary("watts", all);
}

std::string format_attention_table(const std::vector<AttentionRow>& rows, const std::string& heading) {
    std::string text = heading + "\n\n";
    text += fmt::format("{:<28}{:>6}{:>9}{:>9}{:>9}{:>9}{:>10}\n", "series", "rows", "MAPE", "median", "p90",
                        "bias", "roofline");
    for (const AttentionErrors& e : errors_of(rows)) {
        text += fmt::format("{:<28}{:>6}{:>8.1f}%{:>8.1f}%{:>8.1f}%{:>+8.1f}%{:>9.1f}%\n", e.name, e.n,
                            100 * e.mape, 100 * e.median, 100 * e.p90, 100 * e.bias, 100 * e.roofline_mape);
    }
    for (const double from : {0.0, 20.0}) {
        const AttentionErrors watts = watt_errors_of(rows, from);
        if (watts.n > 0)
            text += fmt::format("{:<28}{:>6}{:>8.1f}%{:>8.1f}%{:>8.1f}%{:>+8.1f}%\n",
                                from == 0 ? "watts" : "watts, above 20 us", watts.n, 100 * watts.mape,
                                100 * watts.median, 100 * watts.p90, 100 * watts.bias);
    }
    text += fmt::format("\n{:<34}{:>11}{:>11}{:>8}{:>10}{:>10}{:>9}{:>8}\n", "furthest off", "recorded",
                        "simulated", "error", "prepare", "attend", "clock", "run");
    for (const AttentionRow* row : worst_of(rows, 10)) {
        const AttentionAnswer& a = *row->simulated;
        text +=
            fmt::format("{:<34}{:>8.1f} us{:>8.1f} us{:>+7.1f}%{:>7.1f} us{:>7.1f} us{:>6.2f}GHz{:>7.1f}%\n",
                        fmt::format("{} x {}, {} heads / {} of {}", row->batch, row->sequence, row->heads,
                                    row->kv_heads, row->head_dim),
                        row->recorded, row->simulated_us(), 100 * error_of(*row), 1e6 * a.preparation,
                        1e6 * a.attention, 1e-9 * a.clock, 100 * a.simulated);
    }
    for (const AttentionRow& row : rows) {
        if (!row.failure.empty())
            text += fmt::format("not simulated: {} x {}, {} heads of {}: {}\n", row.batch, row.sequence,
                                row.heads, row.head_dim, row.failure);
    }
    return text;
}

std::string attention_table_json(const std::vector<AttentionRow>& rows) {
    using Json = nlohmann::ordered_json;
    const auto of = [](const AttentionErrors& e) {
        return Json{{"name", e.name},
                    {"n", e.n},
                    {"mape", e.mape},
                    {"median", e.median},
                    {"p90", e.p90},
                    {"bias", e.bias},
                    {"roofline_mape", e.roofline_mape}};
    };
    std::vector<const AttentionRow*> all;
    all.reserve(rows.size());
    for (const AttentionRow& row : rows) all.push_back(&row);
    Json json = of(summary("all", all));
    if (const AttentionErrors watts = watt_errors_of(rows, 0); watts.n > 0) {
        json["watts"] = {{"n", watts.n}, {"mape", watts.mape}, {"median", watts.median}, {"bias", watts.bias}};
        json["watts"]["above_20_us"] = watt_errors_of(rows, 20).mape;
    }
    json["series"] = Json::array();
    for (const AttentionErrors& errors : errors_of(rows)) json["series"].push_back(of(errors));
    const auto line = [](const AttentionRow& row) {
        Json entry{{"batch", row.batch},       {"sequence", row.sequence}, {"heads", row.heads},
                   {"kv_heads", row.kv_heads}, {"head_dim", row.head_dim}, {"recorded_us", row.recorded}};
        if (row.simulated) {
            entry["simulated_us"] = row.simulated_us();
            entry["preparation_us"] = 1e6 * row.simulated->preparation;
            entry["attention_us"] = 1e6 * row.simulated->attention;
            entry["clock"] = row.simulated->clock;
            entry["power_w"] = row.simulated->power;
            if (row.recorded_watts > 0) entry["recorded_w"] = row.recorded_watts;
            entry["simulated_part"] = row.simulated->simulated;
        } else {
            entry["failure"] = row.failure;
        }
        return entry;
    };
    json["worst"] = Json::array();
    for (const AttentionRow* row : worst_of(rows, 10)) json["worst"].push_back(line(*row));
    json["rows"] = Json::array();
    for (const AttentionRow& row : rows) json["rows"].push_back(line(row));
    return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::validation
