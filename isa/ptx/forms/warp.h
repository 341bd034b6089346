// The instruction table: warps. Notation: instruction_table.h.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
inline constexpr InstructionForm kWarpForms[] = {
    {shfl, "sync up|down|bfly|idx b32", "=b32 |=pred? b32 b32 b32 b32", P::load_store},
    {vote, "sync all|any|uni pred", "=pred !pred b32"},
    {vote, "sync ballot b32", "=b32 !pred b32"},
    {activemask, "b32", "=b32"},
    {elect, "sync", "=b32 |=pred b32", P::integer, 2},
    {redux, "sync add|min|max u32|s32", "=0 0 b32", P::special, 2},
    {redux, "sync and|or|xor b32", "=0 0 b32", P::special, 2},
    {redux, "sync min|max abs? NaN? f32", "=0 0 b32", P::special, 2},
    {match, "any sync b32|b64", "=b32 0 b32", P::special},
    {match, "all sync b32|b64", "=b32 |=pred? 0 b32", P::special},
};
// clang-format on

}  // namespace heddle::ptx::forms
