// Times of a step's parts, and what a device of each stage holds of them.
#include <algorithm>

#include "sim/distributed/step_programs.h"
#include "workloads/parallel/pipeline.h"

namespace heddle::sim {
namespace {

using parallel::ParallelPlan;

Slot slot_of(const std::string& group) {
    if (group == "expert") return Slot::expert;
    if (group == "context") return Slot::context;
    return Slot::tensor;
}

std::vector<TimedSegment> time_segments(const trace::Trace& trace,
                                        const std::vector<parallel::Segment>& segments,
                                        const std::vector<OpTime>& times, double host_op) {
    std::vector<TimedSegment> timed;
    for (const parallel::Segment& segment : segments) {
        TimedSegment t;
        t.weights_only = segment.weights_only;
        if (segment.collective) {
            const trace::Op& op = trace.ops[segment.ops[0]];
            const std::string kind = op.get(keys::collective.collective);
            if (kind == "none") continue;
            t.collective = true;
            t.kind = exchange_from_name(kind);
            t.slot = slot_of(op.get(keys::collective.group));
            t.bytes = static_cast<double>(op.get(keys::collective.bytes));
            t.beside = op.get(keys::collective.overlaps) != 0;
        } else {
            for (const trace::OpId id : segment.ops) {
                t.device += times[id].seconds;
                t.host += times[id].launches * host_op;
            }
            t.seconds = t.device;
            const bool joins =
                !timed.empty() && !timed.back().collective && timed.back().weights_only == t.weights_only;
            if (joins) {
                timed.back().device += t.device;
                timed.back().host += t.host;
                timed.back().seconds = timed.back().device;
                continue;
            }
        }
        timed.push_back(t);
    }
    return timed;
}

/// The host hands out a part's ops while the device works; if it takes longer, the difference is spread over
/// the part.
void wait_for_host(std::vector<TimedSegment>& segments) {
    double device = 0, host = 0;
    for (const TimedSegment& segment : segments) {
        device += segment.device;
        host += segment.host;
    }
    if (host <= device) return;
    double own = 0;
    for (const TimedSegment& segment : segments)
        if (!segment.collective) own += segment.host;
    for (TimedSegment& segment : segments)
        if (!segment.collective && own > 0) segment.seconds += (host - device) * segment.host / own;
}

/// The device has nothing to do from the end of what a collective reads until its kernel runs everywhere.
void call_collectives(std::vector<TimedSegment>& segments, double seconds) {
    for (std::size_t i = 0; i < segments.size(); ++i) {
        if (!segments[i].collective || segments[i].beside) continue;
        const std::size_t beside = i > 0 && !segments[i - 1].collective ? i - 1 : i + 1;
        if (beside < segments.size() && !segments[beside].collective) segments[beside].seconds += seconds;
    }
}

}  // namespace

TimedStep time_parts(const trace::Trace& trace, const ParallelPlan& plan, OpTimes& times,
                     const HostConfig& host) {
    const parallel::PartedStep step = parallel::part_step(trace);
    const std::vector<OpTime> op_times = times.times_of(trace);
    TimedStep timed;
    double simulated = 0, all = 0;
    for (const OpTime& time : op_times) {
        all += time.seconds;
        simulated += time.simulated;
    }
    timed.simulated = all > 0 ? simulated / all : 0;
    for (const parallel::Part& part : step.parts) {
        TimedPart t;
        t.forward = time_segments(trace, part.forward, op_times, host.forward_op);
        t.backward = time_segments(trace, part.backward, op_times, host.backward_op);
        wait_for_host(t.forward);
        call_collectives(t.forward, host.collective);
        wait_for_host(t.backward);
        call_collectives(t.backward, host.collective);
        for (const trace::OpId id : part.update) t.update += op_times[id].seconds;
        t.parameters = part.parameter_count;
        // Gradients are added to those of earlier micro-batches. In 16 bits: read, read, written. The product
        // that makes them may add them in 32 bits (gradient accumulation fusion): the same 6 bytes beyond its
        // own 2.
        const double moved = plan.gradient_bytes == 2 ? 6 : 10;
        if (plan.micro_batches > 1) t.accumulate = times.streamed(moved * part.parameter_count);
        if (plan.expert > 1) t.expert_parameters = part.expert_count;
        t.rounded_bytes = part.rounded_bytes;
        t.kept_bytes = part.kept_bytes;
        t.result_bytes = part.result_bytes;
        t.workspace_bytes = part.workspace_bytes;
        timed.parts.push_back(std::move(t));
    }
    timed.chunks = parallel::share_parts(step, static_cast<std::size_t>(plan.pipeline * plan.chunks));
    if (plan.pipeline > 1) {
        // What the last stage reads of others' weights: a tied head.
        const parallel::StageRange& last = timed.chunks.back();
        for (const auto& [part, parameters] : step.shared_parameters)
            if (part >= last.first) timed.shared_parameters += parameters;
    }
    return timed;
}

StageMemory memory_of(const TimedStep& step, const ParallelPlan& plan, std::int64_t stage) {
    StageMemory memory;
    double parameters = 0, experts = 0, rounded = 0, kept = 0, workspace = 0;
    std::vector<double> part_bytes;
    for (std::int64_t c = 0; c < plan.chunks; ++c) {
        const parallel::StageRange& range = step.chunks[static_cast<std::size_t>(c * plan.pipeline + stage)];
        for (std::size_t i = range.first; i < range.last; ++i) {
            parameters += step.parts[i].parameters;
            experts += step.parts[i].expert_parameters;
            rounded += step.parts[i].rounded_bytes;
            kept += step.parts[i].kept_bytes;
            workspace = std::max(workspace, step.parts[i].workspace_bytes);
            part_bytes.push_back(2 * step.parts[i].parameters);
        }
    }
    if (plan.pipeline > 1 && stage == plan.pipeline - 1) parameters += step.shared_parameters;
    // Bytes of a weight, held by everybody or, from a stage of ZeRO on, shared by those who hold the same.
    const auto held = [&](double bytes, int from) {
        if (plan.zero < from) return bytes * parameters;
        return bytes * ((parameters - experts) / static_cast<double>(plan.replicas()) +
                        experts / static_cast<double>(plan.expert_replicas()));
    };
    memory.weights = held(2, 3) + rounded;
    memory.gradients = held(plan.micro_batches > 1 ? plan.accumulated_bytes : plan.gradient_bytes, 2);
    memory.optimizer = plan.offload_optimizer ? 0 : held(12, 1);
    memory.activations = kept * parallel::held_micro_batches(plan, stage);
    memory.workspace = workspace;
    if (plan.zero == 3 && plan.replicas() > 1) {
        // Weights that were gathered: of the parts in use, no more than these.
        const auto held_parts = std::min(part_bytes.size(), static_cast<std::size_t>(plan.prefetch) + 1);
        std::sort(part_bytes.rbegin(), part_bytes.rend());
        for (std::size_t i = 0; i < held_parts; ++i) memory.workspace += part_bytes[i];
    }
    return memory;
}

}  // namespace heddle::sim
