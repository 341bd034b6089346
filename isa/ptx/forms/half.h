// The instruction table: half precision and bfloat16. Notation: instruction_table.h.
#pragma once

#include "isa/ptx/forms/forms.h"

namespace heddle::ptx::forms {

// clang-format off
inline constexpr InstructionForm kHalfForms[] = {
    {add, "rn? ftz? sat? f16|f16x2", "=0 0 0", P::half},
    {add, "rn? bf16|bf16x2", "=0 0 0", P::half},
    {sub, "rn? ftz? sat? f16|f16x2", "=0 0 0", P::half},
    {sub, "rn? bf16|bf16x2", "=0 0 0", P::half},
    {mul, "rn? ftz? sat? f16|f16x2", "=0 0 0", P::half},
    {mul, "rn? bf16|bf16x2", "=0 0 0", P::half},
    {fma, "rn ftz? sat? f16|f16x2", "=0 0 0 0", P::half},
    {fma, "rn ftz? relu f16|f16x2", "=0 0 0 0", P::half},
    {fma, "rn relu? bf16|bf16x2", "=0 0 0 0", P::half},
    {fma, "rz|rm|rp relu? bf16|bf16x2", "=0 0 0 0", P::half, 2},
    {abs, "ftz? f16|f16x2", "=0 0", P::half},
    {abs, "bf16|bf16x2", "=0 0", P::half},
    {neg, "ftz? f16|f16x2", "=0 0", P::half},
    {neg, "bf16|bf16x2", "=0 0", P::half},
    {min, "ftz? NaN? f16|f16x2", "=0 0 0", P::half},
    {min, "NaN? bf16|bf16x2", "=0 0 0", P::half},
    {min, "ftz? NaN? xorsign abs f16|f16x2", "=0 0 0", P::half},
    {min, "NaN? xorsign abs bf16|bf16x2", "=0 0 0", P::half},
    {max, "ftz? NaN? f16|f16x2", "=0 0 0", P::half},
    {max, "NaN? bf16|bf16x2", "=0 0 0", P::half},
    {max, "ftz? NaN? xorsign abs f16|f16x2", "=0 0 0", P::half},
    {max, "NaN? xorsign abs bf16|bf16x2", "=0 0 0", P::half},
};
// clang-format on

}  // namespace heddle::ptx::forms
