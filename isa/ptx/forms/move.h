// The instruction table: moves and addresses. Notation: instruction_table.h.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
inline constexpr InstructionForm kMoveForms[] = {
    {mov, "pred", "=0 0"},
    {mov, "b16|u16|s16|f16|bf16", "=0 0"},
    {mov, "b32|u32|s32|f32", "=0 @0"},
    {mov, "b64|u64|s64|f64", "=0 @0"},
    {mov, "b128", "=0 0", P::integer, 2},
    {mov, "b16", "=0 b8*2"},
    {mov, "b16", "=b8*2 0", P::integer, 2},
    {mov, "b32", "=0 b8*4"},
    {mov, "b32", "=b8*4 0", P::integer, 4},
    {mov, "b32", "=0 b16*2"},
    {mov, "b32", "=b16*2 0"},
    {mov, "b64", "=0 b32*2", P::none, 0},
    {mov, "b64", "=b32*2 0", P::none, 0},
    {mov, "b64", "=0 b16*4", P::integer, 2},
    {mov, "b64", "=b16*4 0", P::integer, 4},
    {cvta, "to? global|shared|shared::cta|shared::cluster|local|const|param|param::entry u32|u64", "=0 @0", P::none, 0},
    {mapa, "shared::cluster? u32|u64", "=0 @0 u32", P::integer, 2},
    {getctarank, "shared::cluster? u32|u64", "=u32 @0", P::integer, 2},
    {isspacep, "global|shared|shared::cta|shared::cluster|local|const|param|param::entry", "=pred b64", P::integer, 2},
};
// clang-format on

}  // namespace heddle::ptx::forms
