#include "sim/kernel/line_profile.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>

#include "sim/report/numbers.h"
#include "sim/report/text_table.h"

namespace heddle::kernel {
namespace {

using models::gpu::CycleReason;
using models::gpu::kCycleReasonCount;

constexpr std::size_t kTextWidth = 72;

void add(models::gpu::InstructionCycles& to, const models::gpu::InstructionCycles& from) {
    for (std::size_t i = 0; i < kCycleReasonCount; ++i) to[i] += from[i];
}

std::string trimmed(const std::string& line) {
    const auto first = line.find_first_not_of(" \t");
    if (first == std::string::npos) return {};
    std::string text = line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
    std::replace(text.begin(), text.end(), '\t', ' ');
    if (text.size() > kTextWidth) text = text.substr(0, kTextWidth - 3) + "...";
    return text;
}

void sort_by_total(std::vector<LineCycles>& lines) {
    std::stable_sort(lines.begin(), lines.end(),
                     [](const LineCycles& a, const LineCycles& b) { return a.total() > b.total(); });
}

std::string table(const std::string& heading, const std::vector<LineCycles>& lines, std::uint64_t all,
                  std::size_t shown, std::size_t width) {
    std::vector<std::vector<std::string>> rows{
        {heading, "share", "issued", "waiting", "mostly for", "instruction"}};
    std::vector<bool> right{false, true, true, true, false, false};
    const auto share = [&](std::uint64_t cycles) {
        return sim::format_share(all == 0 ? 0 : static_cast<double>(cycles) / static_cast<double>(all));
    };
    const bool has_text = !lines.empty() && !lines.front().text.empty();
    for (const LineCycles& line : lines) {
        if (rows.size() > shown) break;
        constexpr std::size_t kIssued = static_cast<std::size_t>(CycleReason::issued);
        const auto longest = std::max_element(line.cycles.begin() + kIssued + 1, line.cycles.end());
        const auto reason = static_cast<CycleReason>(longest - line.cycles.begin());
        rows.push_back({line.place, share(line.total()), share(line.cycles[kIssued]),
                        share(line.total() - line.cycles[kIssued]),
                        *longest == 0 ? "" : models::gpu::name_of(reason), line.text});
    }
    if (!has_text) {
        for (auto& row : rows) row.pop_back();
        right.pop_back();
    }
    return sim::fit_columns(std::move(rows), right, width);
}

}  // namespace

std::uint64_t LineCycles::total() const {
    return std::accumulate(cycles.begin(), cycles.end(), std::uint64_t{0});
}

LineProfile profile_lines(const ptx::LoadedKernel& kernel, const models::gpu::KernelResult& result,
                          const std::string& ptx_text) {
    LineProfile profile;
    for (std::size_t i = 0; i < kCycleReasonCount; ++i)
        if (static_cast<CycleReason>(i) != CycleReason::no_warp &&
            static_cast<CycleReason>(i) != CycleReason::not_launched)
            profile.all_cycles += result.sub_core_cycles[i];
    std::map<std::uint32_t, models::gpu::InstructionCycles> by_line;
    std::map<std::string, models::gpu::InstructionCycles> by_source;
    for (std::size_t i = 0; i < result.profile.size(); ++i) {
        add(by_line[kernel.instructions()[i].line], result.profile[i]);
        const std::string source = kernel.describe_source(i);
        if (!source.empty()) add(by_source[source], result.profile[i]);
    }
    std::vector<std::string> lines;
    std::istringstream stream(ptx_text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    for (const auto& [line, cycles] : by_line) {
        const std::string text = line >= 1 && line <= lines.size() ? trimmed(lines[line - 1]) : "";
        profile.ptx.push_back({std::to_string(line), text, cycles});
    }
    for (const auto& [source, cycles] : by_source) profile.cuda.push_back({source, "", cycles});
    sort_by_total(profile.ptx);
    sort_by_total(profile.cuda);
    return profile;
}

std::string format_profile(const LineProfile& profile, std::size_t shown, std::size_t width) {
    std::string text = "  shares of the cycles in which a sub-core held a warp\n" +
                       table("PTX line", profile.ptx, profile.all_cycles, shown, width);
    if (!profile.cuda.empty())
        text += "\n" + table("CUDA line", profile.cuda, profile.all_cycles, shown, width);
    return text;
}

}  // namespace heddle::kernel
