// The instruction table: comparison and selection. Notation: instruction_table.h.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
inline constexpr InstructionForm kComparisonForms[] = {
    {setp, "eq|ne|lt|le|gt|ge s16|s32", "=pred |=pred? 0 0"},
    {setp, "eq|ne|lt|le|gt|ge s64", "=pred |=pred? 0 0", P::integer, 2},
    {setp, "eq|ne|lt|le|gt|ge|lo|ls|hi|hs u16|u32", "=pred |=pred? 0 0"},
    {setp, "eq|ne|lt|le|gt|ge|lo|ls|hi|hs u64", "=pred |=pred? 0 0", P::integer, 2},
    {setp, "eq|ne b16|b32", "=pred |=pred? 0 0"},
    {setp, "eq|ne b64", "=pred |=pred? 0 0", P::integer, 2},
    {setp, "eq|ne|lt|le|gt|ge and|or|xor s16|s32", "=pred |=pred? 0 0 !pred"},
    {setp, "eq|ne|lt|le|gt|ge and|or|xor s64", "=pred |=pred? 0 0 !pred", P::integer, 2},
    {setp, "eq|ne|lt|le|gt|ge|lo|ls|hi|hs and|or|xor u16|u32", "=pred |=pred? 0 0 !pred"},
    {setp, "eq|ne|lt|le|gt|ge|lo|ls|hi|hs and|or|xor u64", "=pred |=pred? 0 0 !pred", P::integer, 2},
    {setp, "eq|ne and|or|xor b16|b32", "=pred |=pred? 0 0 !pred"},
    {setp, "eq|ne and|or|xor b64", "=pred |=pred? 0 0 !pred", P::integer, 2},
    {setp, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz? f32", "=pred |=pred? 0 0", P::fp32},
    {setp, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor ftz? f32", "=pred |=pred? 0 0 !pred", P::fp32},
    {setp, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan f64", "=pred |=pred? 0 0", P::fp64},
    {setp, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor f64", "=pred |=pred? 0 0 !pred", P::fp64},
    {setp, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz? f16", "=pred |=pred? 0 0", P::half},
    {setp, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan bf16", "=pred |=pred? 0 0", P::half},
    {setp, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz? f16x2", "=pred |=pred 0 0", P::half},
    {setp, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan bf16x2", "=pred |=pred 0 0", P::half},
    {set, "eq|ne|lt|le|gt|ge u32|s32|f32 s16|s32", "=0 1 1", P::integer, 2},
    {set, "eq|ne|lt|le|gt|ge u32|s32|f32 s64", "=0 1 1", P::integer, 3},
    {set, "eq|ne|lt|le|gt|ge|lo|ls|hi|hs u32|s32|f32 u16|u32", "=0 1 1", P::integer, 2},
    {set, "eq|ne|lt|le|gt|ge|lo|ls|hi|hs u32|s32|f32 u64", "=0 1 1", P::integer, 3},
    {set, "eq|ne u32|s32|f32 b16|b32", "=0 1 1", P::integer, 2},
    {set, "eq|ne u32|s32|f32 b64", "=0 1 1", P::integer, 3},
    {set, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz? u32|s32|f32 f32", "=0 1 1", P::fp32},
    {set, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan u32|s32|f32 f64", "=0 1 1", P::fp64, 2},
    {set, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz? f16 f16", "=0 1 1", P::half},
    {set, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan bf16 bf16", "=0 1 1", P::half},
    {set, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz? f16x2 f16x2", "=0 1 1", P::half},
    {set, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan bf16x2 bf16x2", "=0 1 1", P::half},
    {set, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz? u32|s32 f16x2", "=0 1 1", P::half, 2},
    {set, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan u32|s32 bf16x2", "=0 1 1", P::half, 2},
    {set, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz? u32|s32 f16", "=0 1 1", P::half, 2},
    {set, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan u32|s32 bf16", "=0 1 1", P::half, 2},
    {selp, "b16|u16|s16|f16|bf16|b32|u32|s32|f32", "=0 0 0 pred"},
    {selp, "b64|u64|s64|f64", "=0 0 0 pred", P::integer, 2},
    {slct, "b16|u16|s16|b32|u32|s32|f32 s32", "=0 0 0 1", P::integer, 2},
    {slct, "b64|u64|s64|f64 s32", "=0 0 0 1", P::integer, 3},
    {slct, "ftz? b16|u16|s16|b32|u32|s32|f32 f32", "=0 0 0 1", P::fp32, 2},
    {slct, "ftz? b64|u64|s64|f64 f32", "=0 0 0 1", P::fp32, 3},
};
// clang-format on

}  // namespace heddle::ptx::forms
