// Attention forward on Hopper: TMA, wgmma and warp specialisation, as FlashAttention-3 (Shah et al., arXiv
// 2407.08608) and the fused attention of TensorRT-LLM (fmha_v2, "tma_ws_sm90") build it. What it computes is
// said in attention.h.
//
// A persistent CTA per SM: one producer warpgroup, of which one thread copies, and two consumers with 64
// queries each, which share blocks of keys and values in a ring. Tiles of 128 queries of a head are taken
// from a counter in memory. The consumers may take turns at the product of queries and keys, so that one
// multiplies while the other is at its softmax (ping-pong). Weights go to the second product in registers.
#pragma once

#include "isa/target/target.h"
#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// Parameters of the forward kernel for Hopper.
struct AttentionWgmmaSpec {
    unsigned compute_capability = 90;
    ElementType type = ElementType::bf16;  ///< f16 or bf16
    unsigned head_dim = 64;                ///< 64 or 128
    bool causal = false;
    unsigned block_n = 128;  ///< keys per step: 64, 128 or, with head_dim 64, 256
    unsigned stages = 2;     ///< blocks of keys and values in shared memory
    bool take_turns = true;
    /// Tiles of all heads with the most keys first; else head by head, queries ascending, so that the CTAs at
    /// work share a head's keys in L2.
    bool longest_first = true;
    bool dropout = false;
    bool narrow_dropout = false;  ///< as narrow_dropout() of attention_softmax.h says
    /// Keys and values lie in a cache of pages of kAttentionPage tokens: [pages, kv_heads, kAttentionPage,
    /// head_dim]. Each copy of a block is one for each page, whose number is read just before, and a block
    /// always has its whole number of pages: beyond the last one that one is read again (as fmha_v2's
    /// load_paged_kv does). What a page holds after the last key must be finite.
    bool paged = false;
    /// Results leave in words of 4 bytes, as accumulators lie in registers (fmha_v2's
    /// Gmem_tile_o_hopper_16bits); else in 16 bytes by way of shared memory.
    bool store_words = false;
};
constexpr unsigned kAttentionWgmmaQueries = 128;  ///< of a tile
constexpr unsigned kAttentionPage = 64;           ///< tokens

/// The place of an operand, in elements. All strides are multiples of 8, and base addresses are multiples of
/// 16 bytes.
struct AttentionOperand {
    KernelArgument memory;  ///< a pointer_argument(); its name does not matter
    std::uint64_t row = 0, head = 0, batch = 0;
};

/// Sizes and operands of one attention.
struct AttentionProblem {
    std::uint32_t batch = 1, heads = 1, kv_heads = 1, queries = 0, keys = 0;
    float scale = 1;
    AttentionOperand q, k, v, o;
    KernelArgument lse;      ///< [batch, heads, queries] in f32
    KernelArgument counter;  ///< u32 that is 0 before the first launch; each launch leaves it 0
    double dropout = 0;
    std::uint64_t stream = 0;
    /// Paged: u32 [batch, 2, pages_per_entry], pages of keys, then of values; k.batch and v.batch are the
    /// distance of pages, k.row and v.row of tokens within one. `pages`: in the cache.
    KernelArgument page_list;
    std::uint32_t pages_per_entry = 0, pages = 0;
};

/// Writes the kernel. Throws heddle::Error for unsupported parameters.
GeneratedKernel generate_attention_wgmma(const AttentionWgmmaSpec& spec);

/// The grid and the arguments of a launch.
struct AttentionWgmmaLaunch {
    Extent3 grid{1, 1, 1};
    std::vector<KernelArgument> arguments;
};
AttentionWgmmaLaunch attention_wgmma_launch(const AttentionWgmmaSpec& spec, const AttentionProblem& problem,
                                            unsigned sm_count);

/// Returns TensorRT-LLM's choice: 256 keys per step for heads of 64, 128 for heads of 128; no turns, as with
/// all its kernels that accumulate in f32 (fmha_v2's setup.py, enable_mutex); longest first when all keys and
/// values, counted for each query head, fit in L2 (fused_multihead_attention_v2.cpp).
AttentionWgmmaSpec attention_wgmma_choice(ElementType type, unsigned head_dim, bool causal,
                                          const AttentionProblem& problem, std::uint64_t l2_bytes);

}  // namespace heddle::kernels
