// The gradient of attention on Hopper: TMA, wgmma and warp specialisation, as FlashAttention-3 (Shah et al.,
// arXiv 2407.08608) builds it. What it computes is said in attention.h.
//
// Three kernels. The first (rows) makes delta = sum of o * d_o and the shifts of the exponentials of each
// query, and clears the accumulator of dQ. In the second a CTA owns 128 keys of a head: a producer warp
// copies keys and values once, then queries and dO block by block through two stages; two consumer
// warpgroups of 64 keys compute scores and their gradients transposed, keep weights in registers for dV and
// dK, and write the gradients of scores to shared memory, where both make half of dQ of them; another warp
// of the first group adds dQ to memory with bulk reductions. The third turns dQ into 16 bits.
//
// The accumulator of dQ holds blocks of queries in the order in which wgmma leaves 64 x 64 results in
// registers ([batch, heads, blocks, 2, 8 columns of 8, 128 threads, 4]), so that it is written and added in
// whole lines. Its last bits depend on the order of the CTAs that add to it.
#pragma once

#include "workloads/kernels/attention_wgmma.h"

namespace heddle::kernels {

/// Parameters of the gradient kernels for Hopper.
struct AttentionGradWgmmaSpec {
    unsigned compute_capability = 90;
    ElementType type = ElementType::bf16;  ///< f16 or bf16
    unsigned head_dim = 64;                ///< 64 or 128
    bool causal = false;
    bool dropout = false;         ///< the same weights as in the forward kernels
    bool narrow_dropout = false;  ///< as narrow_dropout() of attention_softmax.h says

    unsigned block_m() const { return head_dim == 64 ? 128 : 64; }  ///< queries per step
};
inline constexpr unsigned kAttentionGradKeys = 128;  ///< of a CTA

/// Parameters: shift, delta, dq_accumulator, o, d_o, lse (pointers; the first two f32 [batch, heads, queries
/// rounded up to blocks]); queries (u32); o_row, o_head, do_row, do_head (u32); o_batch, do_batch (u64).
/// shift is -lse * log2(e); of queries that do not exist -infinity, and delta is 0.
GeneratedKernel generate_attention_grad_wgmma_rows(const AttentionGradWgmmaSpec& spec);
/// Throws heddle::Error for what it cannot do.
GeneratedKernel generate_attention_grad_wgmma(const AttentionGradWgmmaSpec& spec);
/// Parameters: dq, dq_accumulator (pointers); queries (u32); dq_row, dq_head (u32); dq_batch (u64); scale
/// (f32).
GeneratedKernel generate_attention_grad_wgmma_finish(const AttentionGradWgmmaSpec& spec);

/// Sizes and operands of one gradient.
struct AttentionGradProblem {
    std::uint32_t batch = 1, heads = 1, kv_heads = 1, queries = 0, keys = 0;
    float scale = 1;
    AttentionOperand q, k, v, o, d_o;
    AttentionOperand dq, dk, dv;    ///< dk and dv have an entry per query head
    KernelArgument lse;             ///< f32 [batch, heads, queries], of the forward kernel
    KernelArgument shift, delta;    ///< workspace: attention_grad_wgmma_rows() x 4 bytes each
    KernelArgument dq_accumulator;  ///< workspace: attention_grad_wgmma_rows() x head_dim x 4 bytes
    double dropout = 0;
    std::uint64_t stream = 0;
};

/// Rows of the workspaces: queries are rounded up to whole blocks.
std::uint64_t attention_grad_wgmma_rows(const AttentionGradWgmmaSpec& spec,
                                        const AttentionGradProblem& problem);

/// One of the kernels with its grid and arguments.
struct AttentionGradLaunch {
    GeneratedKernel kernel;
    Extent3 grid{1, 1, 1};
    std::vector<KernelArgument> arguments;
};

/// In the order in which they run.
std::vector<AttentionGradLaunch> attention_grad_wgmma_launches(const AttentionGradWgmmaSpec& spec,
                                                               const AttentionGradProblem& problem);

}  // namespace heddle::kernels
