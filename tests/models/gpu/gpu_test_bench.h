// PTX kernels for the tests of the GPU model, and one GPU to run them on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"
#include "isa/ptx/global_memory.h"
#include "models/gpu/gpu.h"

namespace heddle::models::gpu {

/// A kernel with the arguments of one launch. Parameters are 64-bit values in the order declared.
struct TestLaunch {
    std::shared_ptr<ptx::LoadedKernel> kernel;
    ptx::LaunchContext context;
};

/// `body` is PTX between the braces of an entry with `parameters` .u64 parameters p0, p1, ...; it may use the
/// registers %r0..%r63 (b32), %rd0..%rd63 (b64), %f0..%f127 (f32), %p0..%p7, and `shared` bytes of shared
/// memory named smem.
std::string kernel_text(const std::string& body, unsigned parameters, unsigned shared = 0);

class GpuTestBench {
  public:
    explicit GpuTestBench(const GpuConfig& config = {}, const char* name = "gpu") : gpu(name, config) {}

    ptx::GlobalMemory memory;
    Gpu gpu;

    TestLaunch launch(const std::string& text, unsigned grid, unsigned block,
                      const std::vector<std::uint64_t>& arguments, ptx::Mode mode = ptx::Mode::functional,
                      unsigned dynamic_shared = 0, ptx::Assembly assembly = ptx::Assembly::as_written);
    KernelResult run(const std::string& text, unsigned grid, unsigned block,
                     const std::vector<std::uint64_t>& arguments, const RunOptions& options = {},
                     ptx::Mode mode = ptx::Mode::functional) {
        return gpu.run(launch(text, grid, block, arguments, mode).context, options);
    }
    /// Cycles that one more turn of a loop takes: `text(turns)` run with two counts of turns.
    double cycles_per_turn(const std::function<std::string(unsigned)>& text, unsigned grid, unsigned block,
                           const std::vector<std::uint64_t>& arguments, unsigned few, unsigned many,
                           const RunOptions& options = {});

    /// A buffer of 64-bit pointers: element i, `stride` bytes apart, points to element i + 1, the last to the
    /// first.
    std::uint64_t pointer_ring(std::uint64_t elements, std::uint64_t stride);
};

/// One thread follows the pointers at p0 for `turns` turns with loads of the given cache operator, then
/// writes the last pointer to p1.
std::string pointer_chase(unsigned turns, const std::string& cache_operator);
/// Every thread reads `chunks` times 16 bytes of the buffer p0, `threads` times 16 bytes apart.
std::string streaming_read(unsigned chunks, std::uint64_t threads, const std::string& cache_operator);
/// Every thread writes 16 bytes `chunks` times.
std::string streaming_write(unsigned chunks, std::uint64_t threads);
/// A loop of `turns` turns around `instructions`, which may use %f0.. (set to 1.0) and %r10.. (set to the
/// lane).
std::string loop_of(const std::string& instructions, unsigned turns, unsigned shared = 0);

}  // namespace heddle::models::gpu
