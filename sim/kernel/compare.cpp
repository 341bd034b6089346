#include "sim/kernel/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "sim/kernel/files.h"
#include "sim/kernel/reference_expression.h"

namespace heddle::kernel {
namespace {

/// What an element ought to be: exact in `number`, and as bits of the buffer's type.
struct Expected {
    double number = 0;
    std::uint64_t bits = 0;
};

struct Reference {
    std::string name;
    std::uint64_t elements = 0;
    std::function<Expected(std::uint64_t)> at;
};

std::function<Expected(std::uint64_t)> rounded(ElementType type,
                                               std::function<double(std::uint64_t)> number) {
    return [type, number = std::move(number)](std::uint64_t i) {
        const double value = number(i);
        return Expected{value, from_double(type, value)};
    };
}

/// C = alpha A B + beta C, k ascending, in double.
double matmul_element(const MatmulReference& matmul, const std::vector<Buffer>& buffers,
                      const std::vector<Buffer>& initial, std::uint64_t index) {
    const std::uint64_t row = matmul.transpose_output ? index % matmul.m : index / matmul.n;
    const std::uint64_t column = matmul.transpose_output ? index / matmul.m : index % matmul.n;
    const Buffer &a = buffers[matmul.a], &b = buffers[matmul.b];
    double sum = 0;
    for (std::uint64_t k = 0; k < matmul.k; ++k) {
        sum += a.number(matmul.transpose_a ? k * matmul.m + row : row * matmul.k + k) *
               b.number(matmul.transpose_b ? column * matmul.k + k : k * matmul.n + column);
    }
    sum *= matmul.alpha;
    if (matmul.c) sum += matmul.beta * initial[*matmul.c].number(index);
    return sum;
}

void check_count(const CompareDeclaration& declaration, const std::string& name, std::uint64_t count,
                 std::uint64_t expected) {
    if (count == expected) return;
    throw Error(fmt::format("{} has {} elements, the buffer has {}", name, count, expected),
                declaration.where);
}

class ReferenceMaker {
  public:
    ReferenceMaker(const CompareDeclaration& declaration, const std::vector<Buffer>& buffers,
                   const std::vector<Buffer>& initial)
        : declaration_(declaration),
          buffers_(buffers),
          initial_(initial),
          buffer_(buffers[declaration.buffer]) {}

    Reference operator()(const FileReference& file) const {
        FileValues read = read_values(file.path, buffer_.type);
        check_count(declaration_, file.path, read.values.size() / bytes_of(buffer_.type), buffer_.count());
        const ElementType type = buffer_.type;
        return {"file " + file.path, buffer_.count(),
                [type, values = std::move(read.values)](std::uint64_t i) {
                    const std::uint64_t bits = load_element(type, values, i);
                    return Expected{to_double(type, bits), bits};
                }};
    }

    Reference operator()(const OtherBufferReference& reference) const {
        const Buffer& other = buffers_[reference.buffer];
        check_count(declaration_, "buffer " + other.name, other.count(), buffer_.count());
        // The same type keeps its bits, those of NaN among them.
        if (other.type == buffer_.type) {
            return {"buffer " + other.name, buffer_.count(), [&other](std::uint64_t i) {
                        return Expected{other.number(i), other.bits(i)};
                    }};
        }
        return {"buffer " + other.name, buffer_.count(),
                rounded(buffer_.type, [&other](std::uint64_t i) { return other.number(i); })};
    }

    Reference operator()(const ExpressionReference& reference) const {
        const ReferenceExpression expression(reference.text);
        std::vector<ReferenceExpression::Source> sources;
        for (const ReferenceExpression::Operand& operand : expression.operands()) {
            const std::vector<Buffer>& among = operand.initial ? initial_ : buffers_;
            for (const Buffer& candidate : among) {
                if (candidate.name != operand.buffer) continue;
                sources.push_back(
                    {candidate.count(), [&candidate](std::uint64_t i) { return candidate.number(i); }});
            }
        }
        const SourceLocation where = declaration_.where;
        constexpr std::size_t kLongest = 200;
        const bool whole = reference.text.size() <= kLongest;
        return {"expression " + (whole ? reference.text : reference.text.substr(0, kLongest) + " ..."), buffer_.count(),
                rounded(buffer_.type, [expression, sources, where](std::uint64_t i) {
                    try {
                        return expression.evaluate(sources, i);
                    } catch (const Error& failure) {
                        throw Error(fmt::format("i = {}: {}", i, failure.problem()), where);
                    }
                })};
    }

    Reference operator()(const MatmulReference& matmul) const {
        check_room(buffers_[matmul.a], matmul.m * matmul.k);
        check_room(buffers_[matmul.b], matmul.k * matmul.n);
        check_room(buffer_, matmul.m * matmul.n);
        if (matmul.c) check_room(initial_[*matmul.c], matmul.m * matmul.n);
        const std::vector<Buffer>&buffers = buffers_, &initial = initial_;
        return {fmt::format("matmul {} {}", initial_[matmul.a].name, initial_[matmul.b].name),
                matmul.m * matmul.n, rounded(buffer_.type, [matmul, &buffers, &initial](std::uint64_t i) {
                    return matmul_element(matmul, buffers, initial, i);
                })};
    }

  private:
    void check_room(const Buffer& buffer, std::uint64_t elements) const {
        if (buffer.count() >= elements) return;
        throw Error(
            fmt::format("buffer {} has {} elements, {} are needed", buffer.name, buffer.count(), elements),
            declaration_.where);
    }

    const CompareDeclaration& declaration_;
    const std::vector<Buffer>&buffers_, &initial_;
    const Buffer& buffer_;
};

bool passes(const Tolerance& tolerance, ElementType type, std::uint64_t bits, const Expected& expected,
            std::uint64_t ulp) {
    if (bits == expected.bits) return true;
    if (tolerance.bit_exact) return false;
    if (ulp <= tolerance.ulp) return true;
    const double got = to_double(type, bits);
    if (std::isinf(got) || std::isinf(expected.number)) return got == expected.number;
    // Written so that NaN fails.
    return std::abs(got - expected.number) <=
           tolerance.absolute + tolerance.relative * std::abs(expected.number);
}

}  // namespace

CompareOutcome compare(const CompareDeclaration& declaration, const std::vector<Buffer>& buffers,
                       const std::vector<Buffer>& initial) {
    const Buffer& buffer = buffers[declaration.buffer];
    const Reference reference =
        std::visit(ReferenceMaker(declaration, buffers, initial), declaration.reference);
    CompareOutcome outcome;
    outcome.buffer = buffer.name;
    outcome.reference = reference.name;
    outcome.elements = reference.elements;
    for (std::uint64_t i = 0; i < reference.elements; ++i) {
        const std::uint64_t bits = buffer.bits(i);
        const Expected expected = reference.at(i);
        const std::uint64_t ulp = ulp_distance(buffer.type, bits, expected.bits);
        const double error = std::abs(to_double(buffer.type, bits) - expected.number);
        if (error > outcome.largest_absolute_error) outcome.largest_absolute_error = error;
        if (ulp > outcome.largest_ulp) outcome.largest_ulp = ulp;
        if (passes(declaration.tolerance, buffer.type, bits, expected, ulp)) continue;
        ++outcome.mismatches;
        if (outcome.first.size() < kShownMismatches) {
            const std::string text = is_float(buffer.type) ? fmt::format("{}", expected.number)
                                                           : format_element(buffer.type, expected.bits);
            outcome.first.push_back({i, format_element(buffer.type, bits), text, ulp});
        }
    }
    return outcome;
}

}  // namespace heddle::kernel
