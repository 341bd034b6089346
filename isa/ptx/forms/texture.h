// The instruction table: textures and surfaces. Notation: instruction_table.h.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
// Types by operation as ptxas 13.0 accepts them, objects by handle alone (unified mode).
inline constexpr InstructionForm kTextureForms[] = {
    {tex, "base? 1d v4 u32|s32|f16|f32 s32|f32", "=0v [{*1", P::load_store},
    {tex, "base? 1d v2 f16x2 s32|f32", "=0v [{*1", P::load_store},
    {tex, "base? a1d|2d v4 u32|s32|f16|f32 s32|f32", "=0v [{*2", P::load_store},
    {tex, "base? a1d|2d v2 f16x2 s32|f32", "=0v [{*2", P::load_store},
    {tex, "base? a2d|3d v4 u32|s32|f16|f32 s32|f32", "=0v [{*4", P::load_store},
    {tex, "base? a2d|3d v2 f16x2 s32|f32", "=0v [{*4", P::load_store},
    {tex, "base? cube|acube v4 u32|s32|f16|f32 f32", "=0v [{*4", P::load_store},
    {tex, "base? cube|acube v2 f16x2 f32", "=0v [{*4", P::load_store},
    {tex, "level 1d v4 u32|s32|f16|f32 s32|f32", "=0v [{*1 1", P::load_store},
    {tex, "level 1d v2 f16x2 s32|f32", "=0v [{*1 1", P::load_store},
    {tex, "level a1d|2d v4 u32|s32|f16|f32 s32|f32", "=0v [{*2 1", P::load_store},
    {tex, "level a1d|2d v2 f16x2 s32|f32", "=0v [{*2 1", P::load_store},
    {tex, "level a2d|3d v4 u32|s32|f16|f32 s32|f32", "=0v [{*4 1", P::load_store},
    {tex, "level a2d|3d v2 f16x2 s32|f32", "=0v [{*4 1", P::load_store},
    {tex, "level cube|acube v4 u32|s32|f16|f32 f32", "=0v [{*4 1", P::load_store},
    {tex, "level cube|acube v2 f16x2 f32", "=0v [{*4 1", P::load_store},
    {tex, "grad 1d v4 u32|s32|f16|f32 f32", "=0v [{*1 f32*1 f32*1", P::load_store},
    {tex, "grad 1d v2 f16x2 f32", "=0v [{*1 f32*1 f32*1", P::load_store},
    {tex, "grad a1d v4 u32|s32|f16|f32 f32", "=0v [{*2 f32*1 f32*1", P::load_store},
    {tex, "grad a1d v2 f16x2 f32", "=0v [{*2 f32*1 f32*1", P::load_store},
    {tex, "grad 2d v4 u32|s32|f16|f32 f32", "=0v [{*2 f32*2 f32*2", P::load_store},
    {tex, "grad 2d v2 f16x2 f32", "=0v [{*2 f32*2 f32*2", P::load_store},
    {tex, "grad a2d v4 u32|s32|f16|f32 f32", "=0v [{*4 f32*2 f32*2", P::load_store},
    {tex, "grad a2d v2 f16x2 f32", "=0v [{*4 f32*2 f32*2", P::load_store},
    {tex, "grad 3d|cube|acube v4 u32|s32|f16|f32 f32", "=0v [{*4 f32*4 f32*4", P::load_store},
    {tex, "grad 3d|cube|acube v2 f16x2 f32", "=0v [{*4 f32*4 f32*4", P::load_store},
    {tld4, "r|g|b|a 2d v4 u32|s32|f32 f32", "=0v [{*2", P::load_store},
    {tld4, "r|g|b|a a2d|cube|acube v4 u32|s32|f32 f32", "=0v [{*4", P::load_store},
    {txq, "width|height|depth|channel_data_type|channel_order|normalized_coords|array_size|num_mipmap_levels|num_samples|filter_mode|"
          "addr_mode_0|addr_mode_1|addr_mode_2|force_unnormalized_coords b32", "=b32 [", P::load_store},
    {txq, "level width|height|depth b32", "=b32 [ b32", P::load_store},
    {suq, "width|height|depth|channel_data_type|channel_order|array_size|memory_layout b32", "=b32 [", P::load_store},
    {suld, "b 1d ca|cg|cs|cv? b8|b16|b32|b64 trap|clamp|zero", "=~0*1 [{*1", P::load_store},
    {suld, "b 1d ca|cg|cs|cv? v2|v4 b8|b16|b32 trap|clamp|zero", "=~0v [{*1", P::load_store},
    {suld, "b 1d ca|cg|cs|cv? v2 b64 trap|clamp|zero", "=~0v [{*1", P::load_store},
    {suld, "b a1d|2d ca|cg|cs|cv? b8|b16|b32|b64 trap|clamp|zero", "=~0*1 [{*2", P::load_store},
    {suld, "b a1d|2d ca|cg|cs|cv? v2|v4 b8|b16|b32 trap|clamp|zero", "=~0v [{*2", P::load_store},
    {suld, "b a1d|2d ca|cg|cs|cv? v2 b64 trap|clamp|zero", "=~0v [{*2", P::load_store},
    {suld, "b a2d|3d ca|cg|cs|cv? b8|b16|b32|b64 trap|clamp|zero", "=~0*1 [{*4", P::load_store},
    {suld, "b a2d|3d ca|cg|cs|cv? v2|v4 b8|b16|b32 trap|clamp|zero", "=~0v [{*4", P::load_store},
    {suld, "b a2d|3d ca|cg|cs|cv? v2 b64 trap|clamp|zero", "=~0v [{*4", P::load_store},
    {sust, "b 1d wb|cg|cs|wt? b8|b16|b32|b64 trap|clamp|zero", "[{*1 ~0*1", P::load_store},
    {sust, "b 1d wb|cg|cs|wt? v2|v4 b8|b16|b32 trap|clamp|zero", "[{*1 ~0v", P::load_store},
    {sust, "b 1d wb|cg|cs|wt? v2 b64 trap|clamp|zero", "[{*1 ~0v", P::load_store},
    {sust, "b a1d|2d wb|cg|cs|wt? b8|b16|b32|b64 trap|clamp|zero", "[{*2 ~0*1", P::load_store},
    {sust, "b a1d|2d wb|cg|cs|wt? v2|v4 b8|b16|b32 trap|clamp|zero", "[{*2 ~0v", P::load_store},
    {sust, "b a1d|2d wb|cg|cs|wt? v2 b64 trap|clamp|zero", "[{*2 ~0v", P::load_store},
    {sust, "b a2d|3d wb|cg|cs|wt? b8|b16|b32|b64 trap|clamp|zero", "[{*4 ~0*1", P::load_store},
    {sust, "b a2d|3d wb|cg|cs|wt? v2|v4 b8|b16|b32 trap|clamp|zero", "[{*4 ~0v", P::load_store},
    {sust, "b a2d|3d wb|cg|cs|wt? v2 b64 trap|clamp|zero", "[{*4 ~0v", P::load_store},
    {sured, "b add 1d u32|s32|u64 trap|clamp|zero", "[{*1 0", P::load_store},
    {sured, "b min|max 1d u32|s32|u64|s64 trap|clamp|zero", "[{*1 0", P::load_store},
    {sured, "b and|or 1d b32 trap|clamp|zero", "[{*1 0", P::load_store},
    {sured, "b add 2d u32|s32|u64 trap|clamp|zero", "[{*2 0", P::load_store},
    {sured, "b min|max 2d u32|s32|u64|s64 trap|clamp|zero", "[{*2 0", P::load_store},
    {sured, "b and|or 2d b32 trap|clamp|zero", "[{*2 0", P::load_store},
    {sured, "b add 3d u32|s32|u64 trap|clamp|zero", "[{*4 0", P::load_store},
    {sured, "b min|max 3d u32|s32|u64|s64 trap|clamp|zero", "[{*4 0", P::load_store},
    {sured, "b and|or 3d b32 trap|clamp|zero", "[{*4 0", P::load_store},
};
// clang-format on

}  // namespace heddle::ptx::forms
