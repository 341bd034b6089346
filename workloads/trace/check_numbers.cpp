// Numbers of a Trace that become sizes, counts and times.
#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "isa/common/checked.h"
#include "isa/common/error.h"
#include "workloads/trace/op_check.h"
#include "workloads/trace/possible_shape.h"
#include "workloads/trace/turns.h"

namespace heddle::trace {
namespace {

/// What is read of them becomes sizes and counts as it stands, or has no fewer bits than 32.
const std::map<std::string_view, const Gate*>& counts_by_name() {
    static const auto counts = [] {
        std::map<std::string_view, const Gate*> result;
        for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
            for (const Key& key : keys_of(static_cast<OpKind>(kind))) {
                if (key.counted == Counted::nothing) continue;
                result[key.name] = key.counted == Counted::bytes      ? &gates::kBytes
                                   : key.counted == Counted::elements ? &gates::kElements
                                                                      : &gates::kThings;
            }
        }
        return result;
    }();
    return counts;
}

}  // namespace

std::int64_t OpCheck::times(std::int64_t a, std::int64_t b) const {
    const auto product = checked_product(a, b);
    if (!product) fail("its operands have more elements than can be counted");
    return *product;
}

void OpCheck::counts() const {
    for (const auto& [name, value] : op_.attributes) {
        const auto found = counts_by_name().find(name);
        if (found == counts_by_name().end()) continue;
        const auto check = [&](const auto& number) {
            if (!found->second->admits(number)) found->second->check(number, {.key = place() + ", " + name});
        };
        if (const auto* integer = std::get_if<std::int64_t>(&value)) check(*integer);
        if (const auto* real = std::get_if<double>(&value)) check(*real);
        if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
            for (const std::int64_t number : *list) check(number);
        if (const auto* list = std::get_if<std::vector<double>>(&value))
            for (const double number : *list) check(number);
    }
}

void OpCheck::places() const {
    const auto each = [this](const std::vector<TensorId>& ids, const char* side) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const Tensor& tensor = trace_.tensors[ids[i]];
            const std::string operand = side + std::to_string(i);
            if (!is_possible(tensor.shape))
                fail("tensor " + tensor.name + " has the impossible shape " + to_text(tensor.shape));
            if (!operand_reach(op_, operand, tensor))
                fail("offset and strides of " + operand + ", tensor " + tensor.name + " " +
                     to_text(tensor.shape) + ", are none of a tensor of that shape");
        }
    };
    each(op_.inputs, "input");
    each(op_.outputs, "output");
}

void check_times(const Trace& trace) {
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        const Op& op = trace.ops[i];
        const auto check = [&](const char* name, const std::optional<double>& time) {
            if (time && !gates::kMicroseconds.admits(*time))
                gates::kMicroseconds.check(
                    *time, {.key = "op " + std::to_string(i) + " (" + op.name + "), " + name});
        };
        check("measured_us", op.measured_us);
        check("host_us", op.host_us);
    }
}

void check_shapes(const Trace& trace) {
    for (const Tensor& tensor : trace.tensors) {
        if (!is_possible(tensor.shape))
            throw Error("impossible shape " + to_text(tensor.shape), {.key = "tensor " + tensor.name},
                        "a tensor has " + gates::kElements.range() + " elements");
    }
}

void check_memory(const Trace& trace) {
    std::unordered_map<std::uint64_t, std::int64_t> storages;
    const auto hold = [&](const Op& op, const std::vector<TensorId>& ids, const char* side) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const Tensor& tensor = trace.tensor(ids[i]);
            const std::int64_t reach = operand_reach(op, side + std::to_string(i), tensor).value_or(0);
            std::int64_t& held = storages[tensor.storage != 0 ? tensor.storage : ~std::uint64_t{ids[i]}];
            held = std::max(held, reach * static_cast<std::int64_t>(bytes_of(tensor.type)));
        }
    };
    for (const Op& op : trace.ops) {
        hold(op, op.inputs, "input");
        hold(op, op.outputs, "output");
    }
    std::int64_t bytes = 0;
    for (const auto& [storage, held] : storages) {
        bytes += held;  // both are far below 2^63
        if (bytes > gates::kMostBytes)
            throw Error("the tensors of the step have more than 2^60 bytes together", {.key = trace.name},
                        "no machine has so much memory: look at their shapes");
    }
}

}  // namespace heddle::trace
