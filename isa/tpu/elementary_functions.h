// exp, log, tanh, erf and friends of the vector unit.
//
// Computed in double with plain IEEE operations only, then rounded to fp32, so that every machine that runs
// the simulator gives the same bits (the C library's functions differ between versions and processors). The
// result is nearly always the correctly rounded one; a real TPU's approximations are unpublished.
#pragma once

#include <cstdint>

namespace heddle::tpu {

/// Each takes and returns fp32 and computes in double, as the top of this file says; NaN gives NaN.
float exponential(float x);
float logarithm(float x);
float hyperbolic_tangent(float x);
float sigmoid(float x);
float error_function(float x);

/// The counter-based uniform number in [0, 1) of (stream, element): a multiple of 2^-24. The same generator
/// as random() of elementwise expressions.
float random_uniform(std::uint64_t stream, std::uint64_t element);

}  // namespace heddle::tpu
