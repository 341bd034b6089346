// What the elements of a buffer ought to be, as a formula over their index and other buffers.
//
//     2.5 * x[i] + initial.y[i]                 saxpy; initial.y is y before the first launch
//     sum(k, 64, a[floor(i / 64) * 64 + k])     the sums of rows of 64
// `i` is the element's index. A name with an index is an element of a buffer; the index is rounded down.
// `count(x)` is a buffer's number of elements. sum(k, n, e) adds e for k = 0 .. n-1, in that order. Operators
// + - * / % (remainder of the sign of the dividend, as in C), unary -, > >= < <= == != (1 or 0), ?:,
// parentheses; functions min max abs exp log sqrt tanh sin cos erf pow floor ceil fma. Everything is double.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heddle::kernel {

/// A formula that has been parsed.
class ReferenceExpression {
  public:
    /// Parses a formula. Throws heddle::Error that names the column of the first token that does not fit.
    explicit ReferenceExpression(const std::string& text);

    struct Operand {
        std::string buffer;
        bool initial = false;  ///< before the first launch
    };
    /// Returns the buffers that the formula names, in order of their first use.
    const std::vector<Operand>& operands() const { return operands_; }

    /// What the formula needs about operand `k`: its size and its elements.
    struct Source {
        std::uint64_t count = 0;
        std::function<double(std::uint64_t)> element;
    };
    /// Computes one element. Throws heddle::Error when an index lies outside its buffer.
    double evaluate(const std::vector<Source>& sources, std::uint64_t index) const;

    /// A step of a stack machine: it takes its arguments from the stack and leaves its result there. Steps
    /// between sum_begin and sum_end are executed for every term.
    struct Step {
        enum class Kind : std::uint8_t { number, variable, element, count, sum_begin, sum_end, function };
        Kind kind = Kind::number;
        double number = 0;
        std::size_t index = 0;  ///< index of the operand, the variable or the function
        std::size_t other = 0;  ///< of sum_begin and sum_end: index of the matching step
    };

  private:
    friend class ReferenceParser;
    std::vector<Step> steps_;
    std::size_t variable_count_ = 1;  ///< `i`, then those of sums
    std::vector<Operand> operands_;
};

}  // namespace heddle::kernel
