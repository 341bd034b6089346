#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "validation/compare/gemm_table.h"

namespace heddle::validation {
namespace {

/// Where the time goes, in a few words.
std::string reason_of(const sim::GemmAnswer& answer) {
    std::string bound, before;
    for (const sim::LaunchOutcome& kernel : answer.kernels) {
        if (kernel.bound_by == before) continue;
        bound += (bound.empty() ? "" : ", then ") + kernel.bound_by;
        before = kernel.bound_by;
    }
    return fmt::format("launch {:.0f} %, tensor {:.0f}, L2 {:.0f}, DRAM {:.0f} ({}), {:.0f} MHz",
                       100 * answer.launch, 100 * answer.tensor, 100 * answer.l2, 100 * answer.memory, bound,
                       answer.clock / 1e6);
}

nlohmann::json json_of(const GemmErrors& errors) {
    return {{"n", errors.n},     {"mape", errors.mape}, {"median", errors.median},
            {"p90", errors.p90}, {"bias", errors.bias}, {"r", errors.r}};
}

std::size_t unfinished_of(const std::vector<const GemmRow*>& rows, bool simulated) {
    return simulated ? static_cast<std::size_t>(std::count_if(
                           rows.begin(), rows.end(), [](const GemmRow* row) { return !row->simulated; }))
                     : 0;
}

/// A line of the tables by time and by m. What was not simulated is no part of the errors, and is said.
std::string class_line(const char* name, const std::vector<const GemmRow*>& rows, bool simulated) {
    const GemmErrors errors = errors_of(rows, simulated ? GemmFigure::simulated : GemmFigure::estimated);
    const GemmErrors closed = errors_of(rows, GemmFigure::estimated);
    const std::size_t unfinished = unfinished_of(rows, simulated);
    const double spread = spread_of(rows);
    return fmt::format(
        "{:<15} {:>6} {:>4.1f} % {:>4.1f} % {:>4.1f} % {:>+5.1f} % {:>6.4f} {:>5.1f} % ({:>+5.1f}) {:>6.1f} "
        "% "
        "{:>8}{}\n",
        name, errors.n, 100 * errors.mape, 100 * errors.median, 100 * errors.p90, 100 * errors.bias, errors.r,
        100 * closed.mape, 100 * closed.bias, 100 * errors_of(rows, GemmFigure::roofline).mape,
        spread > 0 ? fmt::format("{:.1f} %", 100 * spread) : "-",
        unfinished > 0 ? fmt::format("  {} not simulated", unfinished) : "");
}

std::string heading_line(const char* first) {
    return fmt::format("{:<15} {:>6} {:>6} {:>6} {:>6} {:>7} {:>6} {:>15} {:>8} {:>8}\n", first, "shapes",
                       "mean", "median", "90 %", "bias", "r", "closed (bias)", "roofline", "spread");
}

nlohmann::json class_json(const char* name, const std::vector<const GemmRow*>& rows, bool simulated) {
    nlohmann::json one = json_of(errors_of(rows, simulated ? GemmFigure::simulated : GemmFigure::estimated));
    const GemmErrors closed = errors_of(rows, GemmFigure::estimated);
    one["name"] = name;
    one["unfinished"] = unfinished_of(rows, simulated);
    one["roofline_mape"] = errors_of(rows, GemmFigure::roofline).mape;
    one["closed_form_mape"] = closed.mape;
    one["closed_form_bias"] = closed.bias;
    one["spread"] = spread_of(rows);
    return one;
}

std::string name_of(const GemmRow& row) {
    return fmt::format("{} {} {}", row.m, row.n, row.k) +
           (row.batch > 1 ? fmt::format(" x{}", row.batch) : std::string());
}

/// Errors of a class of rows by other software: how far its times are from those of the column at hand.
std::string format_stacks(const std::vector<GemmRow>& rows, const std::vector<std::string>& others) {
    if (others.empty()) return {};
    std::string text = fmt::format("\nHow far other columns of the table are from this one (mean, median, 90 %):\n{:<15}", "recorded time");
    for (const std::string& name : others) text += fmt::format(" {:>28}", name);
    text += "\n";
    for (const GemmClass& size : gemm_classes()) {
        const std::vector<const GemmRow*> chosen = rows_of(rows, size);
        if (chosen.empty()) continue;
        text += fmt::format("{:<15}", size.name);
        for (std::size_t i = 0; i < others.size(); ++i) {
            const GemmErrors apart = disagreement_of(chosen, i);
            text += apart.n == 0 ? fmt::format(" {:>28}", "none")
                                 : fmt::format(" {:>28}", fmt::format("{:.1f} / {:.1f} / {:.1f} % of {}", 100 * apart.mape,
                                                                      100 * apart.median, 100 * apart.p90, apart.n));
        }
        text += "\n";
    }
    return text;
}

std::string format_watts(const std::vector<GemmRow>& rows, bool simulated) {
    if (watt_errors_of(rows_of(rows, gemm_classes().back()), simulated).n == 0) return {};
    std::string text = fmt::format("\n{:<15} {:>6} {:>7} {:>7} {:>7} {:>7} {:>11}\n", "watts, by time", "shapes", "mean",
                                   "median", "90 %", "bias", "closed form");
    for (const GemmClass& size : gemm_classes()) {
        const std::vector<const GemmRow*> chosen = rows_of(rows, size);
        const GemmErrors errors = watt_errors_of(chosen, simulated);
        if (errors.n == 0) continue;
        text += fmt::format("{:<15} {:>6} {:>5.1f} % {:>5.1f} % {:>5.1f} % {:>+5.1f} % {:>9.1f} %\n", size.name, errors.n,
                            100 * errors.mape, 100 * errors.median, 100 * errors.p90, 100 * errors.bias,
                            100 * watt_errors_of(chosen, false).mape);
    }
    return text;
}

}  // namespace

std::string format_gemm_table(const std::vector<GemmRow>& rows, const std::string& heading, bool simulated,
                              const std::vector<std::string>& others) {
    const GemmFigure main = simulated ? GemmFigure::simulated : GemmFigure::estimated;
    std::string text = heading + "\n\n";
    const std::vector<const GemmRow*> every = rows_of(rows, gemm_classes().back());
    if (const std::size_t unfinished = unfinished_of(every, simulated); unfinished > 0)
        text += fmt::format("{} of {} rows were not simulated; the errors are those of the others.\n\n",
                            unfinished, rows.size());
    text += heading_line("recorded time");
    for (const GemmClass& size : gemm_classes()) {
        const std::vector<const GemmRow*> chosen = rows_of(rows, size);
        if (!chosen.empty()) text += class_line(size.name, chosen, simulated);
    }
    text += "\n" + heading_line("rows of A");
    for (const GemmClass& extent : gemm_classes_of_m()) {
        const std::vector<const GemmRow*> chosen = rows_of_m(rows, extent);
        if (!chosen.empty()) text += class_line(extent.name, chosen, simulated);
    }
    text += format_stacks(rows, others);
    text += format_watts(rows, simulated);
    text += "\nFurthest from what was recorded (microseconds):\n";
    text += fmt::format("{:<20} {:>9} {:>9} {:>8} {:>9} {:>9}\n", "m x n x k", "recorded",
                        simulated ? "simulated" : "estimated", "error", "closed", "roofline");
    for (const GemmRow* row : worst_of(rows, main)) {
        const double value = simulated ? row->simulated_us() : row->estimated;
        text += fmt::format("{:<20} {:>9.2f} {:>9.2f} {:>+6.1f} % {:>9.2f} {:>9.2f}", name_of(*row),
                            row->recorded, value, 100 * (value / row->recorded - 1), row->estimated,
                            row->roofline);
        text += "\n";
        // Lines of their own: a terminal has 80 to 100 columns.
        if (simulated) text += "    " + reason_of(*row->simulated) + "\n    " + row->simulated->choice + "\n";
    }
    for (const GemmRow& row : rows)
        if (!row.failure.empty()) text += fmt::format("not simulated: {}: {}\n", name_of(row), row.failure);
    return text;
}

std::string gemm_table_json(const std::vector<GemmRow>& rows, bool simulated,
                            const std::vector<std::string>& others) {
    const GemmFigure main = simulated ? GemmFigure::simulated : GemmFigure::estimated;
    const std::vector<const GemmRow*> all = rows_of(rows, gemm_classes().back());
    nlohmann::json json = class_json(gemm_classes().back().name, all, simulated);
    json.erase("name");
    json["simulated"] = simulated;
    for (const GemmClass& size : gemm_classes()) {
        const std::vector<const GemmRow*> chosen = rows_of(rows, size);
        if (chosen.empty()) continue;
        nlohmann::json one = class_json(size.name, chosen, simulated);
        for (std::size_t i = 0; i < others.size(); ++i)
            if (const GemmErrors apart = disagreement_of(chosen, i); apart.n > 0)
                one["stacks"][others[i]] = json_of(apart);
        if (const GemmErrors watts = watt_errors_of(chosen, simulated); watts.n > 0) {
            one["watts"] = json_of(watts);
            one["watts"]["closed_form_mape"] = watt_errors_of(chosen, false).mape;
        }
        json["classes"].push_back(one);
    }
    for (const GemmClass& extent : gemm_classes_of_m()) {
        const std::vector<const GemmRow*> chosen = rows_of_m(rows, extent);
        if (!chosen.empty()) json["classes_of_m"].push_back(class_json(extent.name, chosen, simulated));
    }
    const auto row_json = [&](const GemmRow& row) {
        nlohmann::json one = {{"m", row.m},
                              {"n", row.n},
                              {"k", row.k},
                              {"recorded_us", row.recorded},
                              {"roofline_us", row.roofline},
                              {"closed_form_us", row.estimated}};
        if (row.batch > 1) one["batch"] = row.batch;
        if (row.recordings.size() > 1) one["recordings_us"] = row.recordings;
        for (std::size_t i = 0; i < others.size() && i < row.others.size(); ++i)
            if (row.others[i] > 0) one["stacks"][others[i]] = row.others[i];
        if (row.recorded_watts > 0) {
            one["recorded_w"] = row.recorded_watts;
            one["closed_form_w"] = row.estimated_watts;
        }
        if (!row.failure.empty()) one["failure"] = row.failure;
        if (simulated && !row.simulated) return one;
        if (simulated) {
            const sim::GemmAnswer& answer = *row.simulated;
            one["simulated_us"] = row.simulated_us();
            one["error"] = row.simulated_us() / row.recorded - 1;
            one["choice"] = answer.choice;
            one["clock_mhz"] = answer.clock / 1e6;
            one["power_w"] = answer.power;
            one["reason"] = {{"launch", answer.launch},
                             {"tensor", answer.tensor},
                             {"l2", answer.l2},
                             {"dram", answer.memory}};
            for (const sim::LaunchOutcome& kernel : answer.kernels) {
                one["kernels"].push_back(
                    {{"us", kernel.seconds * 1e6},
                     {"bound_by", kernel.bound_by},
                     {"simulated_part", kernel.sampled ? kernel.sampled->simulated : 1.0}});
            }
        } else {
            one["error"] = row.estimated / row.recorded - 1;
        }
        return one;
    };
    for (const GemmRow* row : worst_of(rows, main)) json["worst"].push_back(row_json(*row));
    for (const GemmRow& row : rows) json["rows"].push_back(row_json(row));
    return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace heddle::validation
