// Convolution as implicit GEMM: the matrix of windows is never in memory; each element of a tile is fetched
// from where it lies in the picture, or is 0 in the padding. Forward, and the gradients of data and of
// weights; one to three spatial axes, strides, padding, dilation, groups; channels first or last.
//
//   pass          rows (m)                     columns (n)                   k, ascending
//   forward       batch, output positions      filters of a group            window, channels of the group
//   data_grad     batch, input positions       channels of a group           window, filters of the group
//   weight_grad   filters of a group           window, channels of the group batch, output positions
//
// With channels first, channels (or filters) come before the window in k and n. f16 and bf16 go through the
// tensor cores (mma.sync m16n8k16 or wgmma m64nNk16, f32 sums), f32 through the CUDA cores (one chain of
// fused multiply-adds), or read as tf32 through the tensor cores (mma.sync m16n8k8). Each sum is one chain
// over k; slices of split-K are added first to last by split_k_reduce. Grid z is group
// * slices + slice.
#pragma once

#include <vector>

#include "isa/numerics/reduction_plan.h"
#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// The product that a convolution kernel computes.
enum class ConvolutionPass : std::uint8_t { forward, data_grad, weight_grad };

/// The sizes of a convolution; lists have one entry for each spatial axis.
struct ConvolutionGeometry {
    std::uint32_t batch = 1, channels = 1, filters = 1, groups = 1;
    std::vector<std::uint32_t> input, window, output, strides, dilation;
    std::vector<std::int32_t> padding_low;

    std::uint32_t group_channels() const { return channels / groups; }
    std::uint32_t group_filters() const { return filters / groups; }
    std::uint32_t inputs() const;
    std::uint32_t positions() const;  ///< of the window
    std::uint32_t outputs() const;
};

/// Parameters of a convolution kernel.
struct ConvolutionSpec {
    unsigned compute_capability = 80;
    ElementType type = ElementType::bf16;  ///< of both operands
    bool tf32 = false;  ///< f32 operands are read as tf32 (towards zero), since compute capability 8.0
    ElementType output = ElementType::bf16;  ///< `type` or f32
    ConvolutionPass pass = ConvolutionPass::forward;
    bool channels_last = true;
    unsigned axes = 2;
    unsigned tile_m = 128, tile_n = 64;  ///< 64 or 128; through a ring of tf32 also 256, not both; wgmma: n
    unsigned tile_k = 0;                 ///< 0: convolution_tile_k(type); tf32 through a ring: 16, 32 or 64
    /// Elements per access of each operand: 1, 2, 4 or 8 (f32: 1, 2 or 4); must divide the channels (and
    /// filters) that follow one another in memory. More than 1 with channels last only.
    unsigned vector_a = 1, vector_b = 1;
    /// 16-bit results of tensor cores leave 8 at a time when this is 8: their columns (n, a multiple of 8)
    /// must follow one another in memory and d be a multiple of 16 bytes. Else 1. f32 results of tensor cores
    /// leave 2 at a time under the same condition.
    unsigned vector_d = 1;
    /// Tiles in shared memory. 2: the next one comes by way of registers. 3 or 4 (tf32: 3 to 6): cp.async,
    /// tensor cores and accesses of 4 bytes and more, as cuDNN's kernels for Ampere.
    unsigned stages = 2;
    /// f16 and bf16 on Hopper: wgmma.mma_async instead of mma.sync, and always cp.async (2 to 4 stages). Grid
    /// x counts the columns' tiles first.
    bool wgmma = false;
    bool strided = false;  ///< data_grad: strides other than 1
    /// Instead of `strided`, with channels last, without dilation and negative padding: a CTA has rows of one
    /// phase, positions that are alike modulo the strides, and takes only the parts of the window that reach
    /// them, as CUTLASS's strided gradients do. k is then shorter, in the same order.
    bool phased = false;
    bool bias = false;  ///< forward; of `type`
    /// Sums of slices go to [group][slice][m][n] in f32, for split_k_reduce.
    bool split_k = false;
};

/// The sizes of the matrix product of one group.
struct ConvolutionGemm {
    std::uint32_t m = 0, n = 0, k = 0;
};
ConvolutionGemm gemm_of(ConvolutionPass pass, const ConvolutionGeometry& geometry);

/// Throws heddle::Error for what it cannot do. Pointers a, b, d, bias: x, w, y; dy, w, dx; dy, x, dw.
GeneratedKernel generate_convolution(const ConvolutionSpec& spec);

/// The grid and the scalar arguments of a launch.
struct ConvolutionLaunch {
    Extent3 grid{1, 1, 1};
    std::vector<KernelArgument> scalars;
};

/// `k_per_slice`: a multiple of convolution_tile_k(); 0: all of k. Throws heddle::Error for tensors of 2^31
/// elements or more.
ConvolutionLaunch convolution_launch(const ConvolutionSpec& spec, const ConvolutionGeometry& geometry,
                                     std::uint32_t k_per_slice = 0);
unsigned convolution_tile_k(ElementType type, bool tf32 = false);
unsigned convolution_tile_k(const ConvolutionSpec& spec);
std::uint32_t convolution_shared_bytes(const ConvolutionSpec& spec);  ///< with 3 stages and more

/// A kernel that fits a convolution: the widest accesses that are possible, tiles of 64 where 128 would leave
/// SMs idle, and slices of k where there are too few tiles (weight gradients).
struct ConvolutionChoice {
    ConvolutionSpec spec;
    std::uint32_t k_per_slice = 0, slices = 1;
};
ConvolutionChoice choose_convolution(unsigned compute_capability, unsigned sm_count, ElementType type,
                                     ConvolutionPass pass, bool channels_last,
                                     const ConvolutionGeometry& geometry, bool tf32 = false);

/// Changes the choice to the tile (m, n, k), stages and slices of a library's kernel, where the generator has
/// them: f32 read as tf32, by way of cp.async. 0 slices or stages: left to the choice. `shared_bytes`: most
/// of a CTA.
void take_library_tile(ConvolutionChoice& choice, const ConvolutionGeometry& geometry,
                       const std::vector<std::int64_t>& tile, std::int64_t stages, std::int64_t slices,
                       std::uint32_t shared_bytes);

/// Returns the order in which a kernel (and split_k_reduce after it) adds each element's products.
numerics::ReductionPlan plan_of(const ConvolutionSpec& spec, std::uint32_t k_per_slice = 0);

}  // namespace heddle::kernels
