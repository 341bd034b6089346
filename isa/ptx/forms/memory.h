// The instruction table: memory. Notation: instruction_table.h.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
inline constexpr InstructionForm kMemoryForms[] = {
    {ld, "weak|volatile? param|param::entry|param::func "
         "b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64|b128", "=~0 [", P::none, 0},
    {ld, "weak|volatile? param|param::entry|param::func v2|v4|v8 "
         "b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "=~0v [", P::none, 0},
    {ld, "weak|volatile? const ca|cg|cs|lu|cv? v2|v4|v8? "
         "b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "=~0v [", P::load_store},
    {ld, "weak|volatile? const ca|cg|cs|lu|cv? b128", "=0 [", P::load_store},
    {ld, "mmio? weak|volatile|relaxed|acquire? cta|cluster|gpu|sys? "
         "global|shared|shared::cta|shared::cluster|local? ca|cg|cs|lu|cv? nc? "
         "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate? L2::cache_hint? "
         "L2::64B|L2::128B|L2::256B? "
         "v2|v4|v8? b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "=~0v [ hint", P::load_store},
    {ld, "mmio? weak|volatile|relaxed|acquire? cta|cluster|gpu|sys? "
         "global|shared|shared::cta|shared::cluster|local? ca|cg|cs|lu|cv? nc? "
         "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate? L2::cache_hint? "
         "L2::64B|L2::128B|L2::256B? b128",
         "=0 [ hint", P::load_store},
    {ldu, "global? v2|v4|v8? b8|u8|s8|b16|u16|s16|b32|u32|s32|f32|b64|u64|s64|f64", "=~0v [", P::load_store},
    {ldu, "global? b128", "=0 [", P::load_store},
    {st, "weak? param|param::func v2|v4|v8? b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "[ ~0v", P::none, 0},
    {st, "weak? param|param::func b128", "[ 0", P::none, 0},
    {st, "mmio? weak|volatile|relaxed|release? cta|cluster|gpu|sys? "
         "global|shared|shared::cta|shared::cluster|local? wb|cg|cs|wt? "
         "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate? L2::cache_hint? "
         "v2|v4|v8? b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64",
         "[ ~0v hint", P::load_store},
    {st, "mmio? weak|volatile|relaxed|release? cta|cluster|gpu|sys? "
         "global|shared|shared::cta|shared::cluster|local? wb|cg|cs|wt? "
         "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate? L2::cache_hint? b128",
         "[ 0 hint", P::load_store},
    {prefetch, "global|local? L1|L2", "[", P::load_store},
    {prefetch, "global L2::evict_last|L2::evict_normal", "[", P::load_store},
    {prefetch, "L2::evict_last", "[", P::load_store},
    {prefetchu, "L1", "[", P::load_store},
    {applypriority, "global? L2::evict_normal", "[ imm", P::load_store},
    {discard, "global? L2", "[ imm", P::load_store},
    {createpolicy, "fractional L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
         "L2::evict_first|L2::evict_unchanged? b64", "=b64 f32?"},
    {createpolicy, "range global? L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
         "L2::evict_first|L2::evict_unchanged? b64", "=b64 [ u32 u32", P::integer, 6},
    {createpolicy, "cvt L2 b64", "=b64 b64", P::integer, 2},
    {cp, "async ca|cg shared|shared::cta global L2::cache_hint? L2::64B|L2::128B|L2::256B?", "[ [ imm u32? hint", P::load_store},
    {cp, "async ca|cg shared|shared::cta global L2::64B|L2::128B|L2::256B L2::cache_hint", "[ [ imm u32? hint", P::load_store},
    {cp, "async ca|cg shared|shared::cta global L2::cache_hint? L2::64B|L2::128B|L2::256B?", "[ [ imm !pred hint", P::load_store},
    {cp, "async ca|cg shared|shared::cta global L2::64B|L2::128B|L2::256B L2::cache_hint", "[ [ imm !pred hint", P::load_store},
    {cp, "async commit_group", "", P::load_store},
    {cp, "async wait_group", "imm", P::barrier},
    {cp, "async wait_all", "", P::barrier},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? add "
         "L2::cache_hint? u32|s32|u64|f32|f64", "=0 [ 0 hint", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? add "
         "noftz L2::cache_hint? f16|f16x2|bf16|bf16x2", "=0 [ 0 hint", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? "
         "inc|dec L2::cache_hint? u32", "=0 [ 0 hint", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? "
         "min|max L2::cache_hint? u32|s32|u64|s64", "=0 [ 0 hint", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? "
         "and|or|xor L2::cache_hint? b32|b64", "=0 [ 0 hint", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? exch "
         "L2::cache_hint? b32|b64|b128", "=0 [ 0 hint", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? cas "
         "L2::cache_hint? b16|b32|b64|b128", "=0 [ 0 0 hint", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global? add L2::cache_hint? v2|v4 f32", "=0v [ 0v hint", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global? add|min|max noftz L2::cache_hint? "
         "v2|v4|v8 f16|bf16", "=0v [ 0v hint", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global? add|min|max noftz L2::cache_hint? v2|v4 "
         "f16x2|bf16x2", "=0v [ 0v hint", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? add L2::cache_hint? "
         "u32|s32|u64|f32|f64", "[ 0 hint", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? add noftz "
         "L2::cache_hint? f16|f16x2|bf16|bf16x2", "[ 0 hint", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? inc|dec L2::cache_hint? "
         "u32", "[ 0 hint", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? min|max L2::cache_hint? "
         "u32|s32|u64|s64", "[ 0 hint", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? and|or|xor "
         "L2::cache_hint? b32|b64", "[ 0 hint", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global? add L2::cache_hint? v2|v4 f32", "[ 0v hint", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global? add|min|max noftz L2::cache_hint? v2|v4|v8 f16|bf16", "[ 0v hint", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global? add|min|max noftz L2::cache_hint? v2|v4 f16x2|bf16x2", "[ 0v hint", P::load_store},
};
// clang-format on

}  // namespace heddle::ptx::forms
