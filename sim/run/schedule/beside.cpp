#include "sim/run/schedule/beside.h"

#include <algorithm>

namespace heddle::sim {
namespace {

/// Bytes that each device writes to others. A ring of n passes a reduction on in n - 1 of n parts, and its
/// result in as many again; of what is sent to all, one part in n stays.
double bytes_written(const trace::Op& op) {
    const std::string kind = op.get(keys::collective.collective);
    const std::int64_t ranks = op.get(keys::collective.ranks);
    const double others = ranks > 1 ? static_cast<double>(ranks - 1) / static_cast<double>(ranks) : 1;
    const double passes = kind == "all_reduce"                      ? 2 * others
                          : kind == "broadcast" || kind == "reduce" ? 1
                                                                    : others;
    return passes * op.real(keys::collective.bytes);
}

bool writes_first(const trace::Op& op) {
    const std::string kind = op.get(keys::collective.collective);
    return kind == "send_receive" || kind == "all_to_all";
}

}  // namespace

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

std::vector<PeerWrites> peer_writes(const trace::Trace& trace) {
    const auto rate_of = [](const trace::Op& op) {
        return op.measured_us.value_or(0) > 0 ? bytes_written(op) / *op.measured_us : 0;
    };
    std::map<std::string, double> quickest;
    for (const trace::Op& op : trace.ops)
        if (op.kind == trace::OpKind::collective) {
            double& best = quickest[op.get(keys::collective.collective)];
            best = std::max(best, rate_of(op));
        }
    std::vector<PeerWrites> writes(trace.ops.size());
    for (trace::OpId id = 0; id < trace.ops.size(); ++id) {
        const trace::Op& op = trace.ops[id];
        const double rate = op.kind == trace::OpKind::collective ? rate_of(op) : 0;
        if (rate <= 0) continue;
        const double best = quickest[op.get(keys::collective.collective)], part = rate / best;
        writes[id] = writes_first(op) ? PeerWrites{best, 0, part} : PeerWrites{best, 1 - part, 1};
    }
    return writes;
}

StreamWork collective_work(const trace::Op& op, double time_us, const PeerWrites& writes,
                           const SharedDevice& device) {
    constexpr double kReferenceRate = 100e3;  // bytes per microsecond: 100 GB/s
    StreamWork work;
    work.stream = op.stream;
    work.engine = Engine::network;
    work.time_us = time_us;
    work.flush_us = device.peer_flush_us * writes.bytes_per_us / kReferenceRate;
    work.writes_from = writes.from;
    work.writes_until = writes.until;
    if (device.sms > 0)
        work.holds = std::min(1.0, static_cast<double>(op.get(keys::collective.thread_blocks)) / device.sms);
    return work;
}

StreamWork copy_work(const trace::Op& op, double time_us, const SharedDevice& device) {
    StreamWork work;
    work.stream = op.stream;
    work.engine = Engine::copy;
    work.time_us = time_us;
    work.flush_us = device.host_flush_us;
    return work;
}

RecordedNeighbours::RecordedNeighbours(const trace::Trace& trace, const SharedDevice& device)
    : trace_(trace), device_(device), writes_(peer_writes(trace)) {}

double RecordedNeighbours::time_beside(trace::OpId op,
                                       const std::vector<const KernelResult*>& kernels) const {
    double alone = 0;
    for (const KernelResult* kernel : kernels) alone += kernel->time_us;
    // Everything with its recorded start, in microseconds from that of the op's kernels.
    struct Started {
        double at;
        StreamWork work;
    };
    std::vector<Started> started;
    const std::vector<std::int64_t> neighbours = trace_.ops[op].get(keys::any.beside),
                                    since = trace_.ops[op].get(keys::any.beside_start_ns);
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
        const std::int64_t neighbour = neighbours[i];
        if (neighbour < 0 || static_cast<std::size_t>(neighbour) >= trace_.ops.size()) continue;
        const trace::Op& other = trace_.ops[static_cast<std::size_t>(neighbour)];
        const double time = other.measured_us.value_or(0);
        const double at = i < since.size() ? -1e-3 * static_cast<double>(since[i]) : 0;
        if (other.kind == trace::OpKind::collective)
            started.push_back(
                {at, collective_work(other, time, writes_[static_cast<std::size_t>(neighbour)], device_)});
        else if (other.kind == trace::OpKind::host_copy)
            started.push_back({at, copy_work(other, time, device_)});
        else
            continue;
        // Not behind the op's kernels, whatever its stream was.
        started.back().work.stream = static_cast<std::uint32_t>(started.back().work.engine);
    }
    if (started.empty()) return alone;
    for (const KernelResult* kernel : kernels) {
        StreamWork one;
        one.time_us = kernel->time_us;
        one.waves = kernel->waves;
        one.demand = demand_of(*kernel);
        started.push_back({0, std::move(one)});
    }
    std::stable_sort(started.begin(), started.end(),
                     [](const Started& a, const Started& b) { return a.at < b.at; });
    std::vector<StreamWork> work;
    std::size_t first = started.size(), last = 0;
    for (std::size_t i = 0; i < started.size(); ++i) {
        StreamWork one = std::move(started[i].work);
        one.host_us = i > 0 ? started[i].at - started[i - 1].at : 0;
        if (one.engine == Engine::kernels) {
            first = std::min(first, i);
            last = i;
        }
        work.push_back(std::move(one));
    }
    const StreamSchedule schedule = schedule_streams(work, 0);
    return schedule.work[last].end_us - schedule.work[first].start_us;
}

}  // namespace heddle::sim
