// Symbolic derivative of an Expression: the gradient of every elementwise op comes from here.
#pragma once

#include "workloads/expression/expression.h"

namespace heddle::expression {

/// The vector-Jacobian product towards one input: y0 = sum over outputs k of g_k * d y_k / d x_input.
/// The result reads x0 ... x(n-1), the inputs of `expression` in its own order, and then x(n+k) = g_k, the
/// gradient of its output k; scalars keep their numbers. floor and comparisons have derivative 0; max(a, b)
/// passes the gradient to a when a > b and otherwise to b, so that max(x, 0) has derivative 0 at 0, and abs
/// has derivative 0 at 0.
Expression gradient(const Expression& expression, unsigned input);

/// Computes the gradients towards several inputs at once: output i is the gradient of input inputs[i].
Expression gradients(const Expression& expression, const std::vector<unsigned>& inputs);

/// Renumbers the inputs of an expression: input i becomes new_index[i].
Expression renumber_inputs(const Expression& expression, const std::vector<unsigned>& new_index);

}  // namespace heddle::expression
