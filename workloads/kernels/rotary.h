// Positions turned into angles (RoPE, Su et al., arXiv 2104.09864), and keys and values written to their cache:
// what stands before attention when a model reads a prompt. As TensorRT-LLM does it
// (applyBiasRopeUpdateKVCacheV2): a thread has 16 bytes of a query head of a token and of the key head that
// it belongs to; each query head reads keys and values, the first of a group writes them.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

struct RotarySpec {
    unsigned compute_capability = 80;
    ElementType type = ElementType::bf16;  ///< f16 or bf16
    unsigned head_dim = 64;                ///< 64 or 128; element i turns with element i + head_dim / 2
};

/// Parameters: q [tokens, heads, head_dim], k_cache, v_cache [batch, kv_heads, sequence, head_dim], qkv
/// [tokens, heads + 2 kv_heads, head_dim], angles [sequence, head_dim / 2, 2] (f32, cosine and sine)
/// (pointers); tokens, heads, kv_heads (u32); the dividers heads_per_kv_head and sequence.
GeneratedKernel generate_rotary(const RotarySpec& spec);
Extent3 rotary_grid(const RotarySpec& spec, std::uint32_t tokens, std::uint32_t heads);

}  // namespace heddle::kernels
