#include "driver/server/device_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "driver/protocol/protocol.h"
#include "sim/run/schedule/beside.h"

namespace heddle::driver {
namespace {

/// The stream of marks at which the host waits; no device has it.
constexpr std::uint32_t kMarks = ~std::uint32_t{0};

bool is_default(std::uint32_t stream) {
    return (stream & ((1u << kDeviceShift) - 1)) == 0;
}

}  // namespace

// The default stream runs after everything that blocking streams hold, and they after it.
sim::StreamWork& DeviceTimeline::add(std::uint32_t stream) {
    sim::StreamWork work;
    work.stream = stream;
    work.host_us = machine_->step.launch * 1e6 + std::exchange(host_us_, 0);
    for (const auto& [other, last] : last_)
        if (other != stream && (is_default(stream) ? !non_blocking_[other] : is_default(other) && !non_blocking_[stream]))
            work.after.push_back(last);
    auto& waits = waits_[stream];
    work.after.insert(work.after.end(), waits.begin(), waits.end());
    waits.clear();
    last_[stream] = work_.size();
    times_.clear();
    return work_.emplace_back(std::move(work));
}

void DeviceTimeline::add_kernel(std::uint32_t stream, sim::KernelResult kernel, int priority) {
    sim::StreamWork& work = add(stream);
    work.priority = priority;
    work.gap_us = kernel.gap_us;
    work.time_us = kernel.time_us;
    work.waves = kernel.waves;
    work.demand = sim::demand_of(kernel);
    kernel.stream = stream;
    pending_.push_back(std::move(kernel));
}

void DeviceTimeline::add_copy(std::uint32_t stream, const std::string& name, double bytes, double seconds,
                              bool by_engine, bool host_waits) {
    sim::StreamWork& work = add(stream);
    work.blocks_host = host_waits;
    work.time_us = seconds * 1e6;
    if (by_engine) work.engine = sim::Engine::copy;
    sim::KernelResult copy;
    copy.name = copy.kind = name;
    copy.op_name = fmt::format("{}, {:.0f} bytes", name, bytes);
    copy.bytes = bytes;
    copy.time_us = work.time_us;
    copy.bound_by = by_engine ? "host link" : "dram";
    copy.fidelity = sim::Fidelity::estimated;
    copy.stream = stream;
    pending_.push_back(std::move(copy));
}

// What the stream waits for comes before what follows in it, also when no work came in between.
std::vector<std::size_t> DeviceTimeline::before(std::uint32_t stream) const {
    std::vector<std::size_t> works;
    for (const auto& [other, last] : last_) {
        const auto non_blocking = non_blocking_.find(other);
        if (other == stream || (is_default(stream) && (non_blocking == non_blocking_.end() || !non_blocking->second))) works.push_back(last);
    }
    if (const auto waits = waits_.find(stream); waits != waits_.end()) works.insert(works.end(), waits->second.begin(), waits->second.end());
    return works;
}

void DeviceTimeline::record(std::uint32_t event, std::uint32_t stream) {
    events_[event] = {before(stream), base_us_};
}

void DeviceTimeline::wait(std::uint32_t stream, std::uint32_t event) {
    const auto found = events_.find(event);
    if (found == events_.end()) return;  // as CUDA has it: what was never recorded is waited for in no time
    auto& waits = waits_[stream];
    waits.insert(waits.end(), found->second.after.begin(), found->second.after.end());
}

// The host waits at this point of its own work, not where it handed out what it waits for: a piece of work without time says so.
void DeviceTimeline::host_waits_for(const std::vector<std::size_t>& works) {
    if (works.empty()) return;
    sim::StreamWork mark;
    mark.stream = kMarks;
    mark.waves = 0;
    mark.host_us = std::exchange(host_us_, 0);
    mark.after = works;
    mark.blocks_host = true;
    work_.push_back(std::move(mark));
    pending_.emplace_back();
    times_.clear();
}

void DeviceTimeline::synchronise(std::uint32_t stream) {
    host_waits_for(before(stream));
}

void DeviceTimeline::synchronise_event(std::uint32_t event) {
    if (const auto found = events_.find(event); found != events_.end()) host_waits_for(found->second.after);
}

void DeviceTimeline::synchronise_all() {
    settle();
}

void DeviceTimeline::schedule() {
    if (times_.size() == work_.size()) return;
    sim::StreamSchedule schedule = schedule_streams(work_, machine_->config.host.latency * 1e6);
    times_ = std::move(schedule.work);
    pending_division_ = schedule.division;
}

// A piece of work without time is put there, and taken back.
DeviceTimeline::Place DeviceTimeline::next(std::uint32_t stream) {
    const auto last = last_;
    const auto waits = waits_;
    const double host_us = host_us_;
    add(stream).waves = 0;
    schedule();
    const Place place{base_us_ + times_.back().launched_us, base_us_ + times_.back().start_us};
    work_.pop_back();
    times_.clear();
    last_ = last;
    waits_ = waits;
    host_us_ = host_us;
    return place;
}

void DeviceTimeline::settle() {
    if (work_.empty()) {
        // With nothing to do for the device, it waits while the host works.
        const double host_us = std::exchange(host_us_, 0);
        base_us_ += host_us;
        division_.host_us += host_us;
        division_.total_us += host_us;
        return;
    }
    schedule();
    for (auto& [number, event] : events_) {
        event.settled_us = time_of(event);
        event.after.clear();
    }
    for (std::size_t i = 0; i < work_.size(); ++i) {
        if (work_[i].stream == kMarks) continue;
        pending_[i].launched_us = base_us_ + times_[i].launched_us;
        pending_[i].start_us = base_us_ + times_[i].start_us;
        pending_[i].end_us = base_us_ + times_[i].end_us;
        done_.push_back(std::move(pending_[i]));
    }
    base_us_ += pending_division_.total_us;
    for (double sim::StepDivision::*part :
         {&sim::StepDivision::total_us, &sim::StepDivision::kernels_us, &sim::StepDivision::communication_us,
          &sim::StepDivision::copies_us, &sim::StepDivision::gaps_us, &sim::StepDivision::host_us,
          &sim::StepDivision::overlapped_us})
        division_.*part += pending_division_.*part;
    work_.clear();
    pending_.clear();
    times_.clear();
    last_.clear();
    waits_.clear();
}

void DeviceTimeline::begin_no_earlier(double us) {
    settle();
    if (us <= base_us_) return;
    division_.host_us += us - base_us_;
    division_.total_us += us - base_us_;
    base_us_ = us;
}

double DeviceTimeline::time_of(const Event& event) {
    schedule();
    double time = event.settled_us;
    for (const std::size_t work : event.after) time = std::max(time, base_us_ + times_[work].end_us);
    return time;
}

double DeviceTimeline::elapsed(std::uint32_t from, std::uint32_t to) {
    return (time_of(events_.at(to)) - time_of(events_.at(from))) * 1e-3;
}

sim::RunResult DeviceTimeline::result(const std::string& workload, const sim::Hardware& hardware) {
    settle();
    sim::RunResult result;
    result.workload = workload;
    result.hardware = hardware.name;
    result.hardware_description = hardware.description;
    result.clock_hz = machine_->config.clock;
    result.power_limit = machine_->config.power.limit;
    result.division = division_;
    result.step_time_us = division_.total_us;
    result.launch_gap_us = division_.gaps_us;
    std::map<std::pair<std::string, std::string>, sim::OpSummary> groups;  // by name and phase
    std::map<std::string, double> seconds_at_ceiling;
    double weights[3] = {0, 0, 0};
    for (sim::KernelResult& kernel : done_) {
        result.device_busy_us += kernel.time_us;
        weights[static_cast<int>(kernel.fidelity)] += kernel.time_us;
        for (const auto& [resource, fraction] : kernel.utilisation)
            result.utilisation[resource] += fraction * kernel.time_us;
        for (const auto& [part, joules] : kernel.energy) result.energy[part] += joules;
        if (!kernel.energy.empty()) result.energy_time_us += kernel.time_us + kernel.gap_us;
        for (const auto& [name, one] : kernel.throughputs) {
            sim::Throughput& sum = result.throughputs[name];
            sum.unit = one.unit;
            sum.amount += one.amount;
            seconds_at_ceiling[name] += one.amount / one.ceiling;
        }
        sim::OpSummary& group = groups[{kernel.op_name, kernel.phase}];
        if (group.count++ == 0) {
            group.name = kernel.op_name;
            group.kind = kernel.kind;
            group.phase = kernel.phase;
            group.bound_by = kernel.bound_by;
            group.fidelity = kernel.fidelity;
        }
        group.time_us += kernel.time_us;
        group.bytes += kernel.bytes;
        group.flops += kernel.flops;
        result.simulation.warp_instructions += kernel.warp_instructions;
        if (kernel.cycles != 0) ++result.simulation.kernels_simulated;
        result.kernels.push_back(kernel);
    }
    for (auto& [name, sum] : result.throughputs)
        sum.ceiling = seconds_at_ceiling[name] > 0 ? sum.amount / seconds_at_ceiling[name] : 0;
    for (auto& [resource, sum] : result.utilisation) sum /= std::max(result.device_busy_us, 1e-9);
    for (auto& [name, group] : groups) result.ops.push_back(std::move(group));
    std::stable_sort(result.ops.begin(), result.ops.end(),
                     [](const auto& a, const auto& b) { return a.time_us > b.time_us; });
    if (result.device_busy_us > 0) {
        result.coverage.cycle = weights[0] / result.device_busy_us;
        result.coverage.estimated = weights[1] / result.device_busy_us;
        result.coverage.unknown = weights[2] / result.device_busy_us;
    }
    return result;
}

}  // namespace heddle::driver
