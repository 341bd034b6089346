// A matrix product whose time is asked for, and the kernels that can compute it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/program/program.h"
#include "models/gpu/gpu_config.h"
#include "workloads/kernels/gemm_choice.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// The product D[m, n] = A[m, k] B, all dense. As in a linear layer, B is [n, k] by default, so that k is
/// contiguous in both operands.
struct GemmQuestion {
    std::uint32_t m = 0, n = 0, k = 0;
    /// The type of A and B. D has the same type, except for 8-bit floats (bf16) and integers (i32). tf32
    /// operands are f32 that are read as tf32.
    trace::ElementType type = trace::ElementType::bf16;
    bool transpose_a = false, transpose_b = true;
    /// A is given as bf16 and is first quantised to `type`, as in a linear layer of 8-bit floats.
    bool quantise = false;
    std::uint32_t batch = 1;  ///< number of products of the same sizes, contiguous in A, B and D
    bool operator==(const GemmQuestion&) const = default;
};

/// Returns the name of a product: "1024x4096x512 bf16 nt", or "64x64x128 f16 nt, batch of 96".
std::string name_of(const GemmQuestion& question);
/// Throws heddle::Error for types that no kernel multiplies, and for sizes beyond those of the kernels.
void check(const GemmQuestion& question, const models::gpu::GpuConfig& config);

/// Reads a type as it is written on the command line: a type of the trace, or fp8 for e4m3. Throws
/// heddle::Error for others.
trace::ElementType gemm_type_from_name(const std::string& name);
/// Returns the type of D.
trace::ElementType result_type_of(const GemmQuestion& question);
/// Returns the kernel library's name of the operands' type.
kernels::ElementType kernel_type_of(const GemmQuestion& question);
/// Converts a question to the kernel library's description of the work.
kernels::GemmWork work_of(const GemmQuestion& question);
/// Adds to the surroundings what the quantisation of A moves through L2 in addition to the product.
kernels::GemmSurroundings surroundings_of(const GemmQuestion& question,
                                          kernels::GemmSurroundings surroundings);

/// Returns the parameters of the estimate for this device: physical quantities from its hardware file, and
/// values that were fitted for its generation (gemm_estimate.h).
kernels::GemmMachine gemm_machine(const models::gpu::GpuConfig& config, kernels::ElementType type);

/// Returns the kernels that can compute the product, the one with the best estimate first.
std::vector<kernels::GemmChoice> candidates(const GemmQuestion& question,
                                            const models::gpu::GpuConfig& config,
                                            const kernels::GemmSurroundings& surroundings);

/// Returns the stream-K variant of a candidate (kernels::streamed()), if it has one.
std::optional<kernels::GemmChoice> streamed(const kernels::GemmChoice& choice, const GemmQuestion& question,
                                            const models::gpu::GpuConfig& config);
/// Keeps the first `count` candidates. If there are several, the stream-K variant of the first one is added.
void keep_best(std::vector<kernels::GemmChoice>& choices, std::size_t count, const GemmQuestion& question,
               const models::gpu::GpuConfig& config);
/// Reads what --tile names: "128x256", "128x256_stream_k", or a recorded kernel's name. Nothing when the text
/// contains no tile.
std::optional<kernels::RecordedGemm> tile_named(const std::string& name);
/// Returns the best candidate with the tile of `name`: "128x256" or a recorded kernel's name. Where the name
/// states them and such a kernel can be built, the candidate has its warpgroups, stages, cluster and slices
/// of K. Throws heddle::Error when the name contains no tile or no candidate has it.
kernels::GemmChoice forced_choice(const GemmQuestion& question, const models::gpu::GpuConfig& config,
                                  const kernels::GemmSurroundings& surroundings, const std::string& name);

/// Builds the program: one kernel, or two with slices of K; before them kQuantiseLaunches if A is quantised.
/// Buffers 0, 1 and 2 are A (as the product reads it), B and D; workspaces follow.
program::GpuProgram gemm_program(const GemmQuestion& question, const models::gpu::GpuConfig& config,
                                 const kernels::GemmChoice& choice);

/// The number of launches that quantise_first() adds.
inline constexpr std::size_t kQuantiseLaunches = 4;
/// Puts the launches that quantise buffer 0 before the others, as TensorRT-LLM's linear layer does: the scale
/// is cleared, computed, applied, and converted for the product. Returns the buffer that they read.
program::BufferId quantise_first(program::GpuProgram& program, const GemmQuestion& question);
/// Returns an estimate of their seconds by formula: launches, the work on the elements of A, and memory
/// traffic for what L2 does not keep from one repetition to the next. Zero for products that do not quantise.
double quantise_estimate(const GemmQuestion& question, const models::gpu::GpuConfig& config,
                         const kernels::GemmSurroundings& surroundings);

/// Describes a kernel: "128x64x64, swapped, 2 CTAs per SM, cluster 2x1, 3 slices of K". The compute capability, times ten, says whether wgmma or
/// tcgen05 multiplies.
std::string describe(const kernels::GemmChoice& choice, unsigned compute_capability);

}  // namespace heddle::sim
