// The instruction table: machine forms. Notation: instruction_table.h.
//
// What machine instructions (SASS) mean, on 32-bit registers, where PTX has no instruction of the same meaning. Only
// isa/sass/translate writes them. Pairs of registers are vectors, the lower half first. Immediates at the end say which
// variant it is; isa/ptx/machine_form.h names their bits.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
inline constexpr InstructionForm kMachineForms[] = {
    {machine_nop, "", "", P::branch},
    {machine_iadd3, "", "=b32 b32 b32 b32 imm"},
    {machine_iadd3_carry, "", "=b32 =pred*2 b32*3 pred*2 imm imm"},
    {machine_imad, "", "=b32 b32 b32 b32 imm"},
    {machine_imad_wide, "", "=b32*2 =pred b32*2 b32*2 pred imm"},
    {machine_lea, "", "=b32 =pred b32*3 pred imm imm"},
    {machine_shf, "", "=b32 b32 b32 b32 imm"},
    {machine_isetp_extended, "", "=pred =pred b32 b32 pred pred imm imm"},
    {machine_plop3, "", "=pred =pred pred pred pred imm imm imm"},
    {machine_ffma, "", "=b32 b32 b32 b32 imm", P::fp32},
    {machine_fchk, "", "=pred b32 b32", P::special},
    {machine_shfl, "", "=b32 =pred b32 b32 b32 imm", P::load_store},
    {machine_double, "", "=b32*2 b32*2 b32*2 b32*2 imm imm", P::fp64},
    {machine_first_lane, "", "=b32 b32"},
};
// clang-format on

}  // namespace heddle::ptx::forms
