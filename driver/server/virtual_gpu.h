// The devices of one program: their memory, modules, kernels and launches. Everything is carried out in the order in which the program asks for it, which
// is one of the orders that streams and events allow.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "driver/protocol/protocol.h"
#include "driver/server/blas.h"
#include "driver/server/device_timeline.h"
#include "driver/server/launch_timing.h"
#include "driver/server/shared_memory.h"
#include "isa/ptx/execution.h"
#include "isa/ptx/texture.h"
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

/// Which images of a program's fat binaries are run.
enum class Code : std::uint8_t {
    automatic,  ///< PTX where there is some that the device may run, else machine code
    ptx,        ///< PTX alone
    machine,    ///< machine code alone
};

/// "auto", "ptx" or "machine", as the command line says it. Throws heddle::Error for other words.
Code code_named(const std::string& name);

struct GpuOptions {
    Timing timing = Timing::all;
    Code code = Code::automatic;
    bool through_ptxas = false;  ///< PTX runs as the machine code that ptxas makes of it
    std::string kernel;     ///< Timing::named: a part of the kernel's name
    unsigned devices = 1;
    std::string range;      ///< only launches in an NVTX range of this name are timed; empty: all
    bool check = false;     ///< look for errors that need not show (isa/ptx/check.h); values alone
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

    /// Carries out a message, before which the program has worked for `host_us` by itself. Nothing: it wants no answer.
    std::optional<Answer> handle(Call call, Reader content, double host_us = 0);
    int memory_descriptor() const { return arena_.descriptor(); }
    /// So many bytes of the devices' memory; none where they do not all belong to one allocation.
    std::span<std::byte> bytes_at(std::uint64_t address, std::uint64_t count);
    /// Memory that the program writes without telling: pinned, mapped and managed allocations.
    void for_each_shared_with_host(const std::function<void(std::uint64_t address, std::span<const std::byte> bytes)>& visit);
    /// After a kernel that failed: what everything returns from then on.
    Status problem() const { return sticky_; }
    /// What the program did, as a run for each device that it used.
    std::vector<sim::RunResult> results(const std::string& workload);

  private:
    struct Module;
    struct Function;

    struct Handler;
    static const Handler* handler_of(Call call);
    // One for each call of the protocol.
    void hello(Reader& content, Answer& answer);
    void allocate(Reader& content, Answer& answer);
    void release(Reader& content, Answer& answer);
    void memory_info(Reader& content, Answer& answer);
    void load_module(Reader& content, Answer& answer);
    void unload_module(Reader& content, Answer& answer);
    void list_functions(Reader& content, Answer& answer);
    void function(Reader& content, Answer& answer);
    void variable(Reader& content, Answer& answer);
    void launch(Reader& content, Answer& answer);
    void copy(Reader& content, Answer& answer);
    void fill(Reader& content, Answer& answer);
    void record_event(Reader& content, Answer& answer);
    void wait_event(Reader& content, Answer& answer);
    void synchronise(Reader& content, Answer& answer);
    void wait_host(Reader& content, Answer& answer);
    void non_blocking(Reader& content, Answer& answer);
    void tensor_map(Reader& content, Answer& answer);
    void elapsed(Reader& content, Answer& answer);
    void occupancy(Reader& content, Answer& answer);
    void set_limit(Reader& content, Answer& answer);
    void blas(Reader& content, Answer& answer);
    void range(Reader& content, Answer& answer);
    void profiler(Reader& content, Answer& answer);
    void missing(Reader& content, Answer& answer);
    void create_texture(Reader& content, Answer& answer);
    void create_surface(Reader& content, Answer& answer);
    void destroy_texture(Reader& content, Answer& answer);
    void board(Reader& content, Answer& answer);
    void reserve(Reader& content, Answer& answer);
    void give_up(Reader& content, Answer& answer);
    void remap(Reader& content, Answer& answer);
    void reachable(Reader& content, Answer& answer);
    void alias(Reader& content, Answer& answer);
    void end_alias(Reader& content, Answer& answer);
    void import_memory(Reader& content, Answer& answer);
    void end_import(Reader& content, Answer& answer);
    void write_value(Reader& content, Answer& answer);
    void wait_value(Reader& content, Answer& answer);
    void without_effect(Reader& content, Answer& answer);
    void observe(Reader& content, Answer& answer);
    void last_launch(Reader& content, Answer& answer);
    void forget_caches(Reader& content, Answer& answer);

    void create_object(Reader& content, bool surface, Answer& answer);
    DeviceTimeline& timeline(std::uint32_t stream);
    void wait(std::uint32_t stream, std::uint32_t event);
    Function& function_of(std::uint32_t number);
    Module& module_of(std::uint32_t number);
    ptx::LaunchContext context_of(const LaunchRequest& request, Function& function, std::string_view parameters);
    /// What a launch of a library's kernel is called in reports, instead of by its kernel.
    struct LibraryName {
        std::string label, kind;
        double flops = 0;
    };
    void run(const LaunchRequest& request, Function& function, ptx::LaunchContext& context, const LibraryName* library = nullptr);
    void carry_out(const BlasWork& work, std::uint32_t stream);
    Function& library_function(const std::shared_ptr<const program::KernelText>& text);
    double number_at(std::uint64_t address, Number type);
    double nanoseconds(std::uint32_t stream);
    std::uint64_t cycles_beside(const LaunchRequest& request);
    bool is_timed(const Function& function, const std::string& shape) const;
    void add_residents(const ptx::LaunchContext& context, models::gpu::RunOptions& options);
    /// Whether what the program asks for now is timed.
    bool timing() const { return options_.timing != Timing::none && (observation_ & kObserveValuesAlone) == 0 && profiling_ && (options_.range.empty() || in_range()); }
    bool in_range() const;
    std::string innermost_range() const;

    const sim::Hardware& hardware_;
    const sim::GpuMachine& machine_;
    const GpuOptions& options_;
    TimingModel& model_;
    SharedMemory arena_;
    ptx::GlobalMemory memory_;
    ptx::TextureTable textures_;
    std::vector<DeviceTimeline> timelines_;  ///< by device
    std::map<std::uint32_t, std::uint32_t> event_devices_;
    std::map<std::uint64_t, std::uint32_t> value_events_;  ///< of values that streams wrote: recorded behind that, by address
    sim::L2Residency residency_;
    std::map<std::uint32_t, std::unique_ptr<Module>> modules_;
    std::map<std::uint32_t, std::unique_ptr<Function>> functions_;
    std::map<std::string, std::unique_ptr<Function>> library_functions_;  ///< by text and entry
    std::map<std::string, std::unique_ptr<Module>> library_modules_;
    std::map<std::string, sim::LaunchOutcome> known_;  ///< Timing::distinct: by kernel and shape
    std::map<std::uint64_t, std::uint64_t> allocated_;  ///< bytes of device memory by address
    std::set<std::uint64_t> shared_with_host_;  ///< allocations that the program writes, too
    std::uint64_t used_bytes_ = 0;
    std::uint64_t heap_bytes_ = std::uint64_t{8} << 20;
    std::uint32_t next_ = 1;
    std::uint64_t launches_ = 0, untimed_ = 0;
    /// The launch that is the last work of a stream.
    struct LastLaunch {
        std::uint64_t cycles = 0, dependents_start = 0;
    };
    std::map<std::uint32_t, LastLaunch> last_launches_;  ///< by stream
    double clock_nanoseconds_ = 0;  ///< what %globaltimer has said at least
    bool profiling_ = true;
    /// An NVTX range that has begun and not ended.
    struct Range {
        std::uint32_t thread = 0;
        std::uint64_t id = 0;  ///< 0: one of those that end in the reverse order of their beginning
        std::string name;
    };
    std::vector<Range> ranges_;
    std::set<std::string> seen_ranges_;
    Status sticky_ = Status::success;  ///< after a kernel that failed, everything returns this
    std::string sticky_message_, printed_;
    std::set<std::string> missing_, without_effect_;
    ptx::CheckLog log_;
    std::uint32_t observation_ = 0;     ///< bits of Observation
    ptx::CheckLog observed_log_;        ///< kObserveCheck: of the launches since the last question
    std::vector<std::string> observed_;  ///< JSON objects of launches since the last question
};

}  // namespace heddle::driver
