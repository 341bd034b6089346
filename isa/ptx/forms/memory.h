// The instruction table: memory. Notation: instruction_table.h.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
inline constexpr InstructionForm kMemoryForms[] = {
    {ld, "weak|volatile? param b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "=~0 [", P::none, 0},
    {ld, "weak|volatile? param v2|v4 b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "=~0v [", P::none, 0},
    {ld, "weak|volatile? const v2|v4? b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "=~0v [", P::load_store},
    {ld, "weak|volatile|relaxed|acquire? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster|local? ca|cg|cs|lu|cv? nc? "
         "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate? L2::64B|L2::128B|L2::256B? "
         "v2|v4? b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "=~0v [", P::load_store},
    {ldu, "global? v2|v4? b8|u8|s8|b16|u16|s16|b32|u32|s32|f32|b64|u64|s64|f64", "=~0v [", P::load_store},
    {st, "param v2|v4? b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "[ ~0v", P::none, 0},
    {st, "weak|volatile|relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster|local? wb|cg|cs|wt? "
         "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate? "
         "v2|v4? b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "[ ~0v", P::load_store},
    {prefetch, "global|local? L1|L2", "[", P::load_store},
    {prefetchu, "L1", "[", P::load_store},
    {cp, "async ca|cg shared|shared::cta global L2::64B|L2::128B|L2::256B?", "[ [ imm u32?", P::load_store, 1, 80, 0},
    {cp, "async commit_group", "", P::load_store},
    {cp, "async wait_group", "imm", P::barrier},
    {cp, "async wait_all", "", P::barrier},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? add u32|s32|u64|f32|f64", "=0 [ 0", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? add noftz f16|f16x2|bf16|bf16x2", "=0 [ 0", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? inc|dec u32", "=0 [ 0", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? min|max u32|s32|u64|s64", "=0 [ 0", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? and|or|xor b32|b64", "=0 [ 0", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? exch b32|b64", "=0 [ 0", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? cas b16|b32|b64", "=0 [ 0 0", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? add u32|s32|u64|f32|f64", "[ 0", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? add noftz f16|f16x2|bf16|bf16x2", "[ 0", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? inc|dec u32", "[ 0", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? min|max u32|s32|u64|s64", "[ 0", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta|shared::cluster? and|or|xor b32|b64", "[ 0", P::load_store},
};
// clang-format on

}  // namespace heddle::ptx::forms
