// The instruction table: wgmma (sm_90a). Notation: instruction_table.h.
//
// Operands: D, A (four registers or a descriptor), the descriptor of B, of sparse products metadata and
// selector, scale-d, then immediates: scale-a, scale-b, trans-a (of a descriptor only), trans-b.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
inline constexpr InstructionForm kWgmmaForms[] = {
    {wgmma, "fence sync aligned", "", P::barrier},
    {wgmma, "commit_group sync aligned", "", P::none, 0},
    {wgmma, "wait_group sync aligned", "imm", P::barrier},

    {wgmma, "mma_async sync aligned m64nNk16 f32 f16 f16", "+f32*n/2 b64 b64 !pred imm imm imm imm", P::tensor},
    {wgmma, "mma_async sync aligned m64nNk16 f32 f16 f16", "+f32*n/2 f16x2*4 b64 !pred imm imm imm", P::tensor},
    {wgmma, "mma_async sync aligned m64nNk16 f16 f16 f16", "+f16x2*n/4 b64 b64 !pred imm imm imm imm", P::tensor},
    {wgmma, "mma_async sync aligned m64nNk16 f16 f16 f16", "+f16x2*n/4 f16x2*4 b64 !pred imm imm imm", P::tensor},
    {wgmma, "mma_async sync aligned m64nNk16 f32 bf16 bf16", "+f32*n/2 b64 b64 !pred imm imm imm imm", P::tensor},
    {wgmma, "mma_async sync aligned m64nNk16 f32 bf16 bf16", "+f32*n/2 b32*4 b64 !pred imm imm imm", P::tensor},
    {wgmma, "mma_async sync aligned m64nNk8 f32 tf32 tf32", "+f32*n/2 b64 b64 !pred imm imm", P::tensor},
    {wgmma, "mma_async sync aligned m64nNk8 f32 tf32 tf32", "+f32*n/2 b32*4 b64 !pred imm imm", P::tensor},
    {wgmma, "mma_async sync aligned m64nNk32 f32 e4m3|e5m2 e4m3|e5m2", "+f32*n/2 b64 b64 !pred imm imm", P::tensor},
    {wgmma, "mma_async sync aligned m64nNk32 f32 e4m3|e5m2 e4m3|e5m2", "+f32*n/2 b32*4 b64 !pred imm imm", P::tensor},
    {wgmma, "mma_async sync aligned m64nNk32 f16 e4m3|e5m2 e4m3|e5m2", "+f16x2*n/4 b64 b64 !pred imm imm", P::tensor},
    {wgmma, "mma_async sync aligned m64nNk32 f16 e4m3|e5m2 e4m3|e5m2", "+f16x2*n/4 b32*4 b64 !pred imm imm", P::tensor},
    {wgmma, "mma_async sync aligned m64nIk32 satfinite? s32 s8|u8 s8|u8 satfinite?", "+s32*n/2 b64 b64 !pred", P::tensor},
    {wgmma, "mma_async sync aligned m64nIk32 satfinite? s32 s8|u8 s8|u8 satfinite?", "+s32*n/2 b32*4 b64 !pred", P::tensor},
    {wgmma, "mma_async sync aligned m64nIk256 s32 b1 b1 and popc", "+s32*n/2 b64 b64 !pred", P::tensor},
    {wgmma, "mma_async sync aligned m64nIk256 s32 b1 b1 and popc", "+s32*n/2 b32*4 b64 !pred", P::tensor},

    {wgmma, "mma_async sp sync aligned m64nNk32 f32 f16 f16", "+f32*n/2 b64 b64 b32 imm !pred imm imm imm imm", P::tensor},
    {wgmma, "mma_async sp sync aligned m64nNk32 f32 f16 f16", "+f32*n/2 f16x2*4 b64 b32 imm !pred imm imm imm", P::tensor},
    {wgmma, "mma_async sp sync aligned m64nNk32 f16 f16 f16", "+f16x2*n/4 b64 b64 b32 imm !pred imm imm imm imm", P::tensor},
    {wgmma, "mma_async sp sync aligned m64nNk32 f16 f16 f16", "+f16x2*n/4 f16x2*4 b64 b32 imm !pred imm imm imm", P::tensor},
    {wgmma, "mma_async sp sync aligned m64nNk32 f32 bf16 bf16", "+f32*n/2 b64 b64 b32 imm !pred imm imm imm imm", P::tensor},
    {wgmma, "mma_async sp sync aligned m64nNk32 f32 bf16 bf16", "+f32*n/2 b32*4 b64 b32 imm !pred imm imm imm", P::tensor},
    {wgmma, "mma_async sp sync aligned m64nNk16 f32 tf32 tf32", "+f32*n/2 b64 b64 b32 imm !pred imm imm", P::tensor},
    {wgmma, "mma_async sp sync aligned m64nNk16 f32 tf32 tf32", "+f32*n/2 b32*4 b64 b32 imm !pred imm imm", P::tensor},
    {wgmma, "mma_async sp sync aligned m64nNk64 f32 e4m3|e5m2 e4m3|e5m2", "+f32*n/2 b64 b64 b32 imm !pred imm imm", P::tensor},
    {wgmma, "mma_async sp sync aligned m64nNk64 f32 e4m3|e5m2 e4m3|e5m2", "+f32*n/2 b32*4 b64 b32 imm !pred imm imm", P::tensor},
    {wgmma, "mma_async sp sync aligned m64nNk64 f16 e4m3|e5m2 e4m3|e5m2", "+f16x2*n/4 b64 b64 b32 imm !pred imm imm", P::tensor},
    {wgmma, "mma_async sp sync aligned m64nNk64 f16 e4m3|e5m2 e4m3|e5m2", "+f16x2*n/4 b32*4 b64 b32 imm !pred imm imm", P::tensor},
    {wgmma, "mma_async sp sync aligned m64nIk64 satfinite? s32 s8|u8 s8|u8 satfinite?", "+s32*n/2 b64 b64 b32 imm !pred", P::tensor},
    {wgmma, "mma_async sp sync aligned m64nIk64 satfinite? s32 s8|u8 s8|u8 satfinite?", "+s32*n/2 b32*4 b64 b32 imm !pred", P::tensor},
};
// clang-format on

}  // namespace heddle::ptx::forms
