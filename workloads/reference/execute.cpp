#include "workloads/reference/execute.h"

#include <cmath>

#include "isa/common/error.h"
#include "workloads/reference/kernels.h"
#include "workloads/trace/turns.h"

namespace heddle::reference {
namespace {

/// Positions in storage of every element of an operand, in row-major order of its shape.
template <class Visit>
void for_each_position(const Op& op, const std::string& operand, const Shape& shape, Visit visit) {
    Shape strides = op.strides(operand);
    const std::int64_t offset = op.offset(operand);
    if (strides.empty()) strides = trace::broadcast_strides(shape, shape);
    const std::int64_t count = trace::element_count(shape);
    Shape index(shape.size(), 0);
    for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t position = offset;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) position += index[axis] * strides[axis];
        visit(static_cast<std::size_t>(i), static_cast<std::size_t>(position));
        for (std::size_t axis = shape.size(); axis-- > 0;) {
            if (++index[axis] < shape[axis]) break;
            index[axis] = 0;
        }
    }
}

}  // namespace

std::vector<double> Context::gathered_input(std::size_t i) const {
    const std::string name = "input" + std::to_string(i);
    const std::span<double> storage = values.storage(op.inputs.at(i));
    std::vector<double> result(static_cast<std::size_t>(in(i).elements()));
    for_each_position(op, name, in(i).shape, [&](std::size_t element, std::size_t position) {
        result[element] = storage[position];
    });
    return result;
}

void Context::scatter_output(std::size_t i, std::span<const double> result) const {
    const std::string name = "output" + std::to_string(i);
    const std::span<double> storage = values.storage(op.outputs.at(i));
    for_each_position(op, name, out(i).shape, [&](std::size_t element, std::size_t position) {
        storage[position] = result[element];
    });
}

void Context::fail(const std::string& problem) const {
    throw Error(problem, {.key = "op " + op.name + " (" + name_of(op.kind) + ")"});
}

std::size_t broadcast_position(std::size_t element, const Shape& shape, const Shape& strides) {
    std::int64_t position = 0;
    auto rest = static_cast<std::int64_t>(element);
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
        position += rest % shape[axis] * strides[axis];
    return static_cast<std::size_t>(position);
}

std::size_t checked_index(const Context& context, double value, std::int64_t count) {
    if (!(value >= 0 && value < static_cast<double>(count))) {
        context.fail("index " + std::to_string(value) + " is outside 0 to " + std::to_string(count - 1));
    }
    return static_cast<std::size_t>(value);
}

void execute_op(const trace::Trace& trace, const trace::Op& op, TensorValues& values) {
    const Context context{trace, op, values};
#define HEDDLE_ROW(kind, ...) run_##kind,
    static constexpr std::array<void (*)(const Context&), trace::kOpKinds> kinds{HEDDLE_OP_KINDS(HEDDLE_ROW)};
#undef HEDDLE_ROW
    kinds.at(static_cast<std::size_t>(op.kind))(context);
}

void run_unknown(const Context& context) {
    context.fail("nobody knows what this op computes");
}

void execute(const trace::Trace& trace, TensorValues& values) {
    trace.check();
    for (std::size_t i = 0; i < trace.ops.size(); ++i)
        if (trace::turns_of(trace.ops[i]) != 1)
            throw Error("stands for several turns of a loop, each of which has values of its own",
                        {.key = "op " + std::to_string(i) + " (" + trace.ops[i].name + ")"},
                        "shorten the loop: short ones are written out");
    for (const trace::Op& op : trace.ops) execute_op(trace, op, values);
}

}  // namespace heddle::reference
