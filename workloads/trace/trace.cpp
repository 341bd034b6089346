#include "workloads/trace/trace.h"

#include "isa/common/error.h"

namespace heddle::trace {
namespace {

/// Of a Key, or of an operand's "_offset" or "_strides".
[[noreturn]] void wrong_type(const Op& op, const std::string& key, const std::string& wanted) {
    throw Error("attribute '" + key + "' is not " + wanted, {.key = "op " + op.name});
}

}  // namespace

std::int64_t Tensor::elements() const {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
}

std::uint64_t Tensor::bytes() const {
    return static_cast<std::uint64_t>(elements()) * bytes_of(type);
}

std::int64_t Op::integer(const std::string& name, std::int64_t fallback) const {
    const Attribute* found = attributes.find(name);
    if (found == nullptr) return fallback;
    if (const auto* value = std::get_if<std::int64_t>(found)) return *value;
    wrong_type(*this, name, "an integer");
}

double Op::real(const std::string& name, double fallback) const {
    const Attribute* found = attributes.find(name);
    if (found == nullptr) return fallback;
    if (const auto* value = std::get_if<double>(found)) return *value;
    if (const auto* value = std::get_if<std::int64_t>(found)) return static_cast<double>(*value);
    wrong_type(*this, name, "a number");
}

std::vector<std::int64_t> Op::integers(const std::string& name) const {
    const Attribute* found = attributes.find(name);
    if (found == nullptr) return {};
    if (const auto* value = std::get_if<std::vector<std::int64_t>>(found)) return *value;
    if (const auto* value = std::get_if<std::int64_t>(found)) return {*value};
    wrong_type(*this, name, "a list of integers");
}

std::int64_t Op::get(Integer key, std::int64_t fallback) const {
    return integer(key.name, fallback);
}

double Op::get(Real key, double fallback) const {
    return real(key.name, fallback);
}

double Op::real(const Key& key) const {
    return real(key.name, 0);
}

std::int64_t Op::offset(const std::string& operand) const {
    return integer(operand + "_offset", 0);
}

std::string Op::get(Text key, const std::string& fallback) const {
    const Attribute* found = attributes.find(key.name);
    if (found == nullptr) return fallback;
    if (const auto* value = std::get_if<std::string>(found)) return *value;
    wrong_type(*this, key.name, "a text");
}

std::vector<double> Op::get(Reals key) const {
    const Attribute* found = attributes.find(key.name);
    if (found == nullptr) return {};
    if (const auto* value = std::get_if<std::vector<double>>(found)) return *value;
    if (const auto* value = std::get_if<double>(found)) return {*value};
    if (const auto* value = std::get_if<std::vector<std::int64_t>>(found))
        return {value->begin(), value->end()};
    wrong_type(*this, key.name, "a list of numbers");
}

TensorId Trace::add(Tensor tensor) {
    tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(tensors.size() - 1);
}

OpId Trace::add(Op op) {
    ops.push_back(std::move(op));
    return static_cast<OpId>(ops.size() - 1);
}

}  // namespace heddle::trace
