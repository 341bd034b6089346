// The devices of one program: their memory, modules, kernels and launches. Everything is carried out in the order in which the program asks for it, which
// is one of the orders that streams and events allow.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/protocol/protocol.h"
#include "driver/server/device_timeline.h"
#include "driver/server/shared_memory.h"
#include "isa/ptx/execution.h"
#include "isa/ptx/texture.h"
#include "models/gpu/sampled_gpu.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/gpu/plan/l2_residency.h"
#include "sim/run/time/launch_outcome.h"

namespace heddle::driver {

/// Which launches are timed.
enum class Timing : std::uint8_t {
    all,
    distinct,  ///< the first of each kernel, grid and block
    named,     ///< those of kernels that a name chooses
    none,      ///< values alone
};

struct GpuOptions {
    Timing timing = Timing::all;
    std::string kernel;     ///< Timing::named: a part of the kernel's name
    unsigned devices = 1;
    bool check = false;     ///< look for errors that need not show (isa/ptx/check.h); values alone
};

/// The timing model, one for all programs of the process: SystemC elaborates once.
class TimingModel {
  public:
    TimingModel(const models::gpu::GpuConfig& config, const GpuOptions& options) : config_(config), options_(options) {}
    models::gpu::SampledGpu& gpu();

  private:
    const models::gpu::GpuConfig& config_;
    const GpuOptions& options_;
    std::optional<models::gpu::SampledGpu> gpu_;
};

/// What the program gets back.
struct Answer {
    Status status = Status::success;
    Writer content;
    std::string printed, message;
};

class VirtualGpu {
  public:
    /// All arguments must outlive this.
    VirtualGpu(const sim::Hardware& hardware, const GpuOptions& options, TimingModel& model);
    ~VirtualGpu();
    VirtualGpu(const VirtualGpu&) = delete;
    VirtualGpu& operator=(const VirtualGpu&) = delete;

    /// Carries out a message. Nothing: it wants no answer.
    std::optional<Answer> handle(Call call, Reader content);
    int memory_descriptor() const { return arena_.descriptor(); }
    /// What the program did, as a run for each device that it used.
    std::vector<sim::RunResult> results(const std::string& workload);

  private:
    struct Module;
    struct Function;

    void hello(Reader& content, Answer& answer);
    void allocate(Reader& content, Answer& answer);
    void release(Reader& content);
    void load_module(Reader& content, Answer& answer);
    void function(Reader& content, Answer& answer);
    void variable(Reader& content, Answer& answer);
    void launch(Reader& content);
    void copy(Reader& content);
    void fill(Reader& content);
    void occupancy(Reader& content, Answer& answer);
    void tensor_map(Reader& content, Answer& answer);
    void create_texture(Reader& content, bool surface, Answer& answer);
    void elapsed(Reader& content, Answer& answer);
    void board(Reader& content, Answer& answer);
    DeviceTimeline& timeline(std::uint32_t stream);
    void wait(std::uint32_t stream, std::uint32_t event);
    Function& function_of(std::uint32_t number);
    Module& module_of(std::uint32_t number);
    ptx::LaunchContext context_of(const LaunchRequest& request, Function& function, std::string_view parameters);
    void run(const LaunchRequest& request, Function& function, ptx::LaunchContext& context);
    bool is_timed(const Function& function, const std::string& shape) const;
    void add_residents(const ptx::LaunchContext& context, models::gpu::RunOptions& options);
    bool timing() const { return options_.timing != Timing::none && profiling_; }

    const sim::Hardware& hardware_;
    const sim::GpuMachine& machine_;
    const GpuOptions& options_;
    TimingModel& model_;
    SharedMemory arena_;
    ptx::GlobalMemory memory_;
    ptx::TextureTable textures_;
    std::vector<DeviceTimeline> timelines_;  ///< by device
    std::map<std::uint32_t, std::uint32_t> event_devices_;
    sim::L2Residency residency_;
    std::map<std::uint32_t, std::unique_ptr<Module>> modules_;
    std::map<std::uint32_t, std::unique_ptr<Function>> functions_;
    std::map<std::string, sim::LaunchOutcome> known_;  ///< Timing::distinct: by kernel and shape
    std::map<std::uint64_t, std::uint64_t> allocated_;  ///< bytes of device memory by address
    std::uint64_t used_bytes_ = 0;
    std::uint64_t heap_bytes_ = std::uint64_t{8} << 20;
    std::uint32_t next_ = 1;
    std::uint64_t launches_ = 0, untimed_ = 0, programmatic_ = 0;
    bool profiling_ = true;
    Status sticky_ = Status::success;  ///< after a kernel that failed, everything returns this
    std::string sticky_message_, printed_;
    std::set<std::string> missing_;
    ptx::CheckLog log_;
};

}  // namespace heddle::driver
