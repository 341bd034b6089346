// Runs a list of recorded kernels in sequence on a simulated GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/gpu/gpu_config.h"
#include "models/gpu/kernel_result.h"
#include "models/gpu/series.h"
#include "sim/machine/hardware.h"
#include "sim/run/assemble/result.h"

namespace heddle::sass {

/// How a list is run.
struct TraceRunOptions {
    unsigned jobs = 0;  ///< worker processes; 0: one per core
    bool tick_every_cycle = false;
    models::gpu::SeriesSettings series;  ///< with an interval: counters that are recorded for every kernel
    std::optional<ptx::Operation> unknown_as;  ///< the class of unknown opcodes; see TraceTable
    std::function<void(double fraction, const std::string& what)> progress;
};

/// Traffic through one level of the memory hierarchy.
struct Traffic {
    std::uint64_t sectors = 0, hit_sectors = 0;  ///< sectors of 32 bytes; hits count loads only
    double bytes = 0;
};

/// One entry of the list, in its order.
struct TraceEntry {
    enum class Kind : std::uint8_t { kernel, host_to_device };
    Kind kind = Kind::kernel;
    std::string name;                             ///< of the kernel
    std::string file;                             ///< path of the trace
    std::uint64_t id = 0;                         ///< number of the kernel, as the tracer counted
    std::uint64_t address = 0, copied_bytes = 0;  ///< for host_to_device
    double seconds = 0;  ///< for a copy an estimate from host_link of the hardware file
    // Of kernels:
    std::uint64_t cycles = 0, warp_instructions = 0;
    double ipc = 0;  ///< warp instructions per cycle of the whole GPU, without launch overhead
    std::uint32_t grid[3] = {0, 0, 0}, block[3] = {0, 0, 0};
    std::uint32_t registers_per_thread = 0, shared_bytes = 0, ctas_per_sm = 0;
    std::string bound_by;
    Traffic l1, l2;
    double dram_read_bytes = 0, dram_write_bytes = 0;
    std::uint64_t shared_accesses = 0, shared_wavefronts = 0, atomic_sectors = 0;
    std::map<std::string, double> time_by_reason;  ///< fractions of sub-core cycles, adding up to 1
    std::map<std::string, double> utilisation;
    std::map<std::string, double> energy;                                             ///< joules
    std::uint64_t forced_releases = 0, undescribed_copies = 0, guessed_textures = 0;  ///< see TraceLaunch
    std::map<std::string, sim::Throughput> throughputs;  ///< work done, and the device's peak rates
    std::shared_ptr<const models::gpu::Series> series;  ///< recorded when TraceRunOptions::series asks for it
    double read_and_run_seconds = 0;                     ///< wall-clock time of reading and simulating
};

/// The result of a list.
struct TraceRun {
    std::string list, hardware;
    std::vector<TraceEntry> entries;
    double seconds = 0;  ///< of all entries, one after another
    std::vector<std::string> notes;
    double wall_seconds = 0;
    unsigned workers = 1;
    std::uint64_t text_bytes = 0;  ///< size of the decompressed traces
};

/// Whether a command's argument names traces: kernelslist.g, .traceg, .traceg.xz or .tracez.
bool names_traces(const std::string& path);

/// Runs a list or a single trace. Each kernel begins with the contents of L2 that earlier copies and kernels
/// left. Unknown opcodes of all kernels are reported in one error. Throws heddle::Error for damaged files.
TraceRun run_traces(const std::string& path, const sim::Hardware& hardware, const TraceRunOptions& options);

}  // namespace heddle::sass
