// The instruction table: mbarriers, bulk and tensor copies, tensor maps. Notation: instruction_table.h.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
// An order and a scope come together or not at all.
inline constexpr InstructionForm kMemoryBarrierForms[] = {
    {mbarrier, "init shared|shared::cta? b64", "[ u32", P::load_store},
    {mbarrier, "inval shared|shared::cta? b64", "[", P::load_store},
    {mbarrier, "arrive|arrive_drop shared|shared::cta? b64", "=b64 [ u32?", P::load_store},
    {mbarrier, "arrive|arrive_drop release|relaxed cta|cluster shared|shared::cta? b64", "=b64 [ u32?", P::load_store},
    {mbarrier, "arrive|arrive_drop shared::cluster b64", "=b64 [ u32?", P::load_store},
    {mbarrier, "arrive|arrive_drop release|relaxed cta|cluster shared::cluster b64", "=b64 [ u32?", P::load_store},
    {mbarrier, "arrive|arrive_drop expect_tx shared|shared::cta|shared::cluster? b64", "=b64 [ u32", P::load_store},
    {mbarrier, "arrive|arrive_drop expect_tx release|relaxed cta|cluster shared|shared::cta|shared::cluster? b64", "=b64 [ u32", P::load_store},
    {mbarrier, "arrive|arrive_drop noComplete shared|shared::cta? b64", "=b64 [ u32", P::load_store},
    {mbarrier, "arrive|arrive_drop noComplete release cta shared|shared::cta? b64", "=b64 [ u32", P::load_store},
    {mbarrier, "expect_tx|complete_tx shared|shared::cta|shared::cluster? b64", "[ u32", P::load_store},
    {mbarrier, "expect_tx|complete_tx relaxed cta|cluster shared|shared::cta|shared::cluster? b64", "[ u32", P::load_store},
    {mbarrier, "test_wait shared|shared::cta? b64", "=pred [ b64", P::load_store},
    {mbarrier, "test_wait acquire|relaxed cta|cluster shared|shared::cta? b64", "=pred [ b64", P::load_store},
    {mbarrier, "test_wait parity shared|shared::cta? b64", "=pred [ u32", P::load_store},
    {mbarrier, "test_wait parity acquire|relaxed cta|cluster shared|shared::cta? b64", "=pred [ u32", P::load_store},
    {mbarrier, "try_wait shared|shared::cta? b64", "=pred [ b64 u32?", P::load_store},
    {mbarrier, "try_wait acquire|relaxed cta|cluster shared|shared::cta? b64", "=pred [ b64 u32?", P::load_store},
    {mbarrier, "try_wait parity shared|shared::cta? b64", "=pred [ u32 u32?", P::load_store},
    {mbarrier, "try_wait parity acquire|relaxed cta|cluster shared|shared::cta? b64", "=pred [ u32 u32?", P::load_store},
    {mbarrier, "pending_count b64", "=u32 b64"},
    {cp, "async mbarrier arrive noinc? shared|shared::cta? b64", "[", P::load_store},
    {fence, "mbarrier_init release cluster", "", P::barrier},
    {fence, "proxy alias", "", P::barrier},
    {fence, "proxy async global|shared::cta|shared::cluster?", "", P::barrier},
    {fence, "proxy async::generic acquire sync_restrict::shared::cluster cluster", "", P::barrier},
    {fence, "proxy async::generic release sync_restrict::shared::cta cluster", "", P::barrier},
    {fence, "acquire sync_restrict::shared::cluster cluster", "", P::barrier},
    {fence, "release sync_restrict::shared::cta cluster", "", P::barrier},
    {fence, "proxy tensormap::generic release cta|cluster|gpu|sys", "", P::barrier},
    {fence, "proxy tensormap::generic acquire cta|cluster|gpu|sys", "[ imm", P::barrier},
};

// Types by operation as ptxas 13.0 accepts them.
inline constexpr InstructionForm kBulkCopyForms[] = {
    {cp, "async bulk shared::cluster|shared::cta global mbarrier::complete_tx::bytes", "[ [ u32 [", P::load_store},
    {cp, "async bulk shared::cluster|shared::cta global mbarrier::complete_tx::bytes L2::cache_hint", "[ [ u32 [ b64", P::load_store},
    {cp, "async bulk shared::cluster global mbarrier::complete_tx::bytes multicast::cluster", "[ [ u32 [ b16", P::load_store},
    {cp, "async bulk shared::cluster global mbarrier::complete_tx::bytes multicast::cluster L2::cache_hint", "[ [ u32 [ b16 b64", P::load_store},
    {cp, "async bulk shared::cluster shared::cta mbarrier::complete_tx::bytes", "[ [ u32 [", P::load_store},
    {cp, "async bulk global shared::cta bulk_group", "[ [ u32", P::load_store},
    {cp, "async bulk global shared::cta bulk_group L2::cache_hint", "[ [ u32 b64", P::load_store},
    {cp, "async bulk prefetch L2 global", "[ u32", P::load_store},
    {cp, "async bulk prefetch L2 global L2::cache_hint", "[ u32 b64", P::load_store},
    {cp, "async bulk commit_group", "", P::load_store},
    {cp, "async bulk wait_group read?", "imm", P::barrier},
    {cp, "reduce async bulk shared::cluster shared::cta mbarrier::complete_tx::bytes add u32|s32|u64", "[ [ u32 [", P::load_store},
    {cp, "reduce async bulk shared::cluster shared::cta mbarrier::complete_tx::bytes min|max u32|s32", "[ [ u32 [", P::load_store},
    {cp, "reduce async bulk shared::cluster shared::cta mbarrier::complete_tx::bytes inc|dec u32", "[ [ u32 [", P::load_store},
    {cp, "reduce async bulk shared::cluster shared::cta mbarrier::complete_tx::bytes and|or|xor b32", "[ [ u32 [", P::load_store},
    {cp, "reduce async bulk global shared::cta bulk_group add u32|s32|u64|f32|f64", "[ [ u32", P::load_store},
    {cp, "reduce async bulk global shared::cta bulk_group add noftz f16|bf16", "[ [ u32", P::load_store},
    {cp, "reduce async bulk global shared::cta bulk_group min|max u32|s32|u64|s64|f16|bf16", "[ [ u32", P::load_store},
    {cp, "reduce async bulk global shared::cta bulk_group inc|dec u32", "[ [ u32", P::load_store},
    {cp, "reduce async bulk global shared::cta bulk_group and|or|xor b32|b64", "[ [ u32", P::load_store},
    {cp, "reduce async bulk global shared::cta bulk_group L2::cache_hint add u32|s32|u64|f32|f64", "[ [ u32 b64", P::load_store},
    {cp, "reduce async bulk global shared::cta bulk_group L2::cache_hint add noftz f16|bf16", "[ [ u32 b64", P::load_store},
    {cp, "reduce async bulk global shared::cta bulk_group L2::cache_hint min|max u32|s32|u64|s64|f16|bf16", "[ [ u32 b64", P::load_store},
    {cp, "reduce async bulk global shared::cta bulk_group L2::cache_hint inc|dec u32", "[ [ u32 b64", P::load_store},
    {cp, "reduce async bulk global shared::cta bulk_group L2::cache_hint and|or|xor b32|b64", "[ [ u32 b64", P::load_store},
    {st, "async weak? shared::cluster? mbarrier::complete_tx::bytes b32|b64|u32|u64|s32|s64|f32|f64", "[ 0 [", P::load_store},
    {st, "async weak? shared::cluster? mbarrier::complete_tx::bytes v2 b32|b64|u32|u64|s32|s64|f32|f64", "[ 0v [", P::load_store},
    {st, "async weak? shared::cluster? mbarrier::complete_tx::bytes v4 b32|u32|s32|f32", "[ 0v [", P::load_store},
    {red, "async relaxed cluster shared::cluster? mbarrier::complete_tx::bytes add u32|s32|u64|s64", "[ 0 [", P::load_store},
    {red, "async relaxed cluster shared::cluster? mbarrier::complete_tx::bytes min|max u32|s32", "[ 0 [", P::load_store},
    {red, "async relaxed cluster shared::cluster? mbarrier::complete_tx::bytes inc|dec u32", "[ 0 [", P::load_store},
    {red, "async relaxed cluster shared::cluster? mbarrier::complete_tx::bytes and|or|xor b32", "[ 0 [", P::load_store},
};

inline constexpr InstructionForm kTensorMapForms[] = {
    {cp, "async bulk tensor 1d|2d|3d|4d|5d shared::cluster|shared::cta global tile? mbarrier::complete_tx::bytes cta_group::1|cta_group::2?", "[ [{ [", P::load_store},
    {cp, "async bulk tensor 1d|2d|3d|4d|5d shared::cluster|shared::cta global tile? mbarrier::complete_tx::bytes cta_group::1|cta_group::2? L2::cache_hint", "[ [{ [ b64", P::load_store},
    {cp, "async bulk tensor 1d|2d|3d|4d|5d shared::cluster global tile? mbarrier::complete_tx::bytes multicast::cluster cta_group::1|cta_group::2?", "[ [{ [ b16", P::load_store},
    {cp, "async bulk tensor 1d|2d|3d|4d|5d shared::cluster global tile? mbarrier::complete_tx::bytes multicast::cluster cta_group::1|cta_group::2? L2::cache_hint", "[ [{ [ b16 b64", P::load_store},
    {cp, "async bulk tensor 1d|2d|3d|4d|5d global shared::cta tile? bulk_group", "[{ [", P::load_store},
    {cp, "async bulk tensor 1d|2d|3d|4d|5d global shared::cta tile? bulk_group L2::cache_hint", "[{ [ b64", P::load_store},
    {cp, "reduce async bulk tensor 1d|2d|3d|4d|5d global shared::cta add|min|max|inc|dec|and|or|xor tile? bulk_group", "[{ [", P::load_store},
    {cp, "reduce async bulk tensor 1d|2d|3d|4d|5d global shared::cta add|min|max|inc|dec|and|or|xor tile? bulk_group L2::cache_hint", "[{ [ b64", P::load_store},
    {cp, "async bulk prefetch tensor 1d|2d|3d|4d|5d L2 global tile?", "[{", P::load_store},
    {cp, "async bulk prefetch tensor 1d|2d|3d|4d|5d L2 global tile? L2::cache_hint", "[{ b64", P::load_store},
    {prefetch, "const|param? tensormap", "[", P::load_store},
    {tensormap, "replace tile global_address global|shared::cta? b1024 b64", "[ 0", P::load_store},
    {tensormap, "replace tile rank global|shared::cta? b1024 b32", "[ 0", P::load_store},
    {tensormap, "replace tile box_dim|global_dim|element_stride global|shared::cta? b1024 b32", "[ imm 0", P::load_store},
    {tensormap, "replace tile global_stride global|shared::cta? b1024 b64", "[ imm 0", P::load_store},
    {tensormap, "replace tile elemtype|interleave_layout|swizzle_mode|fill_mode global|shared::cta? b1024 b32", "[ imm", P::load_store},
    {tensormap, "cp_fenceproxy global shared::cta tensormap::generic release cta|cluster|gpu|sys sync aligned", "[ [ imm", P::load_store},
};
// clang-format on

}  // namespace heddle::ptx::forms
