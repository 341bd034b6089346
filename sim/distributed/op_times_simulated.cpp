// Ops of one device's part of a step, simulated cycle by cycle.
#include <algorithm>
#include <set>

#include "sim/distributed/op_times.h"
#include "sim/run/simulate.h"
#include "workloads/parallel/parts.h"

namespace heddle::sim {

using trace::Op;
using trace::Trace;

std::vector<OpTime> Simulated::times_of(const Trace& trace) {
    // Ops of parts that come again are left out; what is left is simulated as one step.
    Trace once;
    once.name = trace.name;
    once.tensors = trace.tensors;
    std::set<std::string> parts;
    const parallel::PartedStep step = parallel::part_step(trace);
    std::vector<trace::OpId> chosen;
    for (const parallel::Part& part : step.parts) {
        if (!parts.insert(part.key).second) continue;
        for (const auto* segments : {&part.forward, &part.backward})
            for (const parallel::Segment& segment : *segments)
                if (!segment.collective) chosen.insert(chosen.end(), segment.ops.begin(), segment.ops.end());
        chosen.insert(chosen.end(), part.update.begin(), part.update.end());
    }
    std::sort(chosen.begin(), chosen.end());
    std::vector<trace::OpId> open;
    for (const trace::OpId id : chosen) {
        if (known_.contains(parallel::content_of(trace, trace.ops[id]))) continue;
        Op op = trace.ops[id];
        op.dependencies.clear();
        op.name = std::to_string(open.size());
        once.ops.push_back(std::move(op));
        open.push_back(id);
    }
    if (!open.empty()) {
        SimulateOptions options;
        options.sample = options_.sample && hardware_.is_gpu();
        options.cache = options_.cache;
        options.jobs = options_.jobs;
        options.ignore_memory = true;
        options.fusion = Fusion::none;  // times are asked for op by op
        const RunResult result = simulate(once, trace.name, hardware_, options);
        std::vector<OpTime> own(once.ops.size());
        for (const KernelResult& kernel : result.kernels) {
            OpTime& time = own.at(std::stoul(kernel.op_name));
            time.seconds += 1e-6 * (kernel.time_us + kernel.gap_us);
            ++time.launches;
            time.simulated = kernel.fidelity == Fidelity::cycle;
        }
        for (std::size_t i = 0; i < open.size(); ++i)
            known_[parallel::content_of(trace, trace.ops[open[i]])] = own[i];
    }
    std::vector<OpTime> times;
    for (const Op& op : trace.ops) {
        const auto found = known_.find(parallel::content_of(trace, op));
        times.push_back(found == known_.end() ? OpTime{} : found->second);
    }
    return times;
}

}  // namespace heddle::sim
