// The instruction table: matrix. Notation: instruction_table.h.
//
// Shapes, types and layouts are those that ptxas takes for sm_75 to sm_90a. Machine operations are of the
// newest generation that has the operation; `on devices before` counts those that split it.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
inline constexpr InstructionForm kMatrixForms[] = {
    {ldmatrix, "sync aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16", "=b32x [", P::load_store},
    {stmatrix, "sync aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16", "[ b32x", P::load_store},
    // Rows of 16 elements of 6 or 4 bits, 16 bytes apart, as a byte each.
    {ldmatrix, "sync aligned m8n16 x1|x2|x4 shared|shared::cta? b8x16 b6x16_p32|b4x16_p64", "=b32x [", P::load_store},
    // the same in another order, as libraries write them
    {ldmatrix, "sync aligned x1|x2|x4 trans? m8n8 shared|shared::cta? b16", "=b32x [", P::load_store},
    {stmatrix, "sync aligned x1|x2|x4 trans? m8n8 shared|shared::cta? b16", "[ b32x", P::load_store},
    {movmatrix, "sync aligned m8n8 trans b16", "=b32 b32", P::load_store},

    // mma, floating point
    {mma, "sync aligned m16n8k16 row col f32 f16 f16 f32", "=f32*4 b32*4 b32*2 f32*4", P::tensor, 1, &Generation::has_mma_m16n8k16, 2},
    {mma, "sync aligned m16n8k16 row col f16 f16 f16 f16", "=b32*2 b32*4 b32*2 b32*2", P::tensor, 1, &Generation::has_mma_m16n8k16, 2},
    {mma, "sync aligned m16n8k16 row col f32 bf16 bf16 f32", "=f32*4 b32*4 b32*2 f32*4", P::tensor},
    {mma, "sync aligned m16n8k8 row col f32 f16 f16 f32", "=f32*4 b32*2 b32*1 f32*4", P::tensor},
    {mma, "sync aligned m16n8k8 row col f16 f16 f16 f16", "=b32*2 b32*2 b32*1 b32*2", P::tensor},
    {mma, "sync aligned m16n8k8 row col f32 bf16 bf16 f32", "=f32*4 b32*2 b32*1 f32*4", P::tensor},
    {mma, "sync aligned m16n8k4 row col f32 tf32 tf32 f32", "=f32*4 b32*2 b32*1 f32*4", P::tensor},
    {mma, "sync aligned m16n8k8 row col f32 tf32 tf32 f32", "=f32*4 b32*4 b32*2 f32*4", P::tensor},
    {mma, "sync aligned m16n8k16 row col f32 e4m3|e5m2 e4m3|e5m2 f32", "=f32*4 b32*2 b32*1 f32*4", P::tensor},
    {mma, "sync aligned m16n8k32 row col f32 e4m3|e5m2 e4m3|e5m2 f32", "=f32*4 b32*4 b32*2 f32*4", P::tensor},
    {mma, "sync aligned m16n8k16 row col f16 e4m3|e5m2 e4m3|e5m2 f16", "=b32*2 b32*2 b32*1 b32*2", P::tensor},
    {mma, "sync aligned m16n8k32 row col f16 e4m3|e5m2 e4m3|e5m2 f16", "=b32*2 b32*4 b32*2 b32*2", P::tensor},
    {mma, "sync aligned m8n8k4 row col rn|rz|rm|rp? f64 f64 f64 f64", "=f64*2 f64*1 f64*1 f64*2", P::tensor},
    {mma, "sync aligned m16n8k4 row col rn|rz|rm|rp? f64 f64 f64 f64", "=f64*4 f64*2 f64*1 f64*4", P::tensor},
    {mma, "sync aligned m16n8k8 row col rn|rz|rm|rp? f64 f64 f64 f64", "=f64*4 f64*4 f64*2 f64*4", P::tensor},
    {mma, "sync aligned m16n8k16 row col rn|rz|rm|rp? f64 f64 f64 f64", "=f64*4 f64*8 f64*4 f64*4", P::tensor},

    // Of graphics boards from Blackwell on (sm_120a): formats of 8, 6 and 4 bits in any pair, each element in a byte, and block scales: behind A, B
    // and C the scales of A, which byte and which threads have them, and the same of B.
    {mma, "sync aligned m16n8k32 row col kind::f8f6f4 f32 e4m3|e5m2|e3m2|e2m3|e2m1 e4m3|e5m2|e3m2|e2m3|e2m1 f32", "=f32*4 b32*4 b32*2 f32*4", P::tensor},
    {mma, "sync aligned m16n8k32 row col kind::f8f6f4 f16 e4m3|e5m2|e3m2|e2m3|e2m1 e4m3|e5m2|e3m2|e2m3|e2m1 f16", "=b32*2 b32*4 b32*2 b32*2", P::tensor},
    {mma, "sync aligned m16n8k32 row col kind::mxf8f6f4 block_scale scale_vec::1X? f32 e4m3|e5m2|e3m2|e2m3|e2m1 e4m3|e5m2|e3m2|e2m3|e2m1 f32 ue8m0", "=f32*4 b32*4 b32*2 f32*4 b32*1 b16*2 b32*1 b16*2", P::tensor},
    {mma, "sync aligned m16n8k64 row col kind::mxf4 block_scale scale_vec::2X? f32 e2m1 e2m1 f32 ue8m0", "=f32*4 b32*4 b32*2 f32*4 b32*1 b16*2 b32*1 b16*2", P::tensor},
    {mma, "sync aligned m16n8k64 row col kind::mxf4nvf4 block_scale scale_vec::2X f32 e2m1 e2m1 f32 ue8m0", "=f32*4 b32*4 b32*2 f32*4 b32*1 b16*2 b32*1 b16*2", P::tensor},
    {mma, "sync aligned m16n8k64 row col kind::mxf4nvf4 block_scale scale_vec::4X f32 e2m1 e2m1 f32 ue8m0|ue4m3", "=f32*4 b32*4 b32*2 f32*4 b32*1 b16*2 b32*1 b16*2", P::tensor},

    // mma of quad pairs. One row per pair of layouts: which came first is read from the row.
    {mma, "sync aligned m8n8k4 row row f32 f16 f16 f32", "=f32*8 b32*2 b32*2 f32*8", P::tensor, 4},
    {mma, "sync aligned m8n8k4 row col f32 f16 f16 f32", "=f32*8 b32*2 b32*2 f32*8", P::tensor, 4},
    {mma, "sync aligned m8n8k4 col row f32 f16 f16 f32", "=f32*8 b32*2 b32*2 f32*8", P::tensor, 4},
    {mma, "sync aligned m8n8k4 col col f32 f16 f16 f32", "=f32*8 b32*2 b32*2 f32*8", P::tensor, 4},
    {mma, "sync aligned m8n8k4 row row f32 f16 f16 f16", "=f32*8 b32*2 b32*2 b32*4", P::tensor, 4},
    {mma, "sync aligned m8n8k4 row col f32 f16 f16 f16", "=f32*8 b32*2 b32*2 b32*4", P::tensor, 4},
    {mma, "sync aligned m8n8k4 col row f32 f16 f16 f16", "=f32*8 b32*2 b32*2 b32*4", P::tensor, 4},
    {mma, "sync aligned m8n8k4 col col f32 f16 f16 f16", "=f32*8 b32*2 b32*2 b32*4", P::tensor, 4},
    {mma, "sync aligned m8n8k4 row row f16 f16 f16 f16", "=b32*4 b32*2 b32*2 b32*4", P::tensor, 2},
    {mma, "sync aligned m8n8k4 row col f16 f16 f16 f16", "=b32*4 b32*2 b32*2 b32*4", P::tensor, 2},
    {mma, "sync aligned m8n8k4 col row f16 f16 f16 f16", "=b32*4 b32*2 b32*2 b32*4", P::tensor, 2},
    {mma, "sync aligned m8n8k4 col col f16 f16 f16 f16", "=b32*4 b32*2 b32*2 b32*4", P::tensor, 2},

    // mma, integers and bits; ptxas takes the last suffixes before the types or after them
    {mma, "sync aligned m8n8k16 row col satfinite? s32 u8|s8 u8|s8 s32 satfinite?", "=s32*2 b32*1 b32*1 s32*2", P::tensor},
    {mma, "sync aligned m16n8k16 row col satfinite? s32 u8|s8 u8|s8 s32 satfinite?", "=s32*4 b32*2 b32*1 s32*4", P::tensor},
    {mma, "sync aligned m16n8k32 row col satfinite? s32 u8|s8 u8|s8 s32 satfinite?", "=s32*4 b32*4 b32*2 s32*4", P::tensor},
    {mma, "sync aligned m8n8k32 row col satfinite? s32 u4|s4 u4|s4 s32 satfinite?", "=s32*2 b32*1 b32*1 s32*2", P::tensor},
    {mma, "sync aligned m16n8k32 row col satfinite? s32 u4|s4 u4|s4 s32 satfinite?", "=s32*4 b32*2 b32*1 s32*4", P::tensor},
    {mma, "sync aligned m16n8k64 row col satfinite? s32 u4|s4 u4|s4 s32 satfinite?", "=s32*4 b32*4 b32*2 s32*4", P::tensor},
    {mma, "sync aligned m8n8k128 row col s32 b1 b1 s32 xor|and popc", "=s32*2 b32*1 b32*1 s32*2", P::tensor},
    {mma, "sync aligned m16n8k128 row col s32 b1 b1 s32 xor|and popc", "=s32*4 b32*2 b32*1 s32*4", P::tensor},
    {mma, "sync aligned m16n8k256 row col s32 b1 b1 s32 xor|and popc", "=s32*4 b32*4 b32*2 s32*4", P::tensor},
    {mma, "sync aligned m8n8k128 row col xor|and popc s32 b1 b1 s32", "=s32*2 b32*1 b32*1 s32*2", P::tensor},
    {mma, "sync aligned m16n8k128 row col xor|and popc s32 b1 b1 s32", "=s32*4 b32*2 b32*1 s32*4", P::tensor},
    {mma, "sync aligned m16n8k256 row col xor|and popc s32 b1 b1 s32", "=s32*4 b32*4 b32*2 s32*4", P::tensor},

    // mma.sp: metadata and selector follow
    {mma, "sp|sp::ordered_metadata sync aligned m16n8k16 row col f32 f16 f16 f32", "=f32*4 b32*2 b32*2 f32*4 b32 imm", P::tensor},
    {mma, "sp|sp::ordered_metadata sync aligned m16n8k32 row col f32 f16 f16 f32", "=f32*4 b32*4 b32*4 f32*4 b32 imm", P::tensor},
    {mma, "sp|sp::ordered_metadata sync aligned m16n8k16 row col f16 f16 f16 f16", "=b32*2 b32*2 b32*2 b32*2 b32 imm", P::tensor},
    {mma, "sp|sp::ordered_metadata sync aligned m16n8k32 row col f16 f16 f16 f16", "=b32*2 b32*4 b32*4 b32*2 b32 imm", P::tensor},
    {mma, "sp|sp::ordered_metadata sync aligned m16n8k16 row col f32 bf16 bf16 f32", "=f32*4 b32*2 b32*2 f32*4 b32 imm", P::tensor},
    {mma, "sp|sp::ordered_metadata sync aligned m16n8k32 row col f32 bf16 bf16 f32", "=f32*4 b32*4 b32*4 f32*4 b32 imm", P::tensor},
    {mma, "sp|sp::ordered_metadata sync aligned m16n8k8 row col f32 tf32 tf32 f32", "=f32*4 b32*2 b32*2 f32*4 b32 imm", P::tensor},
    {mma, "sp|sp::ordered_metadata sync aligned m16n8k16 row col f32 tf32 tf32 f32", "=f32*4 b32*4 b32*4 f32*4 b32 imm", P::tensor},
    {mma, "sp|sp::ordered_metadata sync aligned m16n8k64 row col f32 e4m3|e5m2 e4m3|e5m2 f32", "=f32*4 b32*4 b32*4 f32*4 b32 imm", P::tensor},
    {mma, "sp|sp::ordered_metadata sync aligned m16n8k32 row col satfinite? s32 u8|s8 u8|s8 s32 satfinite?", "=s32*4 b32*2 b32*2 s32*4 b32 imm", P::tensor},
    {mma, "sp|sp::ordered_metadata sync aligned m16n8k64 row col satfinite? s32 u8|s8 u8|s8 s32 satfinite?", "=s32*4 b32*4 b32*4 s32*4 b32 imm", P::tensor},
    {mma, "sp|sp::ordered_metadata sync aligned m16n8k64 row col satfinite? s32 u4|s4 u4|s4 s32 satfinite?", "=s32*4 b32*2 b32*2 s32*4 b32 imm", P::tensor},
    {mma, "sp|sp::ordered_metadata sync aligned m16n8k128 row col satfinite? s32 u4|s4 u4|s4 s32 satfinite?", "=s32*4 b32*4 b32*4 s32*4 b32 imm", P::tensor},

    // wmma.load
    {wmma, "load a|b sync aligned row|col m16n16k16|m8n32k16|m32n8k16 global|shared|shared::cta? f16", "=b32*8 [ u32?", P::load_store, 4},
    {wmma, "load a|b sync aligned row|col m16n16k16 global|shared|shared::cta? bf16", "=b32*4 [ u32?", P::load_store, 4},
    {wmma, "load a sync aligned row|col m8n32k16 global|shared|shared::cta? bf16", "=b32*2 [ u32?", P::load_store, 2},
    {wmma, "load b sync aligned row|col m32n8k16 global|shared|shared::cta? bf16", "=b32*2 [ u32?", P::load_store, 2},
    {wmma, "load b sync aligned row|col m8n32k16 global|shared|shared::cta? bf16", "=b32*8 [ u32?", P::load_store, 4},
    {wmma, "load a sync aligned row|col m32n8k16 global|shared|shared::cta? bf16", "=b32*8 [ u32?", P::load_store, 4},
    {wmma, "load a|b sync aligned row|col m16n16k16 global|shared|shared::cta? u8|s8", "=b32*2 [ u32?", P::load_store, 2},
    {wmma, "load a sync aligned row|col m8n32k16 global|shared|shared::cta? u8|s8", "=b32*1 [ u32?", P::load_store},
    {wmma, "load b sync aligned row|col m32n8k16 global|shared|shared::cta? u8|s8", "=b32*1 [ u32?", P::load_store},
    {wmma, "load b sync aligned row|col m8n32k16 global|shared|shared::cta? u8|s8", "=b32*4 [ u32?", P::load_store, 4},
    {wmma, "load a sync aligned row|col m32n8k16 global|shared|shared::cta? u8|s8", "=b32*4 [ u32?", P::load_store, 4},
    {wmma, "load a|b sync aligned row|col m16n16k8 global|shared|shared::cta? tf32", "=b32*4 [ u32?", P::load_store, 4},
    {wmma, "load a|b sync aligned row|col m8n8k4 global|shared|shared::cta? f64", "=f64*1 [ u32?", P::load_store},
    {wmma, "load a sync aligned row m8n8k32 global|shared|shared::cta? u4|s4", "=b32*1 [ u32?", P::load_store},
    {wmma, "load b sync aligned col m8n8k32 global|shared|shared::cta? u4|s4", "=b32*1 [ u32?", P::load_store},
    {wmma, "load a sync aligned row m8n8k128 global|shared|shared::cta? b1", "=b32*1 [ u32?", P::load_store},
    {wmma, "load b sync aligned col m8n8k128 global|shared|shared::cta? b1", "=b32*1 [ u32?", P::load_store},
    {wmma, "load c sync aligned row|col m16n16k16|m8n32k16|m32n8k16 global|shared|shared::cta? f16", "=b32*4 [ u32?", P::load_store, 4},
    {wmma, "load c sync aligned row|col m16n16k16|m8n32k16|m32n8k16|m16n16k8 global|shared|shared::cta? f32", "=f32*8 [ u32?", P::load_store, 4},
    {wmma, "load c sync aligned row|col m16n16k16|m8n32k16|m32n8k16 global|shared|shared::cta? s32", "=s32*8 [ u32?", P::load_store, 4},
    {wmma, "load c sync aligned row|col m8n8k32|m8n8k128 global|shared|shared::cta? s32", "=s32*2 [ u32?", P::load_store},
    {wmma, "load c sync aligned row|col m8n8k4 global|shared|shared::cta? f64", "=f64*2 [ u32?", P::load_store},

    // wmma.store
    {wmma, "store d sync aligned row|col m16n16k16|m8n32k16|m32n8k16 global|shared|shared::cta? f16", "[ b32*4 u32?", P::load_store, 4},
    {wmma, "store d sync aligned row|col m16n16k16|m8n32k16|m32n8k16|m16n16k8 global|shared|shared::cta? f32", "[ f32*8 u32?", P::load_store, 4},
    {wmma, "store d sync aligned row|col m16n16k16|m8n32k16|m32n8k16 global|shared|shared::cta? s32", "[ s32*8 u32?", P::load_store, 4},
    {wmma, "store d sync aligned row|col m8n8k32|m8n8k128 global|shared|shared::cta? s32", "[ s32*2 u32?", P::load_store},
    {wmma, "store d sync aligned row|col m8n8k4 global|shared|shared::cta? f64", "[ f64*2 u32?", P::load_store},

    // wmma.mma
    {wmma, "mma sync aligned row|col row|col m16n16k16|m8n32k16|m32n8k16 f32 f32", "=f32*8 b32*8 b32*8 f32*8", P::tensor, 2, &Generation::has_mma_m16n8k16, 4},
    {wmma, "mma sync aligned row|col row|col m16n16k16|m8n32k16|m32n8k16 f32 f16", "=f32*8 b32*8 b32*8 b32*4", P::tensor, 2, &Generation::has_mma_m16n8k16, 4},
    {wmma, "mma sync aligned row|col row|col m16n16k16|m8n32k16|m32n8k16 f16 f32", "=b32*4 b32*8 b32*8 f32*8", P::tensor, 2, &Generation::has_mma_m16n8k16, 4},
    {wmma, "mma sync aligned row|col row|col m16n16k16|m8n32k16|m32n8k16 f16 f16", "=b32*4 b32*8 b32*8 b32*4", P::tensor, 2, &Generation::has_mma_m16n8k16, 4},
    {wmma, "mma sync aligned row|col row|col m16n16k16 f32 bf16 bf16 f32", "=f32*8 b32*4 b32*4 f32*8", P::tensor, 2},
    {wmma, "mma sync aligned row|col row|col m8n32k16 f32 bf16 bf16 f32", "=f32*8 b32*2 b32*8 f32*8", P::tensor, 2},
    {wmma, "mma sync aligned row|col row|col m32n8k16 f32 bf16 bf16 f32", "=f32*8 b32*8 b32*2 f32*8", P::tensor, 2},
    {wmma, "mma sync aligned row|col row|col m16n16k8 f32 tf32 tf32 f32", "=f32*8 b32*4 b32*4 f32*8", P::tensor, 2},
    {wmma, "mma sync aligned row|col row|col m8n8k4 rn|rz|rm|rp? f64 f64 f64 f64 rn|rz|rm|rp?", "=f64*2 f64*1 f64*1 f64*2", P::tensor},
    {wmma, "mma sync aligned row|col row|col m16n16k16 s32 s8 s8 s32 satfinite?", "=s32*8 b32*2 b32*2 s32*8", P::tensor, 2, &Generation::has_mma_m16n8k16, 4},
    {wmma, "mma sync aligned row|col row|col m16n16k16 s32 u8 u8 s32 satfinite?", "=s32*8 b32*2 b32*2 s32*8", P::tensor, 2, &Generation::has_mma_m16n8k16, 4},
    {wmma, "mma sync aligned row|col row|col m8n32k16 s32 s8 s8 s32 satfinite?", "=s32*8 b32*1 b32*4 s32*8", P::tensor, 2, &Generation::has_mma_m16n8k16, 4},
    {wmma, "mma sync aligned row|col row|col m8n32k16 s32 u8 u8 s32 satfinite?", "=s32*8 b32*1 b32*4 s32*8", P::tensor, 2, &Generation::has_mma_m16n8k16, 4},
    {wmma, "mma sync aligned row|col row|col m32n8k16 s32 s8 s8 s32 satfinite?", "=s32*8 b32*4 b32*1 s32*8", P::tensor, 2, &Generation::has_mma_m16n8k16, 4},
    {wmma, "mma sync aligned row|col row|col m32n8k16 s32 u8 u8 s32 satfinite?", "=s32*8 b32*4 b32*1 s32*8", P::tensor, 2, &Generation::has_mma_m16n8k16, 4},
    {wmma, "mma sync aligned row col m8n8k32 s32 s4 s4 s32 satfinite?", "=s32*2 b32*1 b32*1 s32*2", P::tensor},
    {wmma, "mma sync aligned row col m8n8k32 s32 u4 u4 s32 satfinite?", "=s32*2 b32*1 b32*1 s32*2", P::tensor},
    {wmma, "mma xor|and popc sync aligned row col m8n8k128 s32 b1 b1 s32", "=s32*2 b32*1 b32*1 s32*2", P::tensor},
    {wmma, "mma sync aligned row col m8n8k128 s32 b1 b1 s32 xor|and popc", "=s32*2 b32*1 b32*1 s32*2", P::tensor},
};
// clang-format on

}  // namespace heddle::ptx::forms
