// libFuzzer: any text as an expression of each language: elementwise ops (what is printed of one is read
// again, and has the same derivative and values), formulas of launch files, and those of `heddle explore`.
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "isa/common/error.h"
#include "sim/explore/expression.h"
#include "sim/kernel/reference_expression.h"
#include "workloads/expression/derivative.h"
#include "workloads/expression/expression.h"

namespace {

std::vector<double> values_of(const heddle::expression::Expression& expression) {
    const std::vector<double> inputs(expression.input_count, 0.75), scalars(expression.scalar_count, -2);
    std::vector<double> outputs(expression.outputs.size());
    heddle::expression::evaluate(expression, inputs, scalars, 5, outputs);
    return outputs;
}

void elementwise(const std::string& text) {
    const auto read = heddle::expression::parse(text);
    const auto again = heddle::expression::parse(heddle::expression::to_text(read));
    const std::vector<double> first = values_of(read), second = values_of(again);
    for (std::size_t i = 0; i < first.size(); ++i)
        if (std::bit_cast<std::uint64_t>(first[i]) != std::bit_cast<std::uint64_t>(second[i]) &&
            first[i] == first[i])
            std::abort();
    if (read.input_count != 0)
        heddle::expression::parse(heddle::expression::to_text(heddle::expression::gradient(read, 0)));
}

void explored(const std::string& text) {
    const auto lookup = [](const std::string&) { return heddle::explore::Value{3, {}}; };
    heddle::explore::Expression::parse(text, "--link").evaluate(lookup, {"sm.count"});
}

template <class Read>
void refuse_or_read(const Read& read) {
    try {
        read();
    } catch (const heddle::Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    refuse_or_read([&] { elementwise(text); });
    refuse_or_read([&] { heddle::kernel::ReferenceExpression{text}; });
    refuse_or_read([&] { explored(text); });
    return 0;
}
