// Attention without the matrix of scores in memory: FlashAttention-2 (Dao, arXiv 2307.08691) with mma.sync
// and cp.async.
//
// O = softmax(scale * Q K^T + mask) V per batch entry and head. Tensors are [batch, sequence, heads,
// head_dim] or any other order with head_dim contiguous: each has strides in elements for batch entry, row
// (sequence) and head, all multiples of 8. Causal masks are aligned to the last row and column: query i sees
// keys up to i + keys - queries. Log-sum-exps are [batch, heads, queries] in f32, natural logarithm of the
// sum of exp(scale * score); +infinity for rows that see no key, whose output is 0.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// Parameters of the FlashAttention-2 kernels.
struct AttentionSpec {
    unsigned compute_capability = 80;
    ElementType type = ElementType::bf16;  ///< f16 or bf16
    unsigned head_dim = 64;                ///< 64 or 128
    bool causal = false;
    unsigned block_m = 128;  ///< queries per CTA: 64 or 128 (forward)
    unsigned block_n = 64;   ///< keys per step: 64 or 128 (forward)
    unsigned warps = 4;      ///< block_m / warps is 16 or 32
    /// Queries are a multiple of block_m and keys of block_n: no checks of the edges.
    bool full_blocks = false;
    bool dropout = false;         ///< of weights; see add_dropout_arguments() (attention_softmax.h)
    bool narrow_dropout = false;  ///< as narrow_dropout() says
};

/// Parameters, in order:
///   o, lse, q, k, v                                 pointers
///   queries, keys, heads_per_kv_head                 u32 (grouped-query attention: query heads per key head)
///   q_row, q_head, k_row, k_head, v_row, v_head, o_row, o_head          u32 strides
///   q_batch, k_batch, v_batch, o_batch               u64 strides
///   scale                                            f32
///   dropout_key, dropout_threshold (u32), dropout_scale (f32)           with dropout
GeneratedKernel generate_attention_forward(const AttentionSpec& spec);
Extent3 attention_forward_grid(const AttentionSpec& spec, std::uint32_t queries, std::uint32_t batch,
                               std::uint32_t heads);

/// The gradient: attention_delta, then attention_grad over a zeroed f32 accumulator for dQ, then
/// attention_finish_dq. Each CTA of attention_grad owns a block of keys, walks over the queries that see it,
/// and adds its share of dQ with atomics: dQ's last bits depend on the order of CTAs.
struct AttentionGradSpec {
    unsigned compute_capability = 80;
    ElementType type = ElementType::bf16;
    unsigned head_dim = 64;
    bool causal = false;
    unsigned block_n = 64;  ///< keys per CTA: 64 (4 warps) or 128 (8 warps); queries are taken 64 at a time
    unsigned stages = 2;    ///< buffers for queries and dO: 2 loads the next block early
    bool full_blocks = false;  ///< queries are a multiple of 64 and keys of block_n
    bool dropout = false;      ///< the same weights as in the forward kernel
    bool narrow_dropout = false;
};

/// delta[batch, head, query] = sum over head_dim of o * d_o, f32. Parameters: delta, o, d_o (pointers);
/// queries (u32); o_row, o_head, do_row, do_head (u32); o_batch, do_batch (u64).
GeneratedKernel generate_attention_delta(const AttentionGradSpec& spec);

/// Parameters: dq_accumulator, dk, dv, q, k, v, d_o, lse, delta (pointers; the first f32 [batch, heads,
/// queries, head_dim]); queries, keys, heads_per_kv_head (u32); q_row, q_head, k_row, k_head, v_row, v_head,
/// do_row, do_head, dk_row, dk_head, dv_row, dv_head (u32); q_batch, k_batch, v_batch, do_batch, dk_batch,
/// dv_batch (u64); scale (f32). dk and dv have an entry per query head: with grouped queries the caller adds
/// the heads of a group.
GeneratedKernel generate_attention_grad(const AttentionGradSpec& spec);
Extent3 attention_grad_grid(const AttentionGradSpec& spec, std::uint32_t keys, std::uint32_t batch,
                            std::uint32_t heads);

/// dq = scale * dq_accumulator, rounded. Parameters: dq, dq_accumulator (pointers); queries (u32); dq_row,
/// dq_head (u32); dq_batch (u64); scale (f32).
GeneratedKernel generate_attention_finish_dq(const AttentionGradSpec& spec);
/// Parameters of attention_delta and attention_finish_dq.
Extent3 attention_rows_grid(const AttentionGradSpec& spec, std::uint32_t queries, std::uint32_t batch,
                            std::uint32_t heads);

}  // namespace heddle::kernels
