// The instruction table: matrix. Notation: instruction_table.h.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
inline constexpr InstructionForm kMatrixForms[] = {
    {ldmatrix, "sync aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16", "=b32x [", P::load_store},
    {mma, "sync aligned m16n8k16 row col f32 f16 f16 f32", "=f32*4 b32*4 b32*2 f32*4", P::tensor, 1, 80, 2},
    {mma, "sync aligned m16n8k16 row col f16 f16 f16 f16", "=b32*2 b32*4 b32*2 b32*2", P::tensor, 1, 80, 2},
    {mma, "sync aligned m16n8k16 row col f32 bf16 bf16 f32", "=f32*4 b32*4 b32*2 f32*4", P::tensor},
    {mma, "sync aligned m16n8k8 row col f32 f16 f16 f32", "=f32*4 b32*2 b32*1 f32*4", P::tensor},
    {mma, "sync aligned m16n8k8 row col f16 f16 f16 f16", "=b32*2 b32*2 b32*1 b32*2", P::tensor},
    {mma, "sync aligned m16n8k8 row col f32 bf16 bf16 f32", "=f32*4 b32*2 b32*1 f32*4", P::tensor},
    {mma, "sync aligned m16n8k4 row col f32 tf32 tf32 f32", "=f32*4 b32*2 b32*1 f32*4", P::tensor},
    {mma, "sync aligned m16n8k8 row col f32 tf32 tf32 f32", "=f32*4 b32*4 b32*2 f32*4", P::tensor},
    {mma, "sync aligned m16n8k16 row col satfinite? s32 u8|s8 u8|s8 s32", "=s32*4 b32*2 b32*1 s32*4", P::tensor},
    {mma, "sync aligned m16n8k32 row col satfinite? s32 u8|s8 u8|s8 s32", "=s32*4 b32*4 b32*2 s32*4", P::tensor},
};
// clang-format on

}  // namespace heddle::ptx::forms
