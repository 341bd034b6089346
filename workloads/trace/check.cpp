// Whether a Trace is well formed: every reference exists and every shape fits its op.
#include <algorithm>
#include <array>

#include "isa/common/error.h"
#include "workloads/trace/op_check.h"
#include "workloads/trace/turns.h"

namespace heddle::trace {

void OpCheck::run() const {
    references();
    counts();
    places();
#define HEDDLE_ROW(kind, ...) &OpCheck::kind,
    static constexpr std::array<void (OpCheck::*)() const, kOpKinds> checks{HEDDLE_OP_KINDS(HEDDLE_ROW)};
#undef HEDDLE_ROW
    (this->*checks.at(static_cast<std::size_t>(op_.kind)))();
}

std::string OpCheck::place() const {
    return "op " + std::to_string(index_) + " (" + name_of(op_.kind) + " " + op_.name + ")";
}

void OpCheck::fail(const std::string& problem) const {
    throw Error(problem, {.key = place()});
}

std::int64_t OpCheck::last(const Tensor& tensor) const {
    if (tensor.shape.empty()) fail("tensor " + tensor.name + " is a scalar where a row was expected");
    return std::max<std::int64_t>(tensor.shape.back(), 1);
}

void OpCheck::references() const {
    for (const auto* operands : {&op_.inputs, &op_.outputs}) {
        for (const TensorId id : *operands) {
            if (id >= trace_.tensors.size())
                fail("refers to tensor " + std::to_string(id) + ", which does not exist");
        }
    }
    for (const OpId id : op_.dependencies) {
        if (id >= index_) fail("depends on op " + std::to_string(id) + ", which is not earlier");
    }
}

void OpCheck::operands(std::size_t least_in, std::size_t most_in, std::size_t least_out,
                       std::size_t most_out) const {
    const auto range = [](std::size_t least, std::size_t most) {
        return most == many ? "at least " + std::to_string(least)
                            : std::to_string(least) + (most > least ? " to " + std::to_string(most) : "");
    };
    if (op_.inputs.size() < least_in || op_.inputs.size() > most_in) {
        fail("has " + std::to_string(op_.inputs.size()) + " inputs instead of " + range(least_in, most_in));
    }
    if (op_.outputs.size() < least_out || op_.outputs.size() > most_out) {
        fail("has " + std::to_string(op_.outputs.size()) + " outputs instead of " +
             range(least_out, most_out));
    }
}

void OpCheck::same_count(const std::string& what, const Tensor& tensor, std::int64_t elements) const {
    if (tensor.elements() != elements) {
        fail(what + " " + tensor.name + " " + to_text(tensor.shape) + " does not have " +
             std::to_string(elements) + " elements");
    }
}

void OpCheck::rank(const Tensor& tensor, std::size_t axes, const std::string& what) const {
    if (tensor.shape.size() != axes) {
        fail(what + " " + tensor.name + " " + to_text(tensor.shape) + " does not have " +
             std::to_string(axes) + " axes");
    }
}

std::int64_t OpCheck::axis(const Tensor& tensor) const {
    const std::int64_t value = op_.get(keys::concat.axis);
    if (value < 0 || value >= static_cast<std::int64_t>(tensor.shape.size())) {
        fail("axis " + std::to_string(value) + " is not an axis of " + to_text(tensor.shape));
    }
    return value;
}

expression::Expression OpCheck::parsed(Text key) const {
    try {
        return expression::parse(op_.get(key));
    } catch (const Error& error) {
        fail(std::string(key.name) + " " + error.what());
    }
}

void OpCheck::broadcast(const Tensor& tensor, const Shape& to) const {
    if (!broadcasts_to(tensor.shape, to)) {
        fail("tensor " + tensor.name + " " + to_text(tensor.shape) + " does not broadcast to " + to_text(to));
    }
}

void Trace::check_op(OpId id) const {
    OpCheck(*this, ops.at(id), id).run();
}

void Trace::check() const {
    check_shapes(*this);
    for (std::size_t i = 0; i < ops.size(); ++i) OpCheck(*this, ops[i], i).run();
    check_turns(*this);
    check_times(*this);
    check_memory(*this);
}

}  // namespace heddle::trace
