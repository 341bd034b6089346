// Arithmetic of an expression::Expression as PTX, on registers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/expression/expression.h"
#include "workloads/kernels/memory_access.h"

namespace heddle::kernels {

/// Writes the instructions of one expression, once per element. Scalars and negated scalars are set up once.
///
/// Precision (f32): + - * / sqrt and reciprocal are correctly rounded, except that a product that feeds one
/// sum is fused with it (as nvcc does by default); exp and sigmoid are within 2 and 4 ulp; tanh within 4 ulp;
/// erf within 3e-7 absolute; rsqrt within 2 ulp; log within 2 ulp outside (0.5, 2) and 2^-21 absolute inside.
/// f64 has no exp, log, tanh, sigmoid and erf: heddle::Error.
class ExpressionCode {
  public:
    /// `scalars`: one register of the compute type per scalar of the expression.
    ExpressionCode(PtxWriter& w, const expression::Expression& expression, ComputeType compute,
                   std::vector<Reg> scalars);

    /// One element. `inputs[i]` holds x<i> (unused ones may be empty); `element` is a b32 register with the
    /// element's index, needed when the expression uses random() or position. Returns the registers of y0,
    /// y1, ...
    std::vector<Reg> emit(const std::vector<Reg>& inputs, const Reg& element = {});

    /// Whether input x<index> is read at all.
    static bool reads_input(const expression::Expression& expression, unsigned index);
    /// random() or position.
    static bool uses_element(const expression::Expression& expression);
    /// exp, log, tanh, sigmoid or erf.
    static bool uses_transcendental(const expression::Expression& expression);

  private:
    struct Value {
        Reg reg;
        Reg predicate;  // of a comparison that has not become a number
    };
    std::string suffix() const { return compute_ == ComputeType::f32 ? ".f32" : ".f64"; }
    std::string immediate(double value) const;
    Reg make(const std::string& opcode, const Reg& a, const Reg& b = {}, const Reg& c = {});
    const Reg& number(int node);
    Reg negated(int node);
    bool is_uniform(int node) const;
    Reg fused(const expression::Node& node);
    /// Products that are fused into their only sum, and not computed on their own.
    std::vector<bool> folded() const;
    Reg random(unsigned stream, const Reg& element);
    Reg philox(unsigned stream, const Reg& element);
    Reg transcendental(const expression::Node& node);
    Reg comparison(const expression::Node& node);
    Reg selection(const expression::Node& node);
    Reg arithmetic(const expression::Node& node);
    Value value_of(const expression::Node& node, const std::vector<Reg>& inputs, const Reg& element);
    void need_element(const Reg& element) const;

    PtxWriter& w_;
    const expression::Expression& expression_;
    ComputeType compute_;
    std::vector<Reg> scalars_;
    std::vector<unsigned> uses_;
    std::map<unsigned, Reg> negated_scalars_;
    std::vector<Value> values_;
};

/// exp(x), tanh(x), ... of f32 registers with the precision stated above; for kernels that are not
/// expressions.
Reg emit_exponential(PtxWriter& w, const Reg& x);
Reg emit_logarithm(PtxWriter& w, const Reg& x);
Reg emit_hyperbolic_tangent(PtxWriter& w, const Reg& x);
Reg emit_sigmoid(PtxWriter& w, const Reg& x);
Reg emit_error_function(PtxWriter& w, const Reg& x);

/// y0 = x0
expression::Expression identity_expression();

}  // namespace heddle::kernels
