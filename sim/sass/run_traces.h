// A list of recorded kernels, one after another on a simulated GPU.
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

struct TraceRunOptions {
    unsigned jobs = 0;  ///< worker processes; 0: one per core
    bool tick_every_cycle = false;
    models::gpu::SeriesSettings series;        ///< with an interval: of every kernel, for its timeline
    std::optional<ptx::Operation> unknown_as;  ///< see TraceTable
    std::function<void(double fraction, const std::string& what)> progress;
};

/// Traffic through one level of the memory hierarchy.
struct Traffic {
    std::uint64_t sectors = 0, hit_sectors = 0;  ///< of 32 bytes; hits: of loads
    double bytes = 0;
};

/// One entry of the list, in its order.
struct TraceEntry {
    enum class Kind : std::uint8_t { kernel, host_to_device };
    Kind kind = Kind::kernel;
    std::string name;                             ///< of the kernel
    std::string file;                             ///< of the trace
    std::uint64_t id = 0;                         ///< of the kernel, as the tracer counted
    std::uint64_t address = 0, copied_bytes = 0;  ///< host_to_device
    double seconds = 0;                           ///< a copy's is an estimate: host_link in the hardware file
    // Of kernels:
    std::uint64_t cycles = 0, warp_instructions = 0;
    double ipc = 0;  ///< warp instructions per cycle, of the whole GPU, launch overhead left out
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
    std::map<std::string, sim::Throughput> throughputs;  ///< what was done beside what can be
    std::shared_ptr<const models::gpu::Series> series;   ///< of TraceRunOptions::series
    double read_and_run_seconds = 0;                     ///< on this machine
};

struct TraceRun {
    std::string list, hardware;
    std::vector<TraceEntry> entries;
    double seconds = 0;  ///< of all entries, one after another
    std::vector<std::string> notes;
    double wall_seconds = 0;
    unsigned workers = 1;
    std::uint64_t text_bytes = 0;  ///< of the traces, decompressed
};

/// Whether a command's argument names traces: kernelslist.g, .traceg, .traceg.xz or .tracez.
bool names_traces(const std::string& path);

/// Runs a list, or a single trace. Each kernel begins with the contents of L2 that copies and kernels before
/// it left. Unknown opcodes of all kernels are one error. Throws heddle::Error for what is wrong with the
/// files.
TraceRun run_traces(const std::string& path, const sim::Hardware& hardware, const TraceRunOptions& options);

}  // namespace heddle::sass
