// exp, log, tanh, sigmoid and erf in f32, from the special function unit (ex2, lg2, rcp) and polynomials.
#include "workloads/kernels/expression_code.h"

namespace heddle::kernels {
namespace {

/// Horner's rule with immediates; coefficients from the highest power down.
Reg polynomial(PtxWriter& w, const Reg& x, std::initializer_list<double> coefficients) {
    Reg value;
    for (const double coefficient : coefficients) {
        value = value.empty() ? w.constant_f32(coefficient)
                              : w.make_f32("fma.rn.f32", value, x, f32_immediate(coefficient));
    }
    return value;
}

}  // namespace

Reg emit_exponential(PtxWriter& w, const Reg& x) {
    // n = floor(x * log2(e)) clamped to -126 ... 126, found in the low bits of a large float, plus the bias
    // of the exponent; exp(x) = 2^(x * log2(e) - n) * 2^n. A saturating FMA does the clamping. Infinite and
    // huge x pass through the fraction and give 0 or infinity, NaN gives NaN.
    const Reg scaled =
        w.make_f32("fma.rn.sat.f32", x, f32_immediate(1.4426950408889634 / 252), f32_immediate(0.5));
    const Reg biased = w.make_f32("fma.rm.f32", scaled, f32_immediate(252), f32_immediate(12582913));
    const Reg negative_n = w.make_f32("sub.rn.f32", f32_immediate(12583039), biased);
    const Reg coarse = w.make_f32("fma.rn.f32", x, f32_immediate(1.4426950216293335), negative_n);
    const Reg fraction = w.make_f32("fma.rn.f32", x, f32_immediate(1.9259629911266175e-8), coarse);
    const Reg power = w.make_f32("ex2.approx.ftz.f32", fraction);
    const Reg bits = w.b32();
    w.op("mov.b32", bits, biased);
    const Reg scale = w.f32();
    w.op("mov.b32", scale, w.make_b32("shl.b32", bits, 23));
    return w.make_f32("mul.rn.f32", power, scale);
}

Reg emit_logarithm(PtxWriter& w, const Reg& x) {
    return w.make_f32("mul.rn.f32", w.make_f32("lg2.approx.f32", x), f32_immediate(0.6931471805599453));
}

Reg emit_sigmoid(PtxWriter& w, const Reg& x) {
    const Reg exponential = emit_exponential(w, w.make_f32("neg.f32", x));
    return w.make_f32("rcp.approx.ftz.f32", w.make_f32("add.rn.f32", exponential, f32_immediate(1)));
}

Reg emit_hyperbolic_tangent(PtxWriter& w, const Reg& x) {
    const Reg magnitude = w.make_f32("abs.f32", x);
    // |x| > 0.6: 1 - 2 / (exp(2 |x|) + 1), with the sign of x.
    const Reg doubled = w.make_f32("mul.rn.f32", magnitude, f32_immediate(2.8853900817779268));
    const Reg power = w.make_f32("ex2.approx.ftz.f32", doubled);
    const Reg inverse = w.make_f32("rcp.approx.ftz.f32", w.make_f32("add.rn.f32", power, f32_immediate(1)));
    const Reg positive = w.make_f32("fma.rn.f32", inverse, f32_immediate(-2), f32_immediate(1));
    const Reg large = w.make_f32("copysign.f32", x, positive);
    // |x| <= 0.6: x + x^3 P(x^2), P by Chebyshev interpolation on [0, 0.36], relative error 1.1e-8.
    const Reg square = w.make_f32("mul.rn.f32", x, x);
    const Reg series = polynomial(w, square,
                                  {-0.006269119728485918, 0.02111095905763941, -0.05387394885124252,
                                   0.13332915367021356, -0.33333330332733085});
    const Reg small = w.make_f32("fma.rn.f32", w.make_f32("mul.rn.f32", series, square), x, x);
    const Reg is_large = w.make_predicate("setp.gt.f32", magnitude, f32_immediate(0.6));
    return w.make_f32("selp.f32", large, small, is_large);
}

Reg emit_error_function(PtxWriter& w, const Reg& x) {
    const Reg magnitude = w.make_f32("abs.f32", x);
    // |x| < 1: x P(x^2), P by Chebyshev interpolation on [0, 1], relative error 1.4e-9.
    const Reg square = w.make_f32("mul.rn.f32", x, x);
    const Reg series =
        polynomial(w, square,
                   {7.875875050430342e-05, -0.0008016864283299621, 0.0051890874229765785,
                    -0.02685421201037881, 0.11283594715154313, -0.3761262666671985, 1.1283791658483509});
    const Reg small = w.make_f32("mul.rn.f32", series, x);
    // |x| >= 1: 1 - 2^Q(|x|), Q = log2(erfc) by Chebyshev interpolation on [1, 4], absolute error 5.2e-8;
    // erfc(4) is below half an ulp of 1.
    const Reg clamped = w.make_f32("min.f32", magnitude, f32_immediate(4));
    const Reg exponent = polynomial(
        w, clamped,
        {-1.914797056501248e-05, 0.00045724347060529407, -0.004951836315394514, 0.03261180779272764,
         -0.1490031561752864, -0.9220859228361401, -1.6243211888977447, -0.0011049569289605537});
    const Reg complement = w.make_f32("ex2.approx.ftz.f32", exponent);
    const Reg positive = w.make_f32("sub.rn.f32", f32_immediate(1), complement);
    const Reg large = w.make_f32("copysign.f32", x, positive);
    // NaN takes the polynomial.
    const Reg is_large = w.make_predicate("setp.ge.f32", magnitude, f32_immediate(1));
    return w.make_f32("selp.f32", large, small, is_large);
}

}  // namespace heddle::kernels
