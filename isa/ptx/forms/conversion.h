// The instruction table: conversion. Notation: instruction_table.h.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
inline constexpr InstructionForm kConversionForms[] = {
    {cvt, "u64|s64 u32", "=~0 ~1", P::none, 0},  // the high half is the zero register
    {cvt, "u8|u16|u32|s8|s16|s32|u64|s64 u8|u16|u32|s8|s16|s32", "=~0 ~1"},
    {cvt, "u8|u16|u32|s8|s16|s32 u64|s64", "=~0 ~1", P::none, 0},  // the low half: a renaming
    {cvt, "u64|s64 u64|s64", "=~0 ~1", P::none, 0},
    {cvt, "sat u8|u16|u32|s8|s16|s32|u64|s64 u8|u16|u32|s8|s16|s32|u64|s64", "=~0 ~1", P::integer, 2},
    {cvt, "rni|rzi|rmi|rpi ftz? sat? u8|u16|u32|u64|s8|s16|s32|s64 f16|f32|f64", "=~0 ~1", P::special},
    {cvt, "rni|rzi|rmi|rpi ftz? sat? u8|u16|u32|u64|s8|s16|s32|s64 bf16", "=~0 ~1", P::special},
    {cvt, "rn|rz|rm|rp sat? f16|f64 u8|u16|u32|u64|s8|s16|s32|s64", "=~0 ~1", P::special},
    {cvt, "rn|rz|rm|rp ftz? sat? f32 u8|u16|u32|u64|s8|s16|s32|s64", "=~0 ~1", P::special},
    {cvt, "rn|rz|rm|rp bf16 u8|u16|u32|u64|s8|s16|s32|s64", "=~0 ~1", P::special},
    {cvt, "ftz? sat? f32 f16", "=~0 ~1", P::half},
    {cvt, "rn|rz|rm|rp? ftz? f32 bf16", "=~0 ~1", P::integer},
    {cvt, "ftz? sat? f64 f16|f32", "=~0 ~1", P::special},
    {cvt, "rn|rz|rm|rp? f64 bf16", "=~0 ~1", P::special},
    {cvt, "rn|rz|rm|rp f16 bf16", "=~0 ~1", P::half, 2},
    {cvt, "rn|rz|rm|rp bf16 f16", "=~0 ~1", P::half, 2},
    {cvt, "rni|rzi|rmi|rpi? bf16 bf16", "=~0 ~1", P::special},
    {cvt, "rni|rzi|rmi|rpi? ftz? sat? f32 f32", "=~0 ~1", P::special},
    {cvt, "rni|rzi|rmi|rpi? sat? f64 f64", "=~0 ~1", P::special},
    {cvt, "rni|rzi|rmi|rpi? ftz? sat? f16 f16", "=~0 ~1", P::special},
    {cvt, "rn|rz|rm|rp ftz? sat? f32 f64", "=~0 ~1", P::special},
    {cvt, "rn|rz|rm|rp ftz? sat? f16 f32", "=~0 ~1", P::half},
    {cvt, "rn|rz|rm|rp ftz? sat? f16 f64", "=~0 ~1", P::special},
    {cvt, "rn|rz relu? satfinite? f16|bf16 f32", "=~0 ~1", P::half},
    {cvt, "rn|rz satfinite relu f16|bf16 f32", "=~0 ~1", P::half},
    {cvt, "rn|rz ftz bf16 f32", "=~0 ~1", P::half},
    {cvt, "rm|rp ftz? bf16 f32", "=~0 ~1", P::special},
    {cvt, "rn|rz|rm|rp bf16 f64", "=~0 ~1", P::special},
    {cvt, "rn|rz relu? satfinite? f16x2|bf16x2 f32", "=0 1 1", P::half, 1, &Generation::has_packed_conversion, 3},
    {cvt, "rn|rz satfinite relu f16x2|bf16x2 f32", "=0 1 1", P::half, 1, &Generation::has_packed_conversion, 3},
    {cvt, "rn|rz relu? tf32 f32", "=b32 1", P::integer, 3},
    {cvt, "rna satfinite? tf32 f32", "=b32 1", P::integer, 3},
    {cvt, "rn satfinite relu? e4m3x2|e5m2x2 f32", "=b16 1 1", P::half, 1, &Generation::has_fp8, 40},
    {cvt, "rn relu satfinite e4m3x2|e5m2x2 f32", "=b16 1 1", P::half, 1, &Generation::has_fp8, 40},
    {cvt, "rn satfinite relu? e4m3x2|e5m2x2 f16x2", "=b16 1", P::half, 1, &Generation::has_fp8, 40},
    {cvt, "rn relu satfinite e4m3x2|e5m2x2 f16x2", "=b16 1", P::half, 1, &Generation::has_fp8, 40},
    {cvt, "rn relu? f16x2 e4m3x2|e5m2x2", "=0 b16", P::half, 1, &Generation::has_fp8, 20},
    // Formats of 6 and 4 bits and scales (sm_100a, sm_120a): one operation each is an assumption.
    {cvt, "rn satfinite relu? e2m1x2 f32", "=~b8 1 1", P::half},
    {cvt, "rn satfinite relu? e2m3x2|e3m2x2 f32", "=b16 1 1", P::half},
    {cvt, "rn relu? f16x2 e2m1x2", "=0 ~b8", P::half},
    {cvt, "rn relu? f16x2 e2m3x2|e3m2x2", "=0 b16", P::half},
    {cvt, "rz|rp satfinite? ue8m0x2 f32", "=b16 1 1", P::half},
    {cvt, "rz|rp satfinite? ue8m0x2 bf16x2", "=b16 1", P::half},
    {cvt, "rn bf16x2 ue8m0x2", "=0 b16", P::half},
    {cvt, "rs relu? satfinite? f16x2|bf16x2 f32", "=0 1 1 b32", P::half},
    {cvt, "rs relu? satfinite e4m3x4|e5m2x4|e2m3x4|e3m2x4 f32", "=b32 f32*4 b32", P::half},
    {cvt, "rs relu? satfinite e2m1x4 f32", "=b16 f32*4 b32", P::half},
    {cvt, "pack sat u16|s16 s32", "=b32 s32 s32"},
    {cvt, "pack sat u8|s8|u4|s4|u2|s2 s32 b32", "=b32 s32 s32 b32"},
};
// clang-format on

}  // namespace heddle::ptx::forms
