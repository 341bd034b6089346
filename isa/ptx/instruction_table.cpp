#include "isa/ptx/instruction_table.h"

#include <algorithm>
#include <array>
#include <vector>

namespace heddle::ptx {
namespace {

using enum Opcode;
using P = Pipeline;

// Machine operations: what ptxas 13.0 -O3 emits for sm_80 and sm_90, counted in the machine code of chains of
// the instruction. Of sequences with a rare slow path (division, square root, reciprocal) the part that runs
// for ordinary numbers is counted; those that call a subroutine (16-bit and 64-bit division) are estimates.
// The pipeline is the one that does most of the work.
// clang-format off
constexpr InstructionForm kTable[] = {
    // Integer arithmetic
    {add, "u16|s16", "=0 0 0"},
    {add, "sat s32", "=0 0 0", P::integer, 5},
    {add, "u32|s32", "=0 0 0"},
    {add, "u64|s64", "=0 0 0", P::integer, 2},
    {add, "cc u32|s32", "=0 0 0 =cc"},
    {add, "cc u64|s64", "=0 0 0 =cc", P::integer, 2},
    {addc, "u32|s32", "=0 0 0 cc"},
    {addc, "u64|s64", "=0 0 0 cc", P::integer, 2},
    {addc, "cc u32|s32", "=0 0 0 cc =cc"},
    {addc, "cc u64|s64", "=0 0 0 cc =cc", P::integer, 2},
    {sub, "u16|s16", "=0 0 0"},
    {sub, "sat s32", "=0 0 0", P::integer, 5},
    {sub, "u32|s32", "=0 0 0"},
    {sub, "u64|s64", "=0 0 0", P::integer, 2},
    {sub, "cc u32|s32", "=0 0 0 =cc"},
    {sub, "cc u64|s64", "=0 0 0 =cc", P::integer, 2},
    {subc, "u32|s32", "=0 0 0 cc"},
    {subc, "u64|s64", "=0 0 0 cc", P::integer, 2},
    {subc, "cc u32|s32", "=0 0 0 cc =cc"},
    {subc, "cc u64|s64", "=0 0 0 cc =cc", P::integer, 2},
    {mul, "lo u16|s16", "=0 0 0", P::integer, 2},
    {mul, "lo u32|s32", "=0 0 0"},
    {mul, "hi u16|s16", "=0 0 0", P::integer, 2},
    {mul, "hi u32|s32", "=0 0 0"},
    {mul, "wide u16|s16", "=w 0 0", P::integer, 3},
    {mul, "wide u32|s32", "=w 0 0"},
    {mul, "lo u64|s64", "=0 0 0", P::integer, 4},
    {mul, "hi u64", "=0 0 0", P::integer, 7},
    {mul, "hi s64", "=0 0 0", P::integer, 16},
    {mad, "lo u16|s16", "=0 0 0 0", P::integer, 2},
    {mad, "lo u32|s32", "=0 0 0 0"},
    {mad, "hi u16|s16", "=0 0 0 0", P::integer, 2},
    {mad, "hi u32|s32", "=0 0 0 0"},
    {mad, "hi sat s32", "=0 0 0 0", P::integer, 4},
    {mad, "wide u16|s16", "=w 0 0 w", P::integer, 3},
    {mad, "wide u32|s32", "=w 0 0 w"},
    {mad, "lo u64|s64", "=0 0 0 0", P::integer, 4},
    {mad, "hi u64", "=0 0 0 0", P::integer, 7},
    {mad, "hi s64", "=0 0 0 0", P::integer, 16},
    {mad, "lo|hi cc u32|s32", "=0 0 0 0 =cc", P::integer, 2},
    {madc, "lo|hi u32|s32", "=0 0 0 0 cc", P::integer, 2},
    {madc, "lo|hi cc u32|s32", "=0 0 0 0 cc =cc", P::integer, 2},
    {mul24, "lo u32|s32", "=0 0 0", P::integer, 2},
    {mul24, "hi u32|s32", "=0 0 0", P::integer, 4},
    {mad24, "lo u32|s32", "=0 0 0 0", P::integer, 2},
    {mad24, "hi u32|s32", "=0 0 0 0", P::integer, 5},
    {sad, "u16|s16", "=0 0 0 0", P::integer, 2},
    {sad, "u32|s32", "=0 0 0 0"},
    {sad, "u64|s64", "=0 0 0 0", P::integer, 10},
    {dp4a, "u32|s32 u32|s32", "=s32 0 1 s32"},
    {dp2a, "lo|hi u32|s32 u32|s32", "=s32 0 1 s32"},
    {div, "u16|s16", "=0 0 0", P::integer, 14},
    {div, "u32", "=0 0 0", P::integer, 18},
    {div, "s32", "=0 0 0", P::integer, 24},
    {div, "u64|s64", "=0 0 0", P::integer, 80},
    {rem, "u16|s16", "=0 0 0", P::integer, 14},
    {rem, "u32", "=0 0 0", P::integer, 17},
    {rem, "s32", "=0 0 0", P::integer, 21},
    {rem, "u64|s64", "=0 0 0", P::integer, 80},
    {min, "u16|s16|u32|s32", "=0 0 0"},
    {min, "u64|s64", "=0 0 0", P::integer, 4},
    {max, "u16|s16|u32|s32", "=0 0 0"},
    {max, "u64|s64", "=0 0 0", P::integer, 4},
    {abs, "s16|s32", "=0 0"},
    {abs, "s64", "=0 0", P::integer, 5},
    {neg, "s16|s32", "=0 0"},
    {neg, "s64", "=0 0", P::integer, 2},

    // Logic, shifts, bit fields
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
    {bfind, "shiftamt? u32|s32", "=u32 0", P::special},
    {bfind, "shiftamt? u64|s64", "=u32 0", P::special, 4},
    {popc, "b32", "=u32 0", P::special},
    {popc, "b64", "=u32 0", P::special, 3},
    {clz, "b32", "=u32 0", P::special, 2},
    {clz, "b64", "=u32 0", P::special, 5},
    {brev, "b32", "=0 0", P::special},
    {brev, "b64", "=0 0", P::special, 2},
    {prmt, "b32 f4e|b4e|rc8|ecl|ecr|rc16?", "=b32 b32 b32 b32"},

    // Comparison and selection
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
    {set, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz? u32|s32 f16", "=0 1 1", P::half, 2},
    {set, "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan u32|s32 bf16", "=0 1 1", P::half, 2},
    {selp, "b16|u16|s16|f16|bf16|b32|u32|s32|f32", "=0 0 0 pred"},
    {selp, "b64|u64|s64|f64", "=0 0 0 pred", P::integer, 2},
    {slct, "b16|u16|s16|b32|u32|s32|f32 s32", "=0 0 0 1", P::integer, 2},
    {slct, "b64|u64|s64|f64 s32", "=0 0 0 1", P::integer, 3},
    {slct, "ftz? b16|u16|s16|b32|u32|s32|f32 f32", "=0 0 0 1", P::fp32, 2},
    {slct, "ftz? b64|u64|s64|f64 f32", "=0 0 0 1", P::fp32, 3},

    // Single and double precision
    {add, "rn|rz|rm|rp? ftz? sat? f32", "=0 0 0", P::fp32},
    {add, "rn|rz|rm|rp? f64", "=0 0 0", P::fp64},
    {sub, "rn|rz|rm|rp? ftz? sat? f32", "=0 0 0", P::fp32},
    {sub, "rn|rz|rm|rp? f64", "=0 0 0", P::fp64},
    {mul, "rn|rz|rm|rp? ftz? sat? f32", "=0 0 0", P::fp32},
    {mul, "rn|rz|rm|rp? f64", "=0 0 0", P::fp64},
    {fma, "rn|rz|rm|rp ftz? sat? f32", "=0 0 0 0", P::fp32},
    {fma, "rn|rz|rm|rp f64", "=0 0 0 0", P::fp64},
    {mad, "rn|rz|rm|rp ftz? sat? f32", "=0 0 0 0", P::fp32},
    {mad, "rn|rz|rm|rp f64", "=0 0 0 0", P::fp64},
    {div, "approx ftz f32", "=0 0 0", P::fp32, 2},
    {div, "approx f32", "=0 0 0", P::fp32, 5},
    {div, "full ftz? f32", "=0 0 0", P::fp32, 8},
    {div, "rn|rz|rm|rp ftz? f32", "=0 0 0", P::fp32, 10},
    {div, "rn|rz|rm|rp f64", "=0 0 0", P::fp64, 14},
    {abs, "ftz? f32", "=0 0", P::fp32},
    {abs, "f64", "=0 0", P::fp64},
    {neg, "ftz? f32", "=0 0", P::fp32},
    {neg, "f64", "=0 0", P::fp64},
    {min, "ftz? NaN? f32", "=0 0 0", P::fp32},
    {min, "ftz? NaN? xorsign abs f32", "=0 0 0", P::fp32},
    {min, "f64", "=0 0 0", P::fp64, 7},
    {max, "ftz? NaN? f32", "=0 0 0", P::fp32},
    {max, "ftz? NaN? xorsign abs f32", "=0 0 0", P::fp32},
    {max, "f64", "=0 0 0", P::fp64, 7},
    {copysign, "f32", "=0 0 0"},
    {copysign, "f64", "=0 0 0"},
    {testp, "finite|infinite|number|notanumber|normal|subnormal f32", "=pred 0", P::fp32, 2},
    {testp, "finite|infinite|number|notanumber|normal|subnormal f64", "=pred 0", P::fp64, 2},
    {rcp, "approx ftz f32", "=0 0", P::special},
    {rcp, "approx f32", "=0 0", P::special, 6},
    {rcp, "rn|rz|rm|rp ftz? f32", "=0 0", P::fp32, 8},
    {rcp, "approx ftz f64", "=0 0", P::special},
    {rcp, "rn|rz|rm|rp f64", "=0 0", P::fp64, 9},
    {sqrt, "approx ftz f32", "=0 0", P::special},
    {sqrt, "approx f32", "=0 0", P::special, 4},
    {sqrt, "rn|rz|rm|rp ftz? f32", "=0 0", P::fp32, 10},
    {sqrt, "rn|rz|rm|rp f64", "=0 0", P::fp64, 14},
    {rsqrt, "approx ftz f32", "=0 0", P::special},
    {rsqrt, "approx f32", "=0 0", P::special, 4},
    {rsqrt, "approx f64", "=0 0", P::fp64, 12},
    {rsqrt, "approx ftz f64", "=0 0", P::special},
    {sin, "approx ftz? f32", "=0 0", P::special, 2},
    {cos, "approx ftz? f32", "=0 0", P::special, 2},
    {lg2, "approx ftz f32", "=0 0", P::special},
    {lg2, "approx f32", "=0 0", P::special, 4},
    {ex2, "approx ftz f32", "=0 0", P::special},
    {ex2, "approx f32", "=0 0", P::special, 4},
    {ex2, "approx f16", "=0 0", P::special},
    {ex2, "approx f16x2", "=0 0", P::special, 2},
    {ex2, "approx ftz bf16", "=0 0", P::special},
    {ex2, "approx ftz bf16x2", "=0 0", P::special, 2},
    {tanh, "approx f32|f16|bf16", "=0 0", P::special},
    {tanh, "approx f16x2|bf16x2", "=0 0", P::special, 2},

    // Half precision and bfloat16
    {add, "rn? ftz? sat? f16|f16x2", "=0 0 0", P::half},
    {add, "rn? bf16|bf16x2", "=0 0 0", P::half},
    {sub, "rn? ftz? sat? f16|f16x2", "=0 0 0", P::half},
    {sub, "rn? bf16|bf16x2", "=0 0 0", P::half},
    {mul, "rn? ftz? sat? f16|f16x2", "=0 0 0", P::half},
    {mul, "rn? bf16|bf16x2", "=0 0 0", P::half},
    {fma, "rn ftz? sat? f16|f16x2", "=0 0 0 0", P::half},
    {fma, "rn ftz? relu f16|f16x2", "=0 0 0 0", P::half},
    {fma, "rn relu? bf16|bf16x2", "=0 0 0 0", P::half},
    {abs, "ftz? f16|f16x2", "=0 0", P::half},
    {abs, "bf16|bf16x2", "=0 0", P::half},
    {neg, "ftz? f16|f16x2", "=0 0", P::half},
    {neg, "bf16|bf16x2", "=0 0", P::half},
    {min, "ftz? NaN? f16|f16x2", "=0 0 0", P::half},
    {min, "NaN? bf16|bf16x2", "=0 0 0", P::half},
    {max, "ftz? NaN? f16|f16x2", "=0 0 0", P::half},
    {max, "NaN? bf16|bf16x2", "=0 0 0", P::half},

    // Conversion
    {cvt, "u64|s64 u32", "=~0 ~1", P::none, 0},  // the high half is the zero register
    {cvt, "u8|u16|u32|s8|s16|s32|u64|s64 u8|u16|u32|s8|s16|s32", "=~0 ~1"},
    {cvt, "u8|u16|u32|s8|s16|s32 u64|s64", "=~0 ~1", P::none, 0},  // the low half: a renaming
    {cvt, "u64|s64 u64|s64", "=~0 ~1", P::none, 0},
    {cvt, "sat u8|u16|u32|s8|s16|s32|u64|s64 u8|u16|u32|s8|s16|s32|u64|s64", "=~0 ~1", P::integer, 2},
    {cvt, "rni|rzi|rmi|rpi ftz? sat? u8|u16|u32|u64|s8|s16|s32|s64 f16|f32|f64", "=~0 ~1", P::special},
    {cvt, "rni|rzi|rmi|rpi ftz? sat? u8|u16|u32|u64|s8|s16|s32|s64 bf16", "=~0 ~1", P::special},
    {cvt, "rn|rz|rm|rp sat? f16|f32|f64 u8|u16|u32|u64|s8|s16|s32|s64", "=~0 ~1", P::special},
    {cvt, "rn|rz|rm|rp bf16 u8|u16|u32|u64|s8|s16|s32|s64", "=~0 ~1", P::special},
    {cvt, "ftz? sat? f32 f16", "=~0 ~1", P::half},
    {cvt, "ftz? f32 bf16", "=~0 ~1", P::integer},
    {cvt, "ftz? sat? f64 f16|f32", "=~0 ~1", P::special},
    {cvt, "f64 bf16", "=~0 ~1", P::special},
    {cvt, "rni|rzi|rmi|rpi? ftz? sat? f32 f32", "=~0 ~1", P::special},
    {cvt, "rni|rzi|rmi|rpi? sat? f64 f64", "=~0 ~1", P::special},
    {cvt, "rni|rzi|rmi|rpi? ftz? sat? f16 f16", "=~0 ~1", P::special},
    {cvt, "rn|rz|rm|rp ftz? sat? f32 f64", "=~0 ~1", P::special},
    {cvt, "rn|rz|rm|rp ftz? sat? f16 f32", "=~0 ~1", P::half},
    {cvt, "rn|rz|rm|rp ftz? sat? f16 f64", "=~0 ~1", P::special},
    {cvt, "rn|rz relu? satfinite? f16|bf16 f32", "=~0 ~1", P::half},
    {cvt, "rm|rp bf16 f32", "=~0 ~1", P::special},
    {cvt, "rn|rz|rm|rp bf16 f64", "=~0 ~1", P::special},
    {cvt, "rn|rz relu? satfinite? f16x2|bf16x2 f32", "=0 1 1", P::half, 1, 80, 3},
    {cvt, "rn|rz|rna relu? satfinite? tf32 f32", "=b32 1", P::integer, 3},
    {cvt, "rn satfinite relu? e4m3x2|e5m2x2 f32", "=b16 1 1", P::half, 1, 89, 40},
    {cvt, "rn satfinite relu? e4m3x2|e5m2x2 f16x2", "=b16 1", P::half, 1, 89, 40},
    {cvt, "rn relu? f16x2 e4m3x2|e5m2x2", "=0 b16", P::half, 1, 89, 20},

    // Moves and addresses
    {mov, "pred", "=0 0"},
    {mov, "b16|u16|s16|f16|bf16", "=0 0"},
    {mov, "b32|u32|s32|f32", "=0 @0"},
    {mov, "b64|u64|s64|f64", "=0 @0"},
    {mov, "b32", "=0 b16*2"},
    {mov, "b32", "=b16*2 0"},
    {mov, "b64", "=0 b32*2", P::none, 0},
    {mov, "b64", "=b32*2 0", P::none, 0},
    {mov, "b64", "=0 b16*4", P::integer, 2},
    {mov, "b64", "=b16*4 0", P::integer, 4},
    {cvta, "to? global|shared|shared::cta|local|const|param u32|u64", "=0 @0", P::none, 0},
    {isspacep, "global|shared|shared::cta|local|const", "=pred b64", P::integer, 2},

    // Memory
    {ld, "weak|volatile? param b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "=~0 [", P::none, 0},
    {ld, "weak|volatile? param v2|v4 b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "=~0v [", P::none, 0},
    {ld, "weak|volatile? const v2|v4? b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "=~0v [", P::load_store},
    {ld, "weak|volatile|relaxed|acquire? cta|cluster|gpu|sys? global|shared|shared::cta|local? ca|cg|cs|lu|cv? nc? "
         "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate? L2::64B|L2::128B|L2::256B? "
         "v2|v4? b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "=~0v [", P::load_store},
    {ldu, "global? v2|v4? b8|u8|s8|b16|u16|s16|b32|u32|s32|f32|b64|u64|s64|f64", "=~0v [", P::load_store},
    {st, "param v2|v4? b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "[ ~0v", P::none, 0},
    {st, "weak|volatile|relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta|local? wb|cg|cs|wt? "
         "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate? "
         "v2|v4? b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|b64|u64|s64|f64", "[ ~0v", P::load_store},
    {prefetch, "global|local? L1|L2", "[", P::load_store},
    {prefetchu, "L1", "[", P::load_store},
    {cp, "async ca|cg shared|shared::cta global L2::64B|L2::128B|L2::256B?", "[ [ imm u32?", P::load_store, 1, 80, 0},
    {cp, "async commit_group", "", P::load_store},
    {cp, "async wait_group", "imm", P::barrier},
    {cp, "async wait_all", "", P::barrier},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta? add u32|s32|u64|f32|f64", "=0 [ 0", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta? add noftz f16|f16x2|bf16|bf16x2", "=0 [ 0", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta? inc|dec u32", "=0 [ 0", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta? min|max u32|s32|u64|s64", "=0 [ 0", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta? and|or|xor b32|b64", "=0 [ 0", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta? exch b32|b64", "=0 [ 0", P::load_store},
    {atom, "relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta? cas b16|b32|b64", "=0 [ 0 0", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta? add u32|s32|u64|f32|f64", "[ 0", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta? add noftz f16|f16x2|bf16|bf16x2", "[ 0", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta? inc|dec u32", "[ 0", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta? min|max u32|s32|u64|s64", "[ 0", P::load_store},
    {red, "relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta? and|or|xor b32|b64", "[ 0", P::load_store},

    // Matrix
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

    // Warps
    {shfl, "sync up|down|bfly|idx b32", "=b32 |=pred? b32 b32 b32 b32", P::load_store},
    {vote, "sync all|any|uni pred", "=pred !pred b32"},
    {vote, "sync ballot b32", "=b32 !pred b32"},
    {activemask, "b32", "=b32"},
    {redux, "sync add|min|max u32|s32", "=0 0 b32", P::special, 2},
    {redux, "sync and|or|xor b32", "=0 0 b32", P::special, 2},
    {match, "any sync b32|b64", "=b32 0 b32", P::special},
    {match, "all sync b32|b64", "=b32 |=pred? 0 b32", P::special},

    // Control and synchronisation
    {bra, "uni?", "label", P::branch},
    {brx, "idx uni?", "u32 label", P::branch, 4},
    {ret, "uni?", "", P::branch},
    {exit, "", "", P::branch},
    {trap, "", "", P::branch},
    {nanosleep, "u32", "u32", P::branch},
    {bar, "cta? sync", "u32 u32?", P::barrier},
    {bar, "cta? arrive", "u32 u32", P::barrier},
    {bar, "cta? red popc u32", "=u32 u32 !pred", P::barrier, 2},
    {bar, "cta? red popc u32", "=u32 u32 u32 !pred", P::barrier, 2},
    {bar, "cta? red and|or pred", "=pred u32 !pred", P::barrier, 2},
    {bar, "cta? red and|or pred", "=pred u32 u32 !pred", P::barrier, 2},
    {bar, "warp sync", "b32", P::branch},
    {barrier, "cta? sync aligned?", "u32 u32?", P::barrier},
    {barrier, "cta? arrive aligned?", "u32 u32", P::barrier},
    {membar, "cta", "", P::barrier},
    {membar, "gl|gpu|sys", "", P::barrier, 3},
    {fence, "sc|acq_rel? cta", "", P::barrier},
    {fence, "sc|acq_rel? cluster|gpu|sys", "", P::barrier, 3},
};
// clang-format on

constexpr std::size_t kTableSize = sizeof(kTable) / sizeof(kTable[0]);

struct OpcodeIndex {
    std::array<InstructionForm, kTableSize> forms;
    std::array<std::uint16_t, kOpcodeCount + 1> first;
};

// The table above is ordered for readers; this is its stable sort by opcode.
constexpr OpcodeIndex build_index() {
    OpcodeIndex index{};
    std::size_t next = 0;
    for (std::size_t code = 0; code < kOpcodeCount; ++code) {
        index.first[code] = static_cast<std::uint16_t>(next);
        for (const InstructionForm& form : kTable) {
            if (static_cast<std::size_t>(form.opcode) == code) index.forms[next++] = form;
        }
    }
    index.first[kOpcodeCount] = static_cast<std::uint16_t>(next);
    return index;
}
constexpr OpcodeIndex kIndex = build_index();

StateSpace space_named(std::string_view word) {
    if (word == "global") return StateSpace::global;
    if (word == "shared" || word == "shared::cta") return StateSpace::shared;
    if (word == "local") return StateSpace::local;
    if (word == "param" || word == "param::entry") return StateSpace::parameter;
    if (word == "const") return StateSpace::constant;
    return StateSpace::none;
}

Type type_named(std::string_view word) {
    for (unsigned i = 1; i <= static_cast<unsigned>(Type::e5m2x2); ++i) {
        if (name_of(static_cast<Type>(i)) == word) return static_cast<Type>(i);
    }
    return Type::none;
}

Modifier modifier_named(std::string_view word) {
    for (std::size_t i = 1; i < kModifierCount; ++i) {
        if (name_of(static_cast<Modifier>(i)) == word) return static_cast<Modifier>(i);
    }
    return Modifier::none;
}

// Whether `word` is one of the alternatives of `group` ("rn|rz").
bool listed(std::string_view group, std::string_view word) {
    std::size_t start = 0;
    while (start <= group.size()) {
        const std::size_t bar = std::min(group.find('|', start), group.size());
        if (group.substr(start, bar - start) == word) return true;
        start = bar + 1;
    }
    return false;
}

void record(std::string_view suffix, Instruction& instruction) {
    if (const StateSpace space = space_named(suffix); space != StateSpace::none) {
        (instruction.space == StateSpace::none ? instruction.space : instruction.second_space) = space;
    } else if (const Type type = type_named(suffix); type != Type::none) {
        instruction.types.push_back(type);
    } else {
        instruction.modifiers.set(static_cast<std::size_t>(modifier_named(suffix)));
    }
}

// The word of `list` at `position`, which moves past it; "" at the end.
std::string_view next_word(std::string_view list, std::size_t& position) {
    while (position < list.size() && list[position] == ' ') ++position;
    const std::size_t end = std::min(list.find(' ', position), list.size());
    const std::string_view word = list.substr(position, end - position);
    position = end;
    return word;
}

OperandPattern parse_pattern(std::string_view word, const Instruction& instruction) {
    OperandPattern pattern;
    for (;; word.remove_prefix(1)) {
        const char c = word.front();
        if (c == '=')
            pattern.written = true;
        else if (c == '~')
            pattern.wider = true;
        else if (c == '|')
            pattern.paired = true;
        else if (c == '!')
            pattern.may_negate = true;
        else if (c == '@')
            pattern.may_be_variable = true;
        else
            break;
    }
    if (word.back() == '?') {
        pattern.optional = true;
        word.remove_suffix(1);
    }
    if (const std::size_t star = word.find('*'); star != std::string_view::npos) {
        pattern.elements = static_cast<std::uint8_t>(word[star + 1] - '0');
        word = word.substr(0, star);
    } else if (word.back() == 'v') {
        pattern.elements = instruction.has(Modifier::v2) ? 2 : instruction.has(Modifier::v4) ? 4 : 0;
        word.remove_suffix(1);
    } else if (word.back() == 'x') {
        pattern.elements = instruction.has(Modifier::x1) ? 1 : instruction.has(Modifier::x2) ? 2 : 4;
        word.remove_suffix(1);
    }
    pattern.vector = pattern.elements != 0;
    if (word == "[")
        pattern.address = true;
    else if (word == "label")
        pattern.label = true;
    else if (word == "imm")
        pattern.constant = true;
    else if (word == "cc")
        pattern.carry = true;
    else if (word == "w")
        pattern.doubled = true;
    else if (word.size() == 1)
        pattern.type_suffix = static_cast<std::uint8_t>(word[0] - '0');
    else
        pattern.type = type_named(word);
    return pattern;
}

Type twice(Type type) {
    switch (type) {
        case Type::u16:
            return Type::u32;
        case Type::s16:
            return Type::s32;
        case Type::u32:
            return Type::u64;
        default:
            return Type::s64;
    }
}

}  // namespace

std::span<const InstructionForm> instruction_table() {
    return kIndex.forms;
}

std::span<const InstructionForm> forms_of(Opcode opcode) {
    const auto code = static_cast<std::size_t>(opcode);
    return std::span(kIndex.forms).subspan(kIndex.first[code], kIndex.first[code + 1] - kIndex.first[code]);
}

std::size_t operand_patterns(const InstructionForm& form, const Instruction& instruction,
                             std::span<OperandPattern> patterns) {
    std::size_t count = 0, position = 0;
    while (count < patterns.size()) {
        const std::string_view word = next_word(form.operands, position);
        if (word.empty()) break;
        patterns[count++] = parse_pattern(word, instruction);
    }
    return count;
}

Type pattern_type(const OperandPattern& pattern, const Instruction& instruction) {
    if (pattern.carry) return Type::pred;
    if (pattern.doubled) return twice(instruction.type());
    if (pattern.type_suffix != 0xFF) return instruction.type(pattern.type_suffix);
    return pattern.type;
}

bool match_suffixes(const InstructionForm& form, std::span<const std::string_view> suffixes,
                    Instruction& instruction) {
    std::size_t used = 0, position = 0;
    for (;;) {
        std::string_view group = next_word(form.suffixes, position);
        if (group.empty()) break;
        const bool optional = group.back() == '?';
        if (optional) group.remove_suffix(1);
        if (used < suffixes.size() && listed(group, suffixes[used])) {
            ++used;
        } else if (!optional) {
            return false;
        }
    }
    if (used != suffixes.size()) return false;
    instruction.modifiers.reset();
    instruction.types.clear();
    instruction.space = instruction.second_space = StateSpace::none;
    for (const std::string_view suffix : suffixes) record(suffix, instruction);
    return true;
}

}  // namespace heddle::ptx
