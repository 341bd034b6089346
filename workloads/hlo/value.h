// What an instruction of XLA gives while a program is being read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::hlo {

using Dimensions = std::vector<std::int64_t>;

/// Returns the number of elements of a shape; 1 for a scalar.
std::int64_t count_of(const Dimensions& shape);
/// Row-major strides.
Dimensions dense_strides(const Dimensions& shape);

/// A tensor as it is read: element i, j, ... lies at offset + i * strides[0] + j * strides[1] + ... of its
/// storage.
struct View {
    trace::TensorId tensor = 0;
    trace::ElementType type = trace::ElementType::f32;
    Dimensions shape, strides;
    std::int64_t offset = 0;
    bool operator==(const View&) const = default;

    bool is_dense() const;
    /// Axis i of the result is axis axes[i].
    View transposed(const Dimensions& axes) const;
    /// Axis i becomes axis axes[i] of `shape`; the others repeat it.
    View broadcast(const Dimensions& axes, const Dimensions& shape) const;
    View sliced(const Dimensions& starts, const Dimensions& limits, const Dimensions& steps) const;
    View reversed(const Dimensions& axes) const;
    /// Nothing when the elements would have to move.
    std::optional<View> reshaped(const Dimensions& to) const;
};

/// A value is a view of a tensor, a number (which stands for every element), a tuple, or `pending`: an
/// elementwise expression over views of its own shape that has not been written yet. It grows as long as one
/// reader alone needs it, which is how XLA fuses.
struct Value {
    enum class Kind : std::uint8_t { view, number, pending, tuple } kind = Kind::view;
    trace::ElementType type = trace::ElementType::f32;
    Dimensions shape;
    Dimensions
        layout;  ///< axes from the one that changes fastest on, as the program prints it; empty: row-major
    View view;
    double number = 0;
    /// Number: by how much it changes from turn to turn of each loop whose coming turns are looked at, the
    /// outermost first; NaN: not evenly. Empty: it is the same in all turns (coming_turns.h).
    std::vector<double> steps;
    /// Pending: text over x0, x1, ... Of a product's epilogue x0 is the product of the first two of `inputs`,
    /// x1 the third; those have the shape `matrix`, which holds as many elements as `shape`.
    std::string text;
    std::vector<View> inputs;
    bool product = false;
    Dimensions matrix;
    std::vector<Value> elements;

    /// For a number: returns the same number in another shape.
    Value filling(const Dimensions& to) const;
    static Value of(const View& view);
    static Value of(double number, trace::ElementType type, const Dimensions& shape);
    static Value of(std::vector<Value> elements);
};

/// x0, x1, ... in an expression get the numbers `to`.
std::string renumbered(const std::string& text, const std::vector<std::size_t>& to);
std::string number_text(double number);
bool is_floating(trace::ElementType type);

}  // namespace heddle::hlo
