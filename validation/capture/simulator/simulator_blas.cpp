#include "validation/capture/simulator/simulator_blas.h"

#include <algorithm>
#include <map>
#include <vector>

#include "isa/common/error.h"
#include "validation/capture/simulator/gemm_algorithm.h"
#include "validation/capture/simulator/gemm_launches.h"

namespace heddle::capture {
namespace {

class SimulatorBlas : public Blas {
  public:
    explicit SimulatorBlas(Machine& machine)
        : machine_(machine), target_(models::gpu::target_of(machine.config())) {}

    std::vector<GemmAlgorithm> algorithms(const GemmProblem& problem, unsigned maximum) override {
        std::vector<GemmAlgorithm> algorithms;
        if (!unsupported(problem, target_).empty()) return algorithms;
        for (const kernels::GemmChoice& choice : choices(problem)) {
            const std::uint64_t workspace = workspace_bytes(problem, choice);
            if (workspace > problem.workspace_bytes) continue;
            if (algorithms.size() == maximum) break;
            GemmAlgorithm algorithm = algorithm_of(choice);
            algorithm.workspace_bytes = workspace;
            algorithm.waves = waves(problem, choice);
            algorithms.push_back(std::move(algorithm));
        }
        return algorithms;
    }

    void run(const GemmProblem& problem, const GemmAlgorithm& algorithm,
             const GemmOperands& operands) override {
        try {
            for (const GemmLaunch& planned : launches(problem, algorithm, operands)) {
                Launch launch;
                launch.kernel = machine_.load(planned.kernel.text, planned.kernel.entry);
                launch.grid = planned.grid;
                launch.block = planned.kernel.block;
                launch.cluster = planned.kernel.cluster;
                launch.dynamic_shared_bytes = planned.kernel.dynamic_shared_bytes;
                launch.parameters = planned.parameters;
                machine_.launch(launch, planned.operands);
            }
        } catch (const Error& error) {
            throw DeviceError(error.what());
        }
    }

    void observe(const GemmProblem& problem, GemmAlgorithm& algorithm,
                 const GemmOperands& operands) override {
        try {
            const std::vector<GemmLaunch> planned = launches(problem, algorithm, operands);
            algorithm.kernels.clear();
            for (const GemmLaunch& launch : planned) {
                if (!algorithm.kernels.empty()) algorithm.kernels += "; ";
                algorithm.kernels += launch.kernel.entry;
            }
            const GemmLaunch& first = planned.front();
            std::copy(first.grid.begin(), first.grid.end(), algorithm.grid);
            std::copy(first.kernel.block.begin(), first.kernel.block.end(), algorithm.block);
            const KernelHandle handle = machine_.load(first.kernel.text, first.kernel.entry);
            algorithm.shared_bytes =
                first.kernel.dynamic_shared_bytes + machine_.kernel(handle).loaded->static_shared_bytes();
        } catch (const Error& error) {
            throw DeviceError(error.what());
        }
    }

  private:
    std::vector<kernels::GemmChoice> choices(const GemmProblem& problem) const {
        const kernels::GemmShape shape{
            static_cast<std::uint32_t>(problem.m), static_cast<std::uint32_t>(problem.n),
            static_cast<std::uint32_t>(problem.k), static_cast<std::uint32_t>(problem.batch)};
        return kernels::gemm_candidates(shape, *element_type(problem.a), target_, alignment_of(problem),
                                        problem.allow_split_k);
    }

    double waves(const GemmProblem& problem, const kernels::GemmChoice& choice) const {
        const auto ctas = static_cast<double>(kernels::divide_up(problem.m, choice.tile.m)) *
                          kernels::divide_up(problem.n, choice.tile.n) * static_cast<double>(problem.batch) *
                          choice.splits;
        return ctas / target_.sm_count;
    }

    std::vector<GemmLaunch> launches(const GemmProblem& problem, const GemmAlgorithm& algorithm,
                                     const GemmOperands& operands) {
        const std::string reason = unsupported(problem, target_);
        if (!reason.empty()) throw Error("the simulator's BLAS has no algorithm: " + reason);
        const kernels::GemmChoice choice = choice_of(algorithm);
        return gemm_launches(problem, choice, operands, workspace(workspace_bytes(problem, choice)), target_);
    }

    /// One of this size or more. Kept to the end: a launch that is noted for later may still need it.
    std::uint64_t workspace(std::uint64_t bytes) {
        if (bytes == 0) return 0;
        const auto fits = workspaces_.lower_bound(bytes);
        if (fits != workspaces_.end()) return fits->second;
        return workspaces_[bytes] = machine_.allocate("BLAS workspace", bytes);
    }

    Machine& machine_;
    target::GpuTarget target_;
    std::map<std::uint64_t, std::uint64_t> workspaces_;  ///< address by size
};

}  // namespace

std::unique_ptr<Blas> make_simulator_blas(Machine& machine) {
    return std::make_unique<SimulatorBlas>(machine);
}

}  // namespace heddle::capture
