#include "workloads/reference/values.h"

#include <algorithm>
#include <set>

#include "isa/common/error.h"

namespace heddle::reference {
namespace {

constexpr std::uint64_t own_storage = std::uint64_t{1} << 63;

std::uint64_t storage_key(const trace::Trace& trace, trace::TensorId id) {
    const std::uint64_t storage = trace.tensor(id).storage;
    return storage != 0 ? storage : own_storage | id;
}

/// One past the last element of an operand's storage that the op touches.
std::size_t reach(const trace::Op& op, const std::string& operand, const trace::Tensor& tensor) {
    const std::vector<std::int64_t> strides = op.strides(operand);
    const std::int64_t offset = op.offset(operand);
    std::int64_t last = offset + tensor.elements() - 1;
    if (!strides.empty()) {
        if (strides.size() != tensor.shape.size()) {
            throw Error("strides do not fit the shape", {.key = "op " + op.name + " " + operand});
        }
        last = offset;
        for (std::size_t axis = 0; axis < strides.size(); ++axis)
            last += strides[axis] * (tensor.shape[axis] - 1);
    }
    if (offset < 0 || last < -1)
        throw Error("strides leave the storage", {.key = "op " + op.name + " " + operand});
    return static_cast<std::size_t>(last + 1);
}

}  // namespace

TensorValues::TensorValues(const trace::Trace& trace, std::uint64_t seed) {
    std::map<std::uint64_t, std::size_t> places;
    std::vector<std::size_t> sizes;
    std::vector<trace::ElementType> types;
    for (trace::TensorId id = 0; id < trace.tensors.size(); ++id) {
        const trace::Tensor& tensor = trace.tensor(id);
        const auto [place, fresh] = places.try_emplace(storage_key(trace, id), sizes.size());
        const auto elements = static_cast<std::size_t>(tensor.elements());
        if (fresh) {
            sizes.push_back(elements);
            types.push_back(tensor.type);
        } else if (bytes_of(types[place->second]) != bytes_of(tensor.type)) {
            throw Error("tensors of different element sizes share its storage",
                        {.key = "tensor " + tensor.name},
                        "the reference cannot execute reinterpreted memory");
        }
        sizes[place->second] = std::max(sizes[place->second], elements);
        buffer_of_.push_back(place->second);
        elements_.push_back(elements);
    }
    for (const trace::Op& op : trace.ops) {
        const auto grow = [&](const std::vector<trace::TensorId>& operands, const std::string& prefix) {
            for (std::size_t i = 0; i < operands.size(); ++i) {
                std::size_t& size = sizes[buffer_of_[operands[i]]];
                size = std::max(size, reach(op, prefix + std::to_string(i), trace.tensor(operands[i])));
            }
        };
        grow(op.inputs, "input");
        grow(op.outputs, "output");
    }
    for (const std::size_t size : sizes) buffers_.emplace_back(size, 0.0);
    for (const trace::TensorId id : external_tensors(trace)) {
        const std::vector<double> initial = initial_values(trace, id, seed);
        std::copy(initial.begin(), initial.end(), buffers_[buffer_of_[id]].begin());
    }
}

std::span<double> TensorValues::operator[](trace::TensorId id) {
    return std::span(buffers_.at(buffer_of_.at(id))).first(elements_.at(id));
}

std::span<const double> TensorValues::operator[](trace::TensorId id) const {
    return std::span(buffers_.at(buffer_of_.at(id))).first(elements_.at(id));
}

std::span<double> TensorValues::storage(trace::TensorId id) {
    return buffers_.at(buffer_of_.at(id));
}

std::vector<trace::TensorId> external_tensors(const trace::Trace& trace) {
    // A view may be read first; what it was made of is the tensor that somebody declared.
    std::map<std::pair<std::uint64_t, std::int64_t>, trace::TensorId> declared;
    for (trace::TensorId id = 0; id < trace.tensors.size(); ++id)
        declared.try_emplace({storage_key(trace, id), trace.tensor(id).elements()}, id);
    std::set<std::uint64_t> known;
    std::vector<trace::TensorId> result;
    for (const trace::Op& op : trace.ops) {
        for (const trace::TensorId id : op.inputs) {
            const std::uint64_t storage = storage_key(trace, id);
            if (known.insert(storage).second)
                result.push_back(declared.at({storage, trace.tensor(id).elements()}));
        }
        for (const trace::TensorId id : op.outputs) known.insert(storage_key(trace, id));
    }
    return result;
}

}  // namespace heddle::reference
