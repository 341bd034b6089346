#include "validation/compare/tpu_v1_breakdown.h"

#include <fmt/format.h>

#include <utility>

namespace heddle::validation::tpu_v1 {
namespace {

constexpr std::pair<const char*, double Breakdown::*> kCounters[] = {
    {"array active", &Breakdown::active},       {"useful MACs", &Breakdown::useful},
    {"unused MACs", &Breakdown::unused},        {"weight stall", &Breakdown::weight_stall},
    {"weight shift", &Breakdown::weight_shift}, {"non-matrix", &Breakdown::non_matrix}};

}  // namespace

Reference paper(const std::string& place) {
    return {"publication",
            "In-Datacenter Performance Analysis of a Tensor Processing Unit (ISCA 2017), " + place,
            "TPU v1",
            "2017",
            "",
            true,
            "tpu-v1",
            "its paper (ISCA 2017), " + place};
}

BreakdownRows::BreakdownRows(const std::string& title, std::string shares, std::string rates)
    : shares_(std::move(shares)), rates_(std::move(rates)) {
    table_.title = "per cent of cycles: published / " + title;
    table_.rows = {{"", "active", "useful", "unused", "weight stall", "weight shift", "non-matrix", "TOPS"}};
    table_.right.assign(table_.rows[0].size(), true);
}

void BreakdownRows::add(const std::string& name, const Application& published, const std::string& assumption,
                        const Breakdown& simulated, double tops) {
    std::vector<std::string> line{published.name};
    const auto row = [&](const char* counter, const std::string& category, const char* unit, double captured,
                         double model) {
        ComparisonRow one{name + "/" + counter, category};
        one.captured = captured;
        one.simulated = model;
        one.unit = unit;
        rows_.push_back(std::move(one));
        line.push_back(fmt::format("{:.1f} / {:.1f}", captured, model));
    };
    for (const auto& [counter, share] : kCounters)
        row(counter, shares_, "%", published.published.*share, simulated.*share);
    row("TOPS", rates_, "TOPS", published.published_tops, tops);
    rows_.back().note = assumption;
    table_.rows.push_back(std::move(line));
}

}  // namespace heddle::validation::tpu_v1
