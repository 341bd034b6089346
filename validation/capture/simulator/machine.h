// The virtual GPU as a host sees it: memory, kernels, launches one after the other, and their time. What the
// simulator's Device and its Blas share.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/gpu/gpu.h"
#include "models/gpu/gpu_config.h"
#include "models/gpu/kernel_result.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/machine/hardware.h"
#include "sim/gpu/plan/l2_residency.h"
#include "validation/capture/device.h"

namespace heddle::capture {

/// A kernel of a module, as loaded.
struct MachineKernel {
    std::shared_ptr<const ptx::Module> module;
    std::unique_ptr<ptx::LoadedKernel> loaded;
    std::string text;
    bool reads_clock = false;  ///< its values depend on time
    std::uint32_t local_bytes = 0, maximum_threads = 0;
};

/// A range of device memory that a launch works on.
struct OperandRange {
    std::uint64_t base = 0, bytes = 0;
};

/// Everything throws heddle::Error.
class Machine {
  public:
    explicit Machine(sim::Hardware hardware);

    const sim::Hardware& hardware() const { return hardware_; }
    const models::gpu::GpuConfig& config() const { return sim::gpu_config(hardware_); }
    ptx::GlobalMemory& memory() { return memory_; }

    std::uint64_t allocate(const std::string& name, std::uint64_t bytes);
    void release(std::uint64_t base);
    std::uint64_t free_bytes() const;
    /// The host changed or copied these bytes, which leaves them in L2.
    void touch(std::uint64_t base, std::uint64_t bytes);

    /// The same text and entry give the same handle.
    KernelHandle load(const std::string& text, const std::string& entry);
    const MachineKernel& kernel(KernelHandle handle) const;

    /// What follows in the stream: run now, or noted while time() listens. `operands` say what the launch
    /// leaves in L2; without them every buffer that a parameter points to, from there to its end.
    void launch(const Launch& launch, std::vector<OperandRange> operands = {});

    /// Seconds of what `enqueue` launches, from the end of the work before it to its own end. The launches
    /// are also carried out once, as far as values are concerned.
    double time(const std::function<void()>& enqueue, bool cold_l2);

    /// For tests: each simulated launch is also run without values, and with them looking at every block in
    /// every cycle. An Error when the cycles differ.
    void set_checked(bool checked) { checked_ = checked; }

  private:
    struct Prepared {
        const MachineKernel* kernel = nullptr;
        ptx::LaunchContext context;
        std::vector<OperandRange> operands;
    };

    void check_shape(const MachineKernel& kernel, const Launch& launch) const;
    std::vector<OperandRange> operands_of(const ptx::LaunchContext& context) const;
    void run(const Prepared& prepared);
    /// Runs on the model, with values.
    models::gpu::KernelResult simulate(const Prepared& prepared, sim::L2Residency& residency);
    static void touch(sim::L2Residency& residency, const Prepared& prepared);
    /// Names the launch and its L2 contents: launches of one key take the same time.
    static std::string key_of(const Prepared& prepared, const sim::L2Residency& residency);
    void check_cycles(const Prepared& prepared, const models::gpu::RunOptions& options);

    sim::Hardware hardware_;
    ptx::GlobalMemory memory_;
    std::uint64_t allocated_ = 0;
    std::map<std::string, KernelHandle> handles_;  ///< by entry and text
    std::vector<std::unique_ptr<MachineKernel>> kernels_;
    sim::L2Residency residency_;
    std::vector<Prepared>* listener_ = nullptr;
    bool checked_ = false;
};

}  // namespace heddle::capture
