// A matrix product that somebody asks the time of, and the kernels that could do it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/program/program.h"
#include "models/gpu/gpu_config.h"
#include "workloads/kernels/gemm_choice.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// D[m, n] = A[m, k] B, all dense. As a linear layer has it, B is [n, k]: both operands have k contiguous.
struct GemmQuestion {
    std::uint32_t m = 0, n = 0, k = 0;
    /// Of A and B, and of D but for 8-bit floats (bf16) and integers (i32). tf32: f32, read as tf32.
    trace::ElementType type = trace::ElementType::bf16;
    bool transpose_a = false, transpose_b = true;
    /// A comes as bf16 and is quantised to `type` first, as in a linear layer of 8-bit floats.
    bool quantise = false;
    std::uint32_t batch = 1;  ///< products of the same sizes, one after the other in A, B and D
    bool operator==(const GemmQuestion&) const = default;
};

/// "1024x4096x512 bf16 nt", "64x64x128 f16 nt, batch of 96"
std::string name_of(const GemmQuestion& question);
/// Throws heddle::Error for types that no kernel multiplies, and sizes beyond those of the kernels.
void check(const GemmQuestion& question, const models::gpu::GpuConfig& config);

/// A type as it is written on the command line: those of the trace, and fp8 for e4m3.
trace::ElementType gemm_type_from_name(const std::string& name);
/// Of D.
trace::ElementType result_type_of(const GemmQuestion& question);
/// The kernel library's name of the operands' type.
kernels::ElementType kernel_type_of(const GemmQuestion& question);
kernels::GemmWork work_of(const GemmQuestion& question);
/// With what the quantisation of A moves through L2 beside the product.
kernels::GemmSurroundings surroundings_of(const GemmQuestion& question,
                                          kernels::GemmSurroundings surroundings);

/// What the estimate knows of this device: physical figures from its hardware file, and what was fitted for
/// its generation (gemm_estimate.h).
kernels::GemmMachine gemm_machine(const models::gpu::GpuConfig& config, kernels::ElementType type);

/// The best estimate first.
std::vector<kernels::GemmChoice> candidates(const GemmQuestion& question,
                                            const models::gpu::GpuConfig& config,
                                            const kernels::GemmSurroundings& surroundings);

/// A candidate by stream-K (kernels::streamed()).
std::optional<kernels::GemmChoice> streamed(const kernels::GemmChoice& choice, const GemmQuestion& question,
                                            const models::gpu::GpuConfig& config);
/// The first `count` of the candidates; of several, with stream-K by the first one's tile besides.
void keep_best(std::vector<kernels::GemmChoice>& choices, std::size_t count, const GemmQuestion& question,
               const models::gpu::GpuConfig& config);
/// What --tile names: "128x256", "128x256_stream_k", or a recorded kernel's name; nothing when that carries no
/// tile.
std::optional<kernels::RecordedGemm> tile_named(const std::string& name);
/// The best candidate with the tile of `name`: "128x256" or a recorded kernel's name; with its warpgroups,
/// stages and cluster, and with slices of K or without, where it tells them and ours can be built so. Throws
/// heddle::Error when the name carries no tile or no candidate has it.
kernels::GemmChoice forced_choice(const GemmQuestion& question, const models::gpu::GpuConfig& config,
                                  const kernels::GemmSurroundings& surroundings, const std::string& name);

/// One kernel, or with slices of K two; before them kQuantiseLaunches if A is quantised. Buffers 0, 1 and 2
/// are A (as the product reads it), B and D; workspaces follow.
program::GpuProgram gemm_program(const GemmQuestion& question, const models::gpu::GpuConfig& config,
                                 const kernels::GemmChoice& choice);

/// The launches that quantise buffer 0, put before the others, as TensorRT-LLM's linear layer has them: the
/// scale cleared, found, used, and converted for the product. Returns the buffer of what they read.
inline constexpr std::size_t kQuantiseLaunches = 4;
program::BufferId quantise_first(program::GpuProgram& program, const GemmQuestion& question);
/// Seconds that they take, in closed form: launches, what the elements of A take, and memory for what L2 does
/// not keep of them from one repetition to the next; zero for products that do not quantise.
double quantise_estimate(const GemmQuestion& question, const models::gpu::GpuConfig& config,
                         const kernels::GemmSurroundings& surroundings);

/// "128x64x64, swapped, 2 CTAs per SM, cluster 2x1, 3 slices of K"
std::string describe(const kernels::GemmChoice& choice);

}  // namespace heddle::sim
