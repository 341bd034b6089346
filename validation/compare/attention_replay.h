// A replay of the recorded attention operator: how large it is, and its kernels as programs of a GPU
// (attention_table.h says which they are).
#pragma once

#include <cstdint>

#include "isa/program/program.h"
#include "models/gpu/gpu_config.h"

namespace heddle::validation {

/// Causal attention of `sequence` tokens with themselves; bf16.
struct AttentionShape {
    std::uint32_t batch, sequence, heads, kv_heads, head_dim;

    /// Of queries, per head and batch entry.
    std::uint32_t tiles_per_head() const;
    /// Blocks of keys that all tiles together take.
    double steps() const;
    /// When the last of `sms` SMs would end that take the next tile whenever they have done one, each tile
    /// taking its blocks of keys and as long as some of them for itself; in blocks of keys. `longest_first`:
    /// the tiles that see most keys are taken first.
    double makespan(unsigned sms, bool longest_first) const;
    /// Of queries, keys and values.
    double elements() const { return double(batch) * sequence * (double(heads) + 2 * kv_heads) * head_dim; }
    double result_elements() const { return double(batch) * sequence * heads * head_dim; }
    /// Keys and values as every head reads them.
    double key_bytes() const { return 4.0 * batch * heads * sequence * head_dim; }
};

/// Lengths and, with heads of 64, sinks; positions and cache. Throws heddle::Error: the device has no such
/// kernel.
program::GpuProgram attention_preparation(const AttentionShape& shape, const models::gpu::GpuConfig& config);

/// The fused kernel. Keys and values lie in pages of 64 tokens.
program::GpuProgram attention_kernel(const AttentionShape& shape, const models::gpu::GpuConfig& config,
                                     bool longest_first);

}  // namespace heddle::validation
