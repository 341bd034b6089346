// Derived gradients against central differences of the executed forward pass.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "workloads/expression/expression.h"
#include "workloads/reference/execute.h"
#include "workloads/zoo/tape.h"

namespace heddle::zoo {

/// Records a forward pass: makes tensors to differentiate towards (pushed to `wanted`) and returns the
/// result.
using Record = std::function<TensorId(Tape&, std::vector<TensorId>& wanted)>;

inline TensorId variable(Tape& tape, const std::string& name, Shape shape, std::vector<TensorId>& wanted) {
    wanted.push_back(tape.external(name, ElementType::f64, std::move(shape), TensorRole::input));
    return wanted.back();
}

/// A loss that weighs every element of the result differently.
inline TensorId weighted_sum(Tape& tape, TensorId result) {
    const Shape shape = tape.tensor(result).shape;
    const TensorId weights = tape.external("loss weights", ElementType::f64, shape, TensorRole::input);
    const TensorId product =
        tape.elementwise("weighted", "y0 = x0 * x1", {result, weights}, ElementType::f64);
    return tape.reduce("loss", product, "sum",
                       [&] {
                           std::vector<std::int64_t> axes;
                           for (std::size_t i = 0; i < shape.size(); ++i)
                               axes.push_back(static_cast<std::int64_t>(i));
                           return axes;
                       }(),
                       {});
}

inline void compare_with_differences(const Record& record, bool scalar_loss = false) {
    Tape tape("gradients");
    std::vector<TensorId> wanted;
    const TensorId result = record(tape, wanted);
    const TensorId loss = scalar_loss ? result : weighted_sum(tape, result);
    const std::size_t forward_ops = tape.trace().ops.size();
    const double scale = 1.5;
    auto gradients = tape.backward(loss, wanted, scale);
    std::vector<TensorId> derived;
    for (const TensorId id : wanted) derived.push_back(tape.materialise(gradients.at(id), "gradient", id));
    const auto trace = tape.finish();
    reference::TensorValues values(trace, 3);
    // Generic values: the initial ones are multiples of 1/128, where max and comparisons could sit on their
    // edges.
    for (std::size_t w = 0; w < wanted.size(); ++w) {
        for (std::size_t i = 0; i < values[wanted[w]].size(); ++i) {
            values[wanted[w]][i] += 0.003 * heddle::expression::random_uniform(100 + w, i);
        }
    }
    reference::execute(trace, values);

    auto forward = trace;
    forward.ops.resize(forward_ops);
    const auto loss_now = [&] {
        for (const Op& op : forward.ops) reference::execute_op(forward, op, values);
        return values[loss][0];
    };
    constexpr double h = 1e-5;
    for (std::size_t w = 0; w < wanted.size(); ++w) {
        const std::vector<double> analytic(values[derived[w]].begin(), values[derived[w]].end());
        for (std::size_t i = 0; i < analytic.size(); ++i) {
            const double kept = values[wanted[w]][i];
            values[wanted[w]][i] = kept + h;
            const double up = loss_now();
            values[wanted[w]][i] = kept - h;
            const double down = loss_now();
            values[wanted[w]][i] = kept;
            CAPTURE(trace.tensor(wanted[w]).name, i);
            CHECK(analytic[i] == Approx(scale * (up - down) / (2 * h)).epsilon(1e-5).margin(1e-7));
        }
    }
}

}  // namespace heddle::zoo
