#include "sim/run/beside.h"

#include <algorithm>

namespace heddle::sim {

std::map<std::string, double> demand_of(const KernelResult& kernel) {
    std::map<std::string, double> demand;
    for (const char* resource :
         {"tensor", "fp32", "issue", "shared memory", "l2 bandwidth", "dram bandwidth"}) {
        const auto found = kernel.utilisation.find(resource);
        if (found != kernel.utilisation.end() && found->second > 0)
            demand[resource] = std::min(1.0, found->second);
    }
    return demand;
}

std::vector<double> writing_parts(const trace::Trace& trace) {
    const auto rate_of = [](const trace::Op& op) {
        return op.measured_us.value_or(0) > 0 ? op.real("bytes", 0) / *op.measured_us : 0;
    };
    std::map<std::string, double> quickest;
    for (const trace::Op& op : trace.ops)
        if (op.kind == trace::OpKind::collective) {
            double& best = quickest[op.text("collective")];
            best = std::max(best, rate_of(op));
        }
    std::vector<double> parts;
    for (const trace::Op& op : trace.ops) {
        const double best = op.kind == trace::OpKind::collective ? quickest[op.text("collective")] : 0;
        parts.push_back(op.kind != trace::OpKind::collective ? 0
                        : best > 0 && op.measured_us         ? rate_of(op) / best
                                                             : 1);
    }
    return parts;
}

StreamWork collective_work(const trace::Op& op, double time_us, double writing_part,
                           const SharedDevice& device) {
    StreamWork work;
    work.stream = op.stream;
    work.engine = Engine::network;
    work.time_us = time_us;
    work.writes_away = writing_part;
    if (device.sms > 0)
        work.holds = std::min(1.0, static_cast<double>(op.integer("thread_blocks", 0)) / device.sms);
    return work;
}

RecordedNeighbours::RecordedNeighbours(const trace::Trace& trace, const SharedDevice& device)
    : trace_(trace), device_(device), writing_(writing_parts(trace)) {}

double RecordedNeighbours::time_beside(trace::OpId op,
                                       const std::vector<const KernelResult*>& kernels) const {
    double alone = 0;
    for (const KernelResult* kernel : kernels) alone += kernel->time_us;
    std::vector<StreamWork> work;
    for (const std::int64_t neighbour : trace_.ops[op].integers("beside")) {
        if (neighbour < 0 || static_cast<std::size_t>(neighbour) >= trace_.ops.size()) continue;
        const trace::Op& other = trace_.ops[static_cast<std::size_t>(neighbour)];
        if (other.kind != trace::OpKind::collective) continue;
        // One engine: of several the first is there for all of the time.
        if (!work.empty()) break;
        // Longer than the kernels can take beside it.
        constexpr double kLong = 1000;
        work.push_back(collective_work(
            other, kLong * (alone + device_.peer_flush_us * static_cast<double>(kernels.size()) + 1),
            writing_[static_cast<std::size_t>(neighbour)], device_));
        work.back().stream = 1;
    }
    if (work.empty()) return alone;
    for (const KernelResult* kernel : kernels) {
        StreamWork one;
        one.time_us = kernel->time_us;
        one.waves = kernel->waves;
        one.demand = demand_of(*kernel);
        work.push_back(std::move(one));
    }
    const StreamSchedule schedule = schedule_streams(work, 0, device_.peer_flush_us);
    return schedule.work.back().end_us - schedule.work[1].start_us;
}

}  // namespace heddle::sim
