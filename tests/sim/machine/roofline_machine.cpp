#include "roofline_machine.h"

#include <algorithm>

#include "isa/common/error.h"
#include "sim/area/die_area.h"
#include "sim/run/numerics/numerics.h"
#include "sim/run/planned_step.h"
#include "sim/run/simulate.h"

namespace heddle::tests {
namespace {

using models::Quantity;

class RooflineMachine final : public sim::Machine {
  public:
    std::unique_ptr<Machine> clone() const override { return std::make_unique<RooflineMachine>(*this); }
    std::string noun() const override { return "roofline"; }
    void describe(models::ParameterList& list) override {
        list.add("compute.rate", rate, Quantity::count, 1e9, 1e18, "Operations per second.");
        list.add("memory.bandwidth", bandwidth, Quantity::bandwidth, 1e9, 1e15, "Bytes per second.");
        list.add("memory.size", size, Quantity::bytes, 1 << 20, 1e13, "Bytes of memory.");
        list.add("begin", begin, Quantity::time, 0, 1, "Time from one op to the next.");
    }
    std::optional<sim::MachineProblem> problem() const override {
        if (rate / bandwidth <= 100000) return std::nullopt;
        return sim::MachineProblem{"compute.rate is more than 100000 operations for each byte of memory.bandwidth", "", ""};
    }
    sim::MatrixPeak matrix_peak() const override { return {rate, 1e9, rate, 1e9}; }
    double memory_bandwidth() const override { return bandwidth; }
    sim::MemoryRoom memory_room() const override { return {.capacity = size}; }
    sim::DieArea area() const override {
        sim::DieArea area;
        area.parts = {{"compute", rate / 1e12, "operations"}};
        return area;
    }
    void refuse_options(const sim::SimulateOptions& options) const override {
        if (options.numerics) throw Error("a roofline computes no values", {"--numerics", 0, ""}, "leave it out");
    }
    sim::SharedDevice shared_device() const override { return {}; }
    std::unique_ptr<sim::PlannedStep> plan(const trace::Trace& trace, const sim::SimulateOptions& options,
                                           sim::RunResult& result) const override;
    sim::NumericsResult train(const trace::Trace&, const trace::Trace&, const sim::SimulateOptions&,
                              const std::vector<sim::OpOutcome>&, const sim::RunResult&) const override {
        throw Error("a roofline computes no values");
    }
    std::unique_ptr<sim::TrainingDevice> training_device(const trace::Trace&) const override {
        throw Error("a roofline computes no values");
    }

    double rate = 1e14, bandwidth = 1e12, size = 16e9, begin = 1e-6;
};

class RooflineStep final : public sim::PlannedStep {
  public:
    RooflineStep(const trace::Trace& trace, const RooflineMachine& machine) : trace_(trace), machine_(machine) {}
    std::vector<sim::TraceableKernel> launches() const override { return {}; }
    void time(sim::RunResult&) override {}
    sim::RunTraced traced_device() const override { return {}; }
    std::vector<sim::OpOutcome> outcomes(sim::RunResult& result) const override {
        std::vector<sim::OpOutcome> outcomes;
        for (const trace::Op& op : trace_.ops) {
            if (op.kind == trace::OpKind::collective) {
                outcomes.push_back(communication_outcome(op, result));
                continue;
            }
            const double compute = trace::floating_point_operations(trace_, op) / machine_.rate;
            const double memory = trace::bytes_moved(trace_, op) / machine_.bandwidth;
            sim::KernelResult kernel;
            kernel.name = "roofline";
            kernel.fidelity = sim::Fidelity::estimated;
            kernel.gap_us = machine_.begin * 1e6;
            kernel.time_us = std::max(compute, memory) * 1e6;
            kernel.bound_by = compute > memory ? "compute" : "memory";
            outcomes.emplace_back().kernels.push_back(std::move(kernel));
        }
        return outcomes;
    }

  private:
    const trace::Trace& trace_;
    const RooflineMachine& machine_;
};

std::unique_ptr<sim::PlannedStep> RooflineMachine::plan(const trace::Trace& trace, const sim::SimulateOptions& options,
                                                        sim::RunResult& result) const {
    check_memory(trace, memory_room(), 0, options, result);
    return std::make_unique<RooflineStep>(trace, *this);
}

}  // namespace

sim::MachineKind roofline_kind() {
    return {"roofline", [](const std::string&) { return std::make_unique<RooflineMachine>(); }};
}

}  // namespace heddle::tests
