#include "sim/run/schedule/step_schedule.h"

#include <algorithm>
#include <utility>

#include "sim/run/schedule/beside.h"
#include "sim/run/schedule/repeated_work.h"
#include "workloads/trace/turns.h"

namespace heddle::sim {

bool add_host_times(const trace::Trace& trace, const HostCosts& costs, bool graph, std::vector<OpOutcome>& outcomes) {
    const double launch_us = costs.launch * 1e6;
    const bool recorded =
        !graph && std::any_of(trace.ops.begin(), trace.ops.end(),
                                    [](const trace::Op& op) { return op.host_us.has_value(); });
    bool launched = false;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        OpOutcome& outcome = outcomes[i];
        outcome.host_us = outcome.host_again_us = 0;
        if (recorded) {
            outcome.host_us = trace.ops[i].host_us.value_or(0);
        } else if (outcome.view || outcome.kernels.empty()) {
            continue;
        } else if (graph) {
            if (!launched) outcome.host_us = costs.graph_launch * 1e6;
        } else {
            outcome.host_us = costs.dispatch * 1e6 + launch_us;
            outcome.host_again_us = launch_us;
        }
        launched = true;
    }
    return recorded;
}

StepWork step_work(const trace::Trace& trace, const std::vector<OpOutcome>& outcomes, const SharedDevice& device) {
    const std::vector<PeerWrites> writes = peer_writes(trace);
    StepWork step;
    step.launch_latency_us = device.launch_latency_us;
    std::vector<StreamWork>& work = step.work;
    std::vector<std::size_t>& first_of_op = step.first_of_op;
    first_of_op.resize(outcomes.size());
    std::vector<std::size_t> last_of_op(outcomes.size(), 0);
    std::vector<std::size_t> work_before;  // by op: pieces of work of the ops before it
    constexpr std::size_t none = StepWork::kNoWork;
    double host_before = 0;  // of ops without work of their own
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const OpOutcome& outcome = outcomes[i];
        last_of_op[i] = first_of_op[i] = none;
        work_before.push_back(work.size());
        host_before += outcome.host_us;
        const std::size_t kernels = outcome.view ? 0 : outcome.kernels.size();
        for (std::size_t k = 0; k < kernels; ++k) {
            const KernelResult& kernel = outcome.kernels[k];
            StreamWork one;
            if (outcome.communication) one = collective_work(trace.ops[i], kernel.time_us, writes[i], device);
            one.stream = trace.ops[i].stream;
            if (outcome.copy) one = copy_work(trace.ops[i], kernel.time_us, device);
            one.host_us = k == 0 ? host_before : outcome.host_again_us;
            one.gap_us = kernel.gap_us + kernel.queued_us;
            one.time_us = kernel.time_us;
            one.waves = kernel.waves;
            one.together = kernel.together;
            one.demand = demand_of(kernel);
            one.blocks_host = outcome.blocks_host && k + 1 == kernels;
            if (k == 0) {
                first_of_op[i] = work.size();
                host_before = 0;
                for (const trace::OpId before : trace.ops[i].dependencies)
                    if (last_of_op[before] != none) one.after.push_back(last_of_op[before]);
            }
            last_of_op[i] = work.size();
            work.push_back(std::move(one));
        }
        // A view passes on what it waits for.
        if (kernels == 0) {
            for (const trace::OpId before : trace.ops[i].dependencies) {
                if (last_of_op[before] != none &&
                    (last_of_op[i] == none || last_of_op[before] > last_of_op[i]))
                    last_of_op[i] = last_of_op[before];
            }
        }
    }
    work_before.push_back(work.size());
    for (const trace::HeldTurn& held : trace::held_turns(trace))
        if (held.turns != 1)
            step.repeated.push_back({work_before[held.first], work_before[held.last], held.turns});
    step.host_after_us = host_before;
    return step;
}

StepSchedule schedule_step(const trace::Trace& trace, const std::vector<OpOutcome>& outcomes, const SharedDevice& device) {
    const StepWork step = step_work(trace, outcomes, device);
    StreamSchedule streams = schedule_streams(step.work, step.launch_latency_us, step.repeated);
    StepSchedule schedule{std::move(streams.work), streams.division, {}};
    schedule.division.total_us += step.host_after_us;
    schedule.division.host_us += step.host_after_us;
    double at = 0;
    for (const std::size_t first : step.first_of_op) {
        if (first != StepWork::kNoWork) at = schedule.work[first].start_us;
        schedule.op_starts_us.push_back(at);
    }
    return schedule;
}

}  // namespace heddle::sim
