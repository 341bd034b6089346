#include "workloads/trace/trace.h"

#include "isa/common/error.h"

namespace heddle::trace {
namespace {

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

std::int64_t Op::integer(const std::string& key, std::int64_t fallback) const {
    const auto found = attributes.find(key);
    if (found == attributes.end()) return fallback;
    if (const auto* value = std::get_if<std::int64_t>(&found->second)) return *value;
    wrong_type(*this, key, "an integer");
}

double Op::real(const std::string& key, double fallback) const {
    const auto found = attributes.find(key);
    if (found == attributes.end()) return fallback;
    if (const auto* value = std::get_if<double>(&found->second)) return *value;
    if (const auto* value = std::get_if<std::int64_t>(&found->second)) return static_cast<double>(*value);
    wrong_type(*this, key, "a number");
}

std::string Op::text(const std::string& key, const std::string& fallback) const {
    const auto found = attributes.find(key);
    if (found == attributes.end()) return fallback;
    if (const auto* value = std::get_if<std::string>(&found->second)) return *value;
    wrong_type(*this, key, "a text");
}

std::vector<std::int64_t> Op::integers(const std::string& key) const {
    const auto found = attributes.find(key);
    if (found == attributes.end()) return {};
    if (const auto* value = std::get_if<std::vector<std::int64_t>>(&found->second)) return *value;
    if (const auto* value = std::get_if<std::int64_t>(&found->second)) return {*value};
    wrong_type(*this, key, "a list of integers");
}

std::vector<double> Op::reals(const std::string& key) const {
    const auto found = attributes.find(key);
    if (found == attributes.end()) return {};
    if (const auto* value = std::get_if<std::vector<double>>(&found->second)) return *value;
    if (const auto* value = std::get_if<double>(&found->second)) return {*value};
    if (const auto* value = std::get_if<std::vector<std::int64_t>>(&found->second)) {
        return {value->begin(), value->end()};
    }
    wrong_type(*this, key, "a list of numbers");
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
