#include "sim/run/assemble/memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "workloads/trace/memory.h"

namespace heddle::sim {

double MemoryReport::peak() const {
    return std::accumulate(at_peak.begin(), at_peak.end(), 0.0,
                           [](double sum, const MemoryPart& part) { return sum + part.bytes; });
}

std::string MemoryReport::sentence() const {
    constexpr double gib = 1024.0 * 1024 * 1024, mib = gib / 1024;
    const double unit = capacity >= gib ? gib : mib;
    std::string text =
        fmt::format("{:.1f} of {:.1f} {}", peak() / unit, capacity / unit, unit == gib ? "GiB" : "MiB");
    if (!at_peak.empty() && peak() > 0)
        text += fmt::format(", {} {:.0f} %", at_peak.front().name, 100 * at_peak.front().bytes / peak());
    return text;
}

MemoryReport report_memory(const trace::Trace& trace, const MemoryRoom& room, double workspace) {
    const trace::MemoryProfile profile = trace::profile_memory(trace, room.granularity);
    MemoryReport report;
    report.capacity = room.capacity;
    for (std::size_t use = 0; use < trace::kMemoryUses; ++use)
        report.parts.push_back(trace::name_of(static_cast<trace::MemoryUse>(use)));
    report.parts.emplace_back("workspace");
    for (const trace::MemoryByUse& bytes : profile.during) {
        report.during.emplace_back(bytes.begin(), bytes.end());
        report.during.back().push_back(workspace);
    }
    if (profile.during.empty()) return report;
    report.peak_op = trace.ops[profile.peak].name;
    double used = 0;
    for (std::size_t part = 0; part < report.parts.size(); ++part) {
        const double bytes = report.during[profile.peak][part];
        if (bytes > 0) report.at_peak.push_back({report.parts[part], bytes});
        used += bytes;
    }
    if (room.context > 0) report.at_peak.push_back({"context", room.context});
    if (room.fragmentation > 0) report.at_peak.push_back({"fragmentation", room.fragmentation * used});
    std::stable_sort(report.at_peak.begin(), report.at_peak.end(),
                     [](const MemoryPart& a, const MemoryPart& b) { return a.bytes > b.bytes; });
    return report;
}

}  // namespace heddle::sim
