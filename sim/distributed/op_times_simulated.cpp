// Ops of one device's part of a step, simulated cycle by cycle.
#include <algorithm>
#include <charconv>

#include "sim/distributed/op_times.h"
#include "sim/run/simulate.h"
#include "workloads/fusion/xla.h"
#include "workloads/parallel/parts.h"

namespace heddle::sim {
namespace {

using parallel::Part;
using trace::Op;
using trace::OpId;
using trace::Trace;

/// In the order of the trace, collectives left out: these divide what may be fused.
std::vector<OpId> ops_of(const Part& part) {
    std::vector<OpId> ids = part.update;
    for (const auto* segments : {&part.forward, &part.backward})
        for (const parallel::Segment& segment : *segments)
            if (!segment.collective) ids.insert(ids.end(), segment.ops.begin(), segment.ops.end());
    std::sort(ids.begin(), ids.end());
    return ids;
}

/// The ops by themselves; each is named by its place among them.
Trace alone(const Trace& trace, const std::vector<OpId>& ids) {
    Trace some;
    some.name = trace.name;
    some.tensors = trace.tensors;
    std::map<OpId, OpId> places;
    for (const OpId id : ids) {
        Op op = trace.ops[id];
        std::vector<OpId> inside;
        for (const OpId before : op.dependencies)
            if (const auto found = places.find(before); found != places.end())
                inside.push_back(found->second);
        op.dependencies = std::move(inside);
        places[id] = static_cast<OpId>(some.ops.size());
        op.name = std::to_string(some.ops.size());
        some.ops.push_back(std::move(op));
    }
    return some;
}

/// Of an op that fusion made: "12 ... 14" stands at 12.
std::size_t place_of(const Op& op) {
    std::size_t place = 0;
    std::from_chars(op.name.data(), op.name.data() + op.name.size(), place);
    return place;
}

}  // namespace

/// Times by place of `ids`. A TPU's programs are fused as XLA does, updates apart from the products that make
/// gradients: other devices' gradients come in between.
std::vector<OpTime> Simulated::simulate_ops(const Trace& trace, const std::vector<OpId>& ids) const {
    const Machine& machine = hardware_.machine();
    SimulateOptions options;
    options.sample = options_.sample && machine.can_sample();
    options.cache = options_.cache;
    options.jobs = options_.jobs;
    options.ignore_memory = true;
    Trace some = alone(trace, ids);
    if (machine.usual_fusion() == Fusion::xla) some = fusion::fuse_as_xla(some, {{}, false});
    RunResult result;
    const std::vector<OpOutcome> outcomes = run_ops(some, machine, options, result).outcomes;
    std::vector<OpTime> times(ids.size());
    for (std::size_t i = 0; i < some.ops.size(); ++i) {
        OpTime& time = times.at(place_of(some.ops[i]));
        for (const KernelResult& kernel : outcomes[i].kernels) {
            const double seconds = 1e-6 * (kernel.time_us + kernel.gap_us);
            time.seconds += seconds;
            if (kernel.fidelity == Fidelity::cycle) time.simulated += seconds;
            ++time.launches;
        }
    }
    return times;
}

std::vector<OpTime> Simulated::times_of(const Trace& trace) {
    const parallel::PartedStep step = parallel::part_step(trace);
    std::vector<OpTime> times(trace.ops.size());
    if (hardware_.machine().usual_fusion() != Fusion::none) {
        // What an op takes depends on what it was fused with: parts are simulated whole, equal ones once.
        for (const Part& part : step.parts) {
            const std::vector<OpId> ids = ops_of(part);
            std::string key = part.key + "update\n";
            for (const OpId id : part.update) key += parallel::content_of(trace, trace.ops[id]) + "\n";
            auto found = parts_.find(key);
            if (found == parts_.end()) found = parts_.emplace(key, simulate_ops(trace, ids)).first;
            for (std::size_t i = 0; i < ids.size(); ++i) times[ids[i]] = found->second[i];
        }
        return times;
    }
    std::vector<OpId> open;
    std::map<std::string, std::size_t> places;
    for (const Part& part : step.parts) {
        for (const OpId id : ops_of(part)) {
            const std::string content = parallel::content_of(trace, trace.ops[id]);
            if (known_.contains(content) || !places.try_emplace(content, open.size()).second) continue;
            open.push_back(id);
        }
    }
    if (!open.empty()) {
        const std::vector<OpTime> own = simulate_ops(trace, open);
        for (const auto& [content, place] : places) known_[content] = own[place];
    }
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        const auto found = known_.find(parallel::content_of(trace, trace.ops[i]));
        if (found != known_.end()) times[i] = found->second;
    }
    return times;
}

}  // namespace heddle::sim
