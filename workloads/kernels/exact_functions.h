// Kernels whose every instruction has one right result.
//
// The special function unit (ex2, lg2, rcp, rsqrt, sqrt with .approx) is specified by bounds, not by results:
// its bits differ between a model and silicon, and may differ between generations. Everything else that the
// library's kernels do in floating point is correctly rounded. With the approximations replaced, two machines
// that follow the specification give the same bits.
#pragma once

#include <string>

namespace heddle::kernels {

/// Replaces ex2.approx, lg2.approx, rcp.approx, rsqrt.approx and sqrt.approx (.f32, with or without .ftz) in
/// a PTX text with one instruction per line by sequences of correctly rounded instructions:
///   rcp: rcp.rn;  sqrt: sqrt.rn;  rsqrt: rcp.rn of sqrt.rn
///   ex2: 2^n times a polynomial of degree 6 on [-0.5, 0.5]; 1 ulp, subnormal results rounded once
///   lg2: exponent plus a polynomial of degree 11 on [-0.25, 0.5]; 2^-22 absolute near 1, else 2 ulp
/// Zeros, infinities, subnormals and NaN give what IEEE functions give (.ftz is dropped). Throws
/// heddle::Error, with the line, when an approximation is left that it does not know.
std::string replace_approximations(const std::string& ptx);

}  // namespace heddle::kernels
