#include "validation/compare/recorded_step.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "isa/common/error.h"
#include "sim/run/schedule/beside.h"

namespace heddle::validation {
namespace {

/// "void f<1, g(h)>(int)" -> "f<1, g(h)>": what stands before the arguments of the function itself.
std::string without_arguments(std::string name) {
    if (name.rfind("void ", 0) == 0) name.erase(0, 5);
    const std::string unnamed = "(anonymous namespace)::";
    for (std::size_t at = name.find(unnamed); at != std::string::npos; at = name.find(unnamed))
        name.erase(at, unnamed.size());
    int depth = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] == '<') ++depth;
        if (name[i] == '>') --depth;
        if (name[i] == '(' && depth == 0) return name.substr(0, i);
    }
    return name;
}

/// Kernels of the model that carry out one recorded op follow one another; the first has the recorded time.
struct RecordedOp {
    const sim::KernelResult* first = nullptr;
    std::vector<const sim::KernelResult*> kernels;
    double alone_us = 0;
    double simulated_us = 0;  ///< beside what ran beside it
    double longest_us = -1;
    std::string bound_by;
    sim::Fidelity fidelity = sim::Fidelity::cycle;
    bool beside = false;

    void add(const sim::KernelResult& kernel) {
        kernels.push_back(&kernel);
        alone_us += kernel.time_us;
        fidelity = std::max(fidelity, kernel.fidelity);
        if (kernel.time_us > longest_us) {
            longest_us = kernel.time_us;
            bound_by = kernel.bound_by;
        }
    }
};

std::vector<RecordedOp> recorded_ops(const sim::RunResult& result) {
    std::vector<RecordedOp> ops;
    for (const sim::KernelResult& kernel : result.kernels) {
        if (kernel.measured_us) {
            ops.emplace_back();
            ops.back().first = &kernel;
        } else if (ops.empty() || ops.back().first->op_name != kernel.op_name) {
            continue;
        }
        ops.back().add(kernel);
    }
    return ops;
}

void account(const RecordedOp& op, RecordedStep& step) {
    const double recorded = *op.first->measured_us;
    if (op.first->phase == trace::name_of(trace::Phase::communication)) {
        step.communication_us += recorded;
    } else if (op.first->kind == trace::name_of(trace::OpKind::host_copy)) {
        step.copies_us += recorded;
    } else if (op.fidelity == sim::Fidelity::estimated) {
        step.estimated_us += recorded;
    } else if (op.fidelity == sim::Fidelity::unknown) {
        step.unknown_us += recorded;
    } else {
        const StepTimes times{1, recorded, op.simulated_us, std::abs(op.simulated_us - recorded)};
        step.cycle.add(times);
        if (op.beside) {
            step.beside.add(times);
            step.beside_alone_us += op.alone_us;
        }
    }
}

}  // namespace

void StepTimes::add(const StepTimes& other) {
    count += other.count;
    recorded_us += other.recorded_us;
    simulated_us += other.simulated_us;
    deviation_us += other.deviation_us;
}

double StepTimes::bias() const {
    return recorded_us > 0 ? simulated_us / recorded_us - 1 : 0;
}

double StepTimes::error() const {
    return recorded_us > 0 ? deviation_us / recorded_us : 0;
}

double RecordedStep::coverage() const {
    const double all = cycle.recorded_us + estimated_us + unknown_us;
    return all > 0 ? cycle.recorded_us / all : 0;
}

RecordedStep compare_recorded_step(const trace::Trace& trace, const std::string& name,
                                   const sim::Hardware& hardware, const sim::SimulateOptions& options) {
    if (std::none_of(trace.ops.begin(), trace.ops.end(),
                     [](const trace::Op& op) { return op.measured_us.has_value(); }))
        throw Error(
            "the step has no recorded times", {name, 0, ""},
            "record kernels with the profiler, and join both recordings: profile.json+execution.json");
    const sim::RunResult result = sim::simulate(trace, name, hardware, options);
    RecordedStep step;
    step.trace = name;
    step.hardware = hardware.name;
    step.clock_hz = result.clock_hz;
    step.notes = result.notes;
    std::map<std::tuple<std::string, std::string, std::string, sim::Fidelity>, StepKernel> groups;
    const sim::RecordedNeighbours neighbours(trace, hardware.machine().shared_device());
    for (RecordedOp& op : recorded_ops(result)) {
        op.simulated_us = neighbours.time_beside(op.first->op, op.kernels);
        op.beside = !trace.ops[op.first->op].get(keys::any.beside).empty();
        account(op, step);
        const sim::KernelResult& first = *op.first;
        const std::string kernel = without_arguments(first.recorded_kernel);
        StepKernel& group = groups[{first.op_name, kernel, first.phase, op.fidelity}];
        group.op = first.op_name;
        group.kernel = kernel;
        group.kind = first.kind;
        group.phase = first.phase;
        group.fidelity = op.fidelity;
        group.bound_by = op.bound_by;
        group.times.add(
            {1, *first.measured_us, op.simulated_us, std::abs(op.simulated_us - *first.measured_us)});
    }
    for (auto& [key, group] : groups) step.kernels.push_back(std::move(group));
    std::stable_sort(step.kernels.begin(), step.kernels.end(), [](const StepKernel& a, const StepKernel& b) {
        return a.times.deviation_us > b.times.deviation_us;
    });
    return step;
}

std::vector<std::pair<std::string, StepTimes>> times_by_kind(const RecordedStep& step) {
    std::map<std::string, StepTimes> kinds;
    for (const StepKernel& kernel : step.kernels)
        if (kernel.fidelity == sim::Fidelity::cycle) kinds[kernel.kind].add(kernel.times);
    std::vector<std::pair<std::string, StepTimes>> sorted(kinds.begin(), kinds.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
        return a.second.recorded_us > b.second.recorded_us;
    });
    return sorted;
}

}  // namespace heddle::validation
