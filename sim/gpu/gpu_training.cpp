// Training with real values on the GPU model.
#include <fmt/format.h>

#include <algorithm>

#include "isa/common/error.h"
#include "sim/gpu/gpu_step.h"
#include "sim/gpu/time/gpu_session.h"
#include "sim/run/numerics/numerics.h"
#include "sim/gpu/plan/step_plan.h"
#include "sim/run/workers/worker_pool.h"
#include "workloads/lowering/gpu/gpu_lowering.h"
#include "workloads/lowering/gpu/programmatic.h"
#include "workloads/reference/elements.h"

namespace heddle::sim {
namespace {

class GpuTraining : public TrainingDevice {
  public:
    GpuTraining(const trace::Trace& trace, const models::gpu::GpuConfig& config,
                const lowering::GpuLowering& lowered, const std::vector<PlannedLaunch>& plan,
                bool tick_every_cycle)
        : trace_(trace), lowered_(lowered), plan_(plan), session_(config, tick_every_cycle) {
        for (const program::Buffer& buffer : lowered.program.buffers) values_.emplace_back(buffer.bytes);
    }

    void write(trace::TensorId id, const std::vector<double>& values) override {
        const std::vector<std::byte> bytes = reference::encode_elements(trace_.tensor(id).type, values);
        std::copy(bytes.begin(), bytes.end(), values_[lowered_.buffer_of_tensor[id]].begin());
    }
    std::vector<double> read(trace::TensorId id) override {
        return reference::decode_elements(trace_.tensor(id).type,
                                          values_[lowered_.buffer_of_tensor[id]].data(),
                                          static_cast<std::size_t>(trace_.tensor(id).elements()));
    }
    void run_step() override {
        for (const PlannedLaunch& planned : plan_) session_.compute(lowered_.program, planned, values_);
    }
    void run_passes() override { run(false); }
    void run_update() override { run(true); }
    std::vector<std::uint64_t> time_step() override {
        BufferValues copies = values_;
        std::vector<std::uint64_t> cycles;
        for (const PlannedLaunch& planned : plan_)
            cycles.push_back(session_.run(lowered_.program, planned, &copies).cycles);
        return cycles;
    }
    double input_roundoff(trace::ElementType type) const override {
        switch (type) {
            case trace::ElementType::bf16:
                return 0x1p-8;
            case trace::ElementType::f16:
                return 0x1p-11;
            case trace::ElementType::tf32:
                return 0x1p-11;
            case trace::ElementType::f64:
                return 0x1p-53;
            default:
                return 0x1p-24;
        }
    }

  private:
    void run(bool optimizer) {
        for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
            if ((trace_.ops[i].phase == trace::Phase::optimizer) != optimizer) continue;
            const auto& op = lowered_.ops[i];
            for (std::uint32_t k = 0; k < op.launch_count; ++k)
                session_.compute(lowered_.program, plan_[op.first_launch + k], values_);
        }
    }

    const trace::Trace& trace_;
    const lowering::GpuLowering& lowered_;
    const std::vector<PlannedLaunch>& plan_;
    GpuSession session_;
    BufferValues values_;
};

lowering::GpuLowering lower_all(const trace::Trace& trace, const models::gpu::GpuConfig& config) {
    lowering::GpuLowering lowered = lowering::lower_for_gpu(trace, target_of(config));
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        if (!lowered.ops[i].unsupported.empty()) {
            throw Error("--numerics needs a kernel for every op: " + lowered.ops[i].unsupported,
                        {.key = "op " + std::to_string(i) + " (" + trace.ops[i].name + ")"},
                        "leave --numerics out to estimate such ops");
        }
    }
    return lowered;
}

class TrainingJob : public JobRunner {
  public:
    explicit TrainingJob(std::function<std::string()> train) : train_(std::move(train)) {}
    std::string run(std::size_t) override { return train_(); }

  private:
    std::function<std::string()> train_;
};

/// With what it is made of.
class GpuTrainingAlone : public TrainingDevice {
  public:
    GpuTrainingAlone(const trace::Trace& trace, const models::gpu::GpuConfig& config)
        : lowered_(lower_all(trace, config)),
          plan_(plan_step(trace, lowered_, config, ptx::Assembly::scheduled)),
          device_(trace, config, lowered_, plan_, false) {}

    void write(trace::TensorId id, const std::vector<double>& values) override { device_.write(id, values); }
    std::vector<double> read(trace::TensorId id) override { return device_.read(id); }
    void run_step() override { device_.run_step(); }
    void run_passes() override { device_.run_passes(); }
    void run_update() override { device_.run_update(); }
    std::vector<std::uint64_t> time_step() override { return device_.time_step(); }
    double input_roundoff(trace::ElementType type) const override { return device_.input_roundoff(type); }

  private:
    lowering::GpuLowering lowered_;
    std::vector<PlannedLaunch> plan_;
    GpuTraining device_;
};

/// Labels and indices pick addresses, so a launch that reads them takes its time from their values, which are
/// those of the declared distribution in timing mode and those of the training here.
bool depends_on_values(const program::GpuProgram& program, const PlannedLaunch& planned) {
    return std::any_of(planned.buffers.begin(), planned.buffers.end(), [&](const PlannedBuffer& buffer) {
        return program.buffers[buffer.buffer].steering.has_value();
    });
}

/// What the kernels compute and in which order they add follows from their texts and launches.
std::string text_of_kernels(const std::vector<PlannedLaunch>& plan) {
    std::string text;
    for (const PlannedLaunch& planned : plan)
        text += fmt::format("{}\n{} {} {}\n", planned.launch->kernel->text, planned.launch->grid.x,
                            planned.launch->grid.y, planned.launch->grid.z);
    return text;
}

}  // namespace

std::unique_ptr<TrainingDevice> gpu_training_device(const trace::Trace& trace, const models::gpu::GpuConfig& config) {
    return std::make_unique<GpuTrainingAlone>(trace, config);
}

NumericsResult train_on_gpu(const trace::Trace& trace, const models::gpu::GpuConfig& config,
                            const SimulateOptions& options, const std::vector<OpOutcome>& outcomes) {
    lowering::GpuLowering lowered = lower_all(trace, config);
    if (options.programmatic) lowering::make_programmatic(lowered.program, config.compute_capability);
    std::vector<PlannedLaunch> plan = plan_step(trace, lowered, config, options.assembly);
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        for (std::uint32_t k = 0; k < lowered.ops[i].launch_count; ++k)
            plan[lowered.ops[i].first_launch + k].dependency_release =
                outcomes[i].kernels.at(k).dependency_release;
    }
    TrainingReport report;
    run_jobs(
        1, 1,
        [&]() -> std::unique_ptr<JobRunner> {
            return std::make_unique<TrainingJob>([&] {
                GpuTraining device(trace, config, lowered, plan, options.tick_every_cycle);
                return to_text(train_beside_reference(
                    trace, device, training_plan(options, device_key(config) + text_of_kernels(plan))));
            });
        },
        [&](std::size_t, const std::string& text) { report = training_report_from_text(text); });

    for (std::size_t i = 0; i < trace.ops.size() && !report.cycles.empty(); ++i) {
        for (std::uint32_t k = 0; k < lowered.ops[i].launch_count; ++k) {
            const std::uint64_t with_values = report.cycles.at(lowered.ops[i].first_launch + k);
            const KernelResult& kernel = outcomes[i].kernels.at(k);
            if (with_values != kernel.cycles &&
                !depends_on_values(lowered.program, plan[lowered.ops[i].first_launch + k])) {
                throw std::runtime_error(fmt::format("{} takes {} cycles with values and {} without",
                                                     kernel.name, with_values, kernel.cycles));
            }
        }
    }
    return report.numerics;
}

}  // namespace heddle::sim
