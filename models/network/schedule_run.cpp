#include "models/network/schedule_run.h"

#include <algorithm>
#include <cmath>

#include "isa/common/error.h"
#include "models/network/flow_network.h"

namespace heddle::models::network {

std::uint64_t slice_of(const Schedule& schedule, std::uint64_t bytes) {
    const std::uint64_t even = (bytes + schedule.slices - 1) / schedule.slices;
    return std::max<std::uint64_t>(1, std::max(even, schedule.slice_bytes));
}

ScheduleRun::ScheduleRun(const Schedule& schedule, Transport& transport)
    : schedule_(schedule),
      transport_(transport),
      workers_(schedule.workers.size()),
      connections_(schedule.connections.size(), {0, schedule.slots}),
      worker_ends_(schedule.workers.size(), 0) {}

void ScheduleRun::begin() {
    for (const Worker& worker : schedule_.workers) busy_workers_ += worker.operations.empty() ? 0 : 1;
    for (std::uint32_t w = 0; w < workers_.size(); ++w) try_start(w, 0);
}

bool ScheduleRun::may_start(const Operation& operation) const {
    for (const std::uint32_t c : operation.receive)
        if (c != kNone && connections_[c].arrived == 0) return false;
    for (const std::uint32_t c : operation.send)
        if (c != kNone && connections_[c].credits == 0) return false;
    return true;
}

void ScheduleRun::try_start(std::uint32_t w, Cycle now) {
    WorkerState& state = workers_[w];
    const std::vector<Operation>& operations = schedule_.workers[w].operations;
    if (state.pending > 0 || state.operation >= operations.size()) return;
    const Operation& operation = operations[state.operation];
    if (!may_start(operation)) return;
    state.slice = std::min(slice_of(schedule_, operation.bytes), operation.bytes - state.done);
    const auto payload = static_cast<double>(state.slice);
    bool sends = false;
    for (const std::uint32_t c : operation.receive)
        if (c != kNone) --connections_[c].arrived;
    const double rate = operation.reduces() ? schedule_.reduce_rate : schedule_.send_rate;
    state.pending = 1;  // its own work
    for (const std::uint32_t c : operation.send) {
        if (c == kNone) continue;
        --connections_[c].credits;
        if (schedule_.connections[c].links.empty()) continue;  // told when the slice is done
        ++state.pending;
        sends = true;
        const Connection& connection = schedule_.connections[c];
        const double bytes = payload / schedule_.wire + connection.message_bytes;
        transport_.start(c, connection.links, bytes, rate / schedule_.wire, now);
    }
    const double alone = sends ? 0 : payload / schedule_.receive_rate;
    plan(now + picoseconds(alone), What::worked, w);
    ++events_;
}

void ScheduleRun::finish_part(std::uint32_t w, Cycle now) {
    WorkerState& state = workers_[w];
    if (--state.pending > 0) return;
    const std::vector<Operation>& operations = schedule_.workers[w].operations;
    const Operation& operation = operations[state.operation];
    for (const std::uint32_t c : operation.receive)
        if (c != kNone) plan(now + schedule_.connections[c].latency, What::credit, c);
    for (const std::uint32_t c : operation.send)
        if (c != kNone && schedule_.connections[c].links.empty())
            plan(now + schedule_.connections[c].latency, What::arrived, c);
    state.done += state.slice;
    if (state.done >= operation.bytes) {
        state.done = 0;
        ++state.operation;
        if (state.operation == operations.size()) {
            --busy_workers_;
            worker_ends_[w] = now;
            end_ = std::max(end_, now);
            return;
        }
    }
    try_start(w, now);
}

void ScheduleRun::sent(std::uint32_t c, Cycle now) {
    const Connection& connection = schedule_.connections[c];
    plan(now + connection.latency, What::arrived, c);
    finish_part(connection.from, now);
}

void ScheduleRun::act(Cycle now) {
    while (!timers_.empty() && timers_.top().at <= now) {
        const Timer timer = timers_.top();
        timers_.pop();
        ++events_;
        switch (timer.what) {
            case What::arrived:
                ++connections_[timer.which].arrived;
                try_start(schedule_.connections[timer.which].to, now);
                break;
            case What::credit:
                ++connections_[timer.which].credits;
                try_start(schedule_.connections[timer.which].from, now);
                break;
            case What::worked:
                finish_part(timer.which, now);
                break;
        }
    }
}

std::string ScheduleRun::stuck() const {
    for (std::uint32_t w = 0; w < workers_.size(); ++w) {
        const std::vector<Operation>& operations = schedule_.workers[w].operations;
        if (workers_[w].operation >= operations.size()) continue;
        return "worker " + std::to_string(w) + " of rank " + std::to_string(schedule_.workers[w].rank) +
               " waits in operation " + std::to_string(workers_[w].operation) + " of " +
               std::to_string(operations.size());
    }
    return "";
}

RunOutcome run_flows(const Schedule& schedule, const std::vector<Link>& links) {
    FlowNetwork network(links);
    ScheduleRun run(schedule, network);
    std::vector<std::uint32_t> ended;
    run.begin();
    for (Cycle now = 0;;) {
        network.settle(now);
        now = std::min(run.next(), network.next());
        if (now == kNever) break;
        ended.clear();
        network.take_ended(now, ended);
        for (const std::uint32_t connection : ended) run.sent(connection, now);
        run.act(now);
    }
    if (!run.finished()) throw Error("a schedule does not end: " + run.stuck());
    return {static_cast<double>(run.end()) * kPicosecond, network.carried(), run.events()};
}

}  // namespace heddle::models::network
