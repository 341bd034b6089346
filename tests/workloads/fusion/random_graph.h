// Graphs for the tests of fusion.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "workloads/zoo/tape.h"

namespace heddle::tests {

inline std::size_t count(const trace::Trace& trace, trace::OpKind kind) {
    return static_cast<std::size_t>(std::count_if(trace.ops.begin(), trace.ops.end(),
                                                  [&](const trace::Op& op) { return op.kind == kind; }));
}

class Chain {
  public:
    trace::TensorId input(trace::Shape shape) {
        return tape.external("x" + std::to_string(number++), trace::ElementType::f32, std::move(shape),
                             trace::TensorRole::input);
    }
    zoo::Tape tape{"chain"};
    int number = 0;
};

/// 25 ops on matrices of 8 x 8: of eight, `products` are products and one is a reduction, the others are
/// elementwise.
inline trace::Trace random_graph(std::mt19937& random, unsigned products) {
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    Chain c;
    std::vector<trace::TensorId> values{c.input({8, 8}), c.input({8, 8}), c.input({8})};
    for (int i = 0; i < 25; ++i) {
        const auto whole = [&] {
            trace::TensorId id = values[below(values.size())];
            while (c.tape.tensor(id).shape != trace::Shape{8, 8}) id = values[below(values.size())];
            return id;
        };
        const trace::TensorId x = whole(), y = values[below(values.size())];
        const std::size_t choice = below(8);
        if (choice < products) {
            values.push_back(c.tape.matmul("p", x, whole()));
        } else if (choice == products) {
            values.push_back(c.tape.reduce("r", x, below(2) == 0 ? "mean" : "max", {0}, {8}));
        } else {
            values.push_back(c.tape.elementwise(
                "e", below(2) == 0 ? "y0 = tanh(x0 - s0 * x1)" : "y0 = 0.5 * (x0 + x1)", {x, y}, {}, {0.25}));
        }
    }
    return c.tape.finish();
}

}  // namespace heddle::tests
