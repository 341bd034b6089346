// The instruction table: single and double precision. Notation: instruction_table.h.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
inline constexpr InstructionForm kFloatForms[] = {
    {add, "rn|rz|rm|rp? ftz? sat? f32", "=0 0 0", P::fp32},
    {add, "rn|rz|rm|rp? f64", "=0 0 0", P::fp64},
    // Of .f32x2 (sm_100): FADD2, FMUL2, FFMA2. Two operations for the two elements is an assumption.
    {add, "rn|rz|rm|rp? ftz? f32x2", "=0 0 0", P::fp32, 2},
    {sub, "rn|rz|rm|rp? ftz? sat? f32", "=0 0 0", P::fp32},
    {sub, "rn|rz|rm|rp? f64", "=0 0 0", P::fp64},
    {sub, "rn|rz|rm|rp? ftz? f32x2", "=0 0 0", P::fp32, 2},
    {mul, "rn|rz|rm|rp? ftz? sat? f32", "=0 0 0", P::fp32},
    {mul, "rn|rz|rm|rp? f64", "=0 0 0", P::fp64},
    {mul, "rn|rz|rm|rp? ftz? f32x2", "=0 0 0", P::fp32, 2},
    {fma, "rn|rz|rm|rp ftz? sat? f32", "=0 0 0 0", P::fp32},
    {fma, "rn|rz|rm|rp f64", "=0 0 0 0", P::fp64},
    {fma, "rn|rz|rm|rp ftz? f32x2", "=0 0 0 0", P::fp32, 2},
    {mad, "rn|rz|rm|rp ftz? sat? f32", "=0 0 0 0", P::fp32},
    {mad, "rn|rz|rm|rp f64", "=0 0 0 0", P::fp64},
    {div, "approx ftz f32", "=0 0 0", P::fp32, 2},
    {div, "approx f32", "=0 0 0", P::fp32, 5},
    {div, "full ftz? f32", "=0 0 0", P::fp32, 8},
    // A V100 does 12.55 multiplications in the time of a division (measured; NVIDIA developer forum, topic
    // 168371): MUFU.RCP and FCHK, which are slow, five FFMA, and the branch around the
    // rare cases.
    {div, "rn|rz|rm|rp ftz? f32", "=0 0 0", P::fp32, 13},
    {div, "rn|rz|rm|rp f64", "=0 0 0", P::fp64, 14},
    {abs, "ftz? f32", "=0 0", P::fp32},
    {abs, "f64", "=0 0", P::fp64},
    {neg, "ftz? f32", "=0 0", P::fp32},
    {neg, "f64", "=0 0", P::fp64},
    {min, "ftz? NaN? f32", "=0 0 0", P::fp32},
    {min, "ftz? NaN? xorsign abs f32", "=0 0 0", P::fp32},
    {min, "f64", "=0 0 0", P::fp64, 7},
    {max, "ftz? NaN? f32", "=0 0 0", P::fp32},
    // Of three (sm_100): FMNMX3.
    {min, "ftz? NaN? abs? f32", "=0 0 0 0", P::fp32},
    {max, "ftz? NaN? abs? f32", "=0 0 0 0", P::fp32},
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
};
// clang-format on

}  // namespace heddle::ptx::forms
