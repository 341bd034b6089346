#include "sim/report/stall_charts.h"

#include <algorithm>
#include <set>

#include "sim/report/numbers.h"

namespace heddle::sim {
namespace {

constexpr std::size_t kKernelsShown = 20;

/// Shares of a whole, which may have been summed up in another unit.
std::map<std::string, double> shares(std::map<std::string, double> parts, double whole) {
    if (whole > 0)
        for (auto& [name, amount] : parts) amount /= whole;
    return parts;
}

struct Weighted {
    std::map<std::string, double> parts;
    double weight = 0;
    void add(const std::map<std::string, double>& fractions, double by) {
        weight += by;
        for (const auto& [name, fraction] : fractions) parts[name] += fraction * by;
    }
};

/// Rows by falling weight.
std::vector<PartsRow> rows_of(const std::map<std::string, Weighted>& sums, bool as_shares) {
    std::vector<std::pair<double, PartsRow>> rows;
    rows.reserve(sums.size());
    for (const auto& [label, sum] : sums)
        rows.push_back({sum.weight, {label, as_shares ? shares(sum.parts, sum.weight) : sum.parts}});
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<PartsRow> result;
    result.reserve(rows.size());
    for (auto& [weight, row] : rows) result.push_back(std::move(row));
    return result;
}

Chart share_chart(const char* id, const char* title, const char* reading, const char* rows) {
    Chart chart;
    chart.id = id;
    chart.title = title;
    chart.reading = reading;
    chart.x = {"share of its time", "%"};
    chart.y.name = rows;
    chart.stacked = true;
    chart.full = 1;
    return chart;
}

}  // namespace

void add_stacked(Chart& chart, const std::vector<PartsRow>& rows) {
    std::map<std::string, double> sums;
    for (const PartsRow& row : rows)
        for (const auto& [name, amount] : row.parts) sums[name] += amount;
    std::vector<std::pair<double, std::string>> falling;
    std::vector<std::pair<int, std::string>> fixed;  // by the number of the colour, which says the place, too
    for (const auto& [name, sum] : sums) {
        if (!(sum > 0)) continue;
        if (const int colour = colour_of_part(name); colour >= 0) {
            fixed.emplace_back(colour, name);
        } else {
            falling.emplace_back(sum, name);
        }
    }
    std::sort(fixed.begin(), fixed.end());
    std::stable_sort(falling.begin(), falling.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    const bool too_many = falling.size() > kPaletteSize;
    if (too_many) falling.resize(kPaletteSize - 1);
    chart.stacked = true;
    std::set<std::string> own;
    const auto add = [&](const std::string& name, int colour) {
        ChartSeries series{name, {}};
        series.colour = colour;
        for (const PartsRow& row : rows) {
            const auto found = row.parts.find(name);
            series.y.push_back(found == row.parts.end() ? 0 : found->second);
        }
        chart.series.push_back(std::move(series));
        own.insert(name);
    };
    for (const auto& [colour, name] : fixed) add(name, colour);
    for (std::size_t i = 0; i < falling.size(); ++i) add(falling[i].second, static_cast<int>(i));
    if (too_many) {
        ChartSeries other{"other", {}};
        other.colour = kPaletteSize - 1;
        for (const PartsRow& row : rows) {
            double sum = 0;
            for (const auto& [name, amount] : row.parts)
                if (!own.contains(name)) sum += amount;
            other.y.push_back(sum);
        }
        chart.series.push_back(std::move(other));
    }
    for (const PartsRow& row : rows) chart.labels.push_back(row.label);
}

std::vector<const KernelResult*> slowest_kernels(const RunResult& result) {
    std::vector<const KernelResult*> kernels;
    for (const KernelResult& kernel : result.kernels) kernels.push_back(&kernel);
    std::stable_sort(kernels.begin(), kernels.end(),
                     [](const KernelResult* a, const KernelResult* b) { return a->time_us > b->time_us; });
    return kernels;
}

Chart stalls_by_kind(const RunResult& result) {
    Chart chart = share_chart(
        "stalls-by-kind", "What the time of each kind of op goes to",
        "A GPU's issue slots, or a TPU's matrix units: what they did in each cycle, or what they waited "
        "for. Issued and useful are work; the longest other part says what would help.",
        "op kind");
    std::map<std::string, Weighted> kinds;
    for (const KernelResult& kernel : result.kernels)
        if (!kernel.time_by_reason.empty()) kinds[kernel.kind].add(kernel.time_by_reason, kernel.time_us);
    std::vector<PartsRow> rows = rows_of(kinds, true);
    if (rows.empty()) return chart;
    Weighted whole;
    for (const auto& [kind, sum] : kinds) {
        whole.weight += sum.weight;
        for (const auto& [name, amount] : sum.parts) whole.parts[name] += amount;
    }
    rows.insert(rows.begin(), {"the whole step", shares(whole.parts, whole.weight)});
    add_stacked(chart, rows);
    return chart;
}

Chart stalls_by_kernel(const RunResult& result) {
    Chart chart = share_chart("stalls-by-kernel", "Where the slowest kernels spend their time",
                              "The same for single kernels, the slowest first; equal kernels are shown once.",
                              "kernel");
    std::vector<PartsRow> rows;
    std::set<std::pair<std::string, std::string>> seen;
    for (const KernelResult* kernel : slowest_kernels(result)) {
        if (rows.size() == kKernelsShown) break;
        if (kernel->time_by_reason.empty() || !seen.insert({kernel->name, kernel->op_name}).second) continue;
        rows.push_back({kernel->op_name.empty() ? kernel->name : kernel->op_name, kernel->time_by_reason});
    }
    add_stacked(chart, rows);
    return chart;
}

Chart stalls_by_unit(const RunResult& result) {
    Chart chart = share_chart(
        "stalls-by-unit", "What each unit does over the step",
        "Units work beside each other, so the one with the least idle time is nearest to being the "
        "limit.",
        "unit");
    std::map<std::string, Weighted> units;
    double time = 0;
    for (const KernelResult& kernel : result.kernels) {
        if (kernel.time_by_unit.empty()) continue;
        time += kernel.time_us;
        for (const auto& [unit, fractions] : kernel.time_by_unit) units[unit].add(fractions, kernel.time_us);
    }
    // Programs in which a unit does not occur leave it without an instruction.
    for (auto& [unit, sum] : units) sum.add({{"not used", 1}}, time - sum.weight);
    add_stacked(chart, rows_of(units, true));
    return chart;
}

Chart energy_by_kind(const RunResult& result) {
    Chart chart;
    chart.id = "energy";
    chart.title = "Energy by kind of op";
    chart.reading = "Idle and leakage power grow with time; the other parts with work and traffic.";
    chart.x = {"energy", "J"};
    chart.y.name = "op kind";
    std::map<std::string, Weighted> kinds;
    for (const KernelResult& kernel : result.kernels) {
        double joules = 0;
        for (const auto& [part, amount] : kernel.energy) joules += amount;
        if (joules <= 0) continue;
        Weighted& sum = kinds[kernel.kind];
        sum.weight += joules;
        for (const auto& [part, amount] : kernel.energy) sum.parts[part] += amount;
    }
    const std::vector<PartsRow> rows = rows_of(kinds, false);
    add_stacked(chart, rows);
    for (const PartsRow& row : rows) {
        double joules = 0;
        for (const auto& [part, amount] : row.parts) joules += amount;
        chart.texts.push_back(format_si(joules, "J"));
    }
    return chart;
}

}  // namespace heddle::sim
