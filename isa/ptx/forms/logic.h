// The instruction table: logic, shifts, bit fields. Notation: instruction_table.h.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
inline constexpr InstructionForm kLogicForms[] = {
    {and_, "pred|b16|b32", "=0 0 0"},
    {and_, "b64", "=0 0 0", P::integer, 2},
    {or_, "pred|b16|b32", "=0 0 0"},
    {or_, "b64", "=0 0 0", P::integer, 2},
    {xor_, "pred|b16|b32", "=0 0 0"},
    {xor_, "b64", "=0 0 0", P::integer, 2},
    {not_, "pred|b16|b32", "=0 0"},
    {not_, "b64", "=0 0", P::integer, 2},
    {cnot, "b16|b32", "=0 0", P::integer, 3},
    {cnot, "b64", "=0 0", P::integer, 5},
    {bmsk, "clamp|wrap b32", "=b32 u32 u32", P::integer, 2},
    {szext, "clamp|wrap u32|s32", "=0 0 u32", P::integer, 2},
    {lop3, "b32", "=b32 b32 b32 b32 imm"},
    {lop3, "or|and b32", "=b32 |=pred b32 b32 b32 imm !pred", P::integer, 2},
    {shl, "b16|b32", "=0 0 u32"},
    {shl, "b64", "=0 0 u32", P::integer, 2},
    {shr, "b16|u16|s16", "=0 0 u32", P::integer, 2},
    {shr, "b32|u32|s32", "=0 0 u32"},
    {shr, "b64|u64|s64", "=0 0 u32", P::integer, 2},
    {shf, "l|r clamp|wrap b32", "=b32 b32 b32 u32"},
    {bfe, "u32|s32", "=0 0 u32 u32", P::integer, 5},
    {bfe, "u64|s64", "=0 0 u32 u32", P::integer, 6},
    {bfi, "b32", "=0 0 0 u32 u32", P::integer, 6},
    {bfi, "b64", "=0 0 0 u32 u32", P::integer, 8},
    {fns, "b32", "=b32 b32 b32 s32", P::integer, 40},
    {bfind, "shiftamt? u32|s32", "=u32 0", P::special},
    {bfind, "shiftamt? u64|s64", "=u32 0", P::special, 4},
    {popc, "b32", "=u32 0", P::special},
    {popc, "b64", "=u32 0", P::special, 3},
    {clz, "b32", "=u32 0", P::special, 2},
    {clz, "b64", "=u32 0", P::special, 5},
    {brev, "b32", "=0 0", P::special},
    {brev, "b64", "=0 0", P::special, 2},
    {prmt, "b32 f4e|b4e|rc8|ecl|ecr|rc16?", "=b32 b32 b32 b32"},
};
// clang-format on

}  // namespace heddle::ptx::forms
