// Positions turned into angles (RoPE, Su et al., arXiv 2104.09864), and keys and values written to their
// cache: what stands before attention when a model reads a prompt. As TensorRT-LLM does it
// (applyBiasRopeUpdateKVCacheV2): a thread has 16 bytes of a query head of a token and of the key head that
// it belongs to (in bf16 they come and go in four words); each query head reads keys and values, the first of
// a group writes them. CTAs of 256 threads go from block of tokens to block of tokens, with a barrier between
// what is read and what is written; of them there are so many that the last wave of 1,024 threads per SM is
// as full as can be. In each turn a thread reads entry and position of its token, then the lengths of that
// entry, then its angles and pages.
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// Parameters of the kernel.
struct RotarySpec {
    unsigned compute_capability = 80;
    ElementType type = ElementType::bf16;  ///< f16 or bf16
    unsigned head_dim = 64;                ///< 64 or 128
    /// Element i turns with element i + rotary_dim / 2; 0: head_dim. Twice head_dim: with that of the next
    /// head, as TensorRT-LLM does when it is told that heads are wider than they are.
    unsigned rotary_dim = 0;
    /// Sequences of any lengths with a cache in pages: entries (of the batch) and positions, both [tokens],
    /// lengths and cache_lengths [batch] (of the tokens here, and with those that the cache had before) and
    /// pages [batch, 2, pages_per_entry] (of keys, of values), all u32, are read. A cache is then [pages,
    /// kv_heads, kRotaryPage, head_dim]; that of keys may be that of values.
    bool paged = false;
};
constexpr unsigned kRotaryPage = 64;  ///< tokens

/// Parameters: q [tokens, heads, head_dim], k_cache, v_cache [batch, kv_heads, sequence, head_dim], qkv
/// [tokens, heads + 2 kv_heads, head_dim], angles [sequence, rotary_dim / 2, 2] (f32, cosine and sine)
/// (pointers); tokens, heads, kv_heads (u32); the dividers heads_per_kv_head and sequence. Paged: entries,
/// positions, lengths, cache_lengths, pages (pointers), pages_per_entry (u32). The grid may have any extent
/// x.
GeneratedKernel generate_rotary(const RotarySpec& spec);
Extent3 rotary_grid(const RotarySpec& spec, std::uint32_t tokens, std::uint32_t heads, unsigned sm_count);

}  // namespace heddle::kernels
