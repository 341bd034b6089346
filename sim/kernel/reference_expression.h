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

class ReferenceExpression {
  public:
    /// Throws heddle::Error naming the column of what does not fit.
    explicit ReferenceExpression(const std::string& text);

    struct Operand {
        std::string buffer;
        bool initial = false;  ///< before the first launch
    };
    /// The buffers named, in order of their first use.
    const std::vector<Operand>& operands() const { return operands_; }

    /// What the formula needs of operand `k`: its size and its elements.
    struct Source {
        std::uint64_t count = 0;
        std::function<double(std::uint64_t)> element;
    };
    /// One element. Throws heddle::Error when an index lies outside of its buffer.
    double evaluate(const std::vector<Source>& sources, std::uint64_t index) const;

    /// A step of a stack machine: it takes its arguments from the stack and leaves its result there. What is
    /// between sum_begin and sum_end is performed for every term.
    struct Step {
        enum class Kind : std::uint8_t { number, variable, element, count, sum_begin, sum_end, function };
        Kind kind = Kind::number;
        double number = 0;
        std::size_t index = 0;  ///< of the operand, the variable or the function
        std::size_t other = 0;  ///< of a sum: where its other end stands
    };

  private:
    friend class ReferenceParser;
    std::vector<Step> steps_;
    std::size_t variable_count_ = 1;  ///< `i`, then those of sums
    std::vector<Operand> operands_;
};

}  // namespace heddle::kernel
