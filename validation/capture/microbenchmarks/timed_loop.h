// A loop of instructions whose time per instruction is wanted.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "validation/capture/microbenchmarks/benchmark.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::capture {

/// What is repeated. The kernel times a loop around `links` links and one around twice as many; the
/// difference is the time of `links` links, without that of the loop.
struct TimedBody {
    std::string entry;
    unsigned threads = 32;  ///< of the only CTA
    unsigned links = 64;
    unsigned minimum_capability = 70;
    bool specific_target = false;  ///< ".target sm_90a"
    std::string version;           ///< PTX version above 8.0 that an instruction needs; empty: 8.0
    /// Sets up registers. `operands` is an address in global memory, see operand_offset; `scratch` one of
    /// kScratchBytes bytes of zeros.
    std::function<void(kernels::PtxWriter&, const kernels::Reg& operands, const kernels::Reg& scratch)>
        prologue;
    std::function<void(kernels::PtxWriter&, unsigned link)> link;
    std::function<void(kernels::PtxWriter&)> begin_turn, end_turn;  ///< may be empty
    /// 32-bit registers that must be kept, so that nothing is optimised away.
    std::function<std::vector<kernels::Reg>(kernels::PtxWriter&)> results;
    /// Text before the entry (module-scope variables).
    std::string module_variables;
};

/// Bytes of the table that `operands` points to, whose values the assembler cannot know.
inline constexpr unsigned kOperandTableBytes = 64;
namespace operand_offset {
inline constexpr int f32_one = 0, f32_small = 4;    // 1, 2^-20
inline constexpr int b32_three = 8, b32_five = 12;  // 3, 5
inline constexpr int f16x2_one = 16, f16x2_small = 20;
inline constexpr int bf16x2_one = 24, bf16x2_small = 28;
inline constexpr int f64_one = 32, f64_small = 40;
inline constexpr int b64_zero = 48, b32_zero = 56;
}  // namespace operand_offset
inline constexpr unsigned kScratchBytes = 1 << 20;

kernels::GeneratedKernel generate_timed_loop(const TimedBody& body, unsigned compute_capability);

/// Runs it on one SM: cycles per link, from the first warp's start to the last warp's end. `turns` is chosen
/// so that about `links_wanted` links are timed.
Measurement measure_timed_loop(const TimedBody& body, Device& device, const MeasureSettings& settings,
                               unsigned links_wanted = 4096);

/// A benchmark whose value is cycles per link (unit "cycles"), or scale / that (another unit).
Benchmark timed_loop_benchmark(std::string id, std::string group, const TimedBody& body,
                               std::vector<BenchmarkParameter> parameters, const std::string& unit = "cycles",
                               double scale = 0);

}  // namespace heddle::capture
