// The central representation of a training step, which all front ends produce: a graph of tensor operations
// in execution order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "workloads/trace/op_kinds.h"

namespace heddle::trace {

/// The type of a tensor's elements.
enum class ElementType : std::uint8_t {
    f64,
    f32,
    tf32,
    f16,
    bf16,
    e4m3,
    e5m2,
    i64,
    i32,
    i16,
    i8,
    u8,
    boolean,
};

/// Returns the bytes of an element in memory.
unsigned bytes_of(ElementType type);
std::string name_of(ElementType type);                        ///< "bf16", "f32", ...
ElementType element_type_from_name(const std::string& name);  ///< throws heddle::Error

/// The part of a training step to which an op belongs.
enum class Phase : std::uint8_t { forward, backward, optimizer, communication, other };
std::string name_of(Phase phase);

/// Returns the name of a kind as trace files write it: "matmul".
std::string name_of(OpKind kind);

using TensorId = std::uint32_t;
using OpId = std::uint32_t;

/// What a tensor is in a training step.
enum class TensorRole : std::uint8_t {
    activation,
    input,
    label,
    parameter,
    gradient,
    optimizer_state,
    other
};

/// A tensor of a step: its type, its shape and its memory.
struct Tensor {
    std::string name;
    ElementType type = ElementType::f32;
    std::vector<std::int64_t> shape;  ///< empty for a scalar
    TensorRole role = TensorRole::activation;
    /// Tensors with the same storage share memory (views, in-place updates). 0: its own.
    std::uint64_t storage = 0;

    std::int64_t elements() const;
    std::uint64_t bytes() const;
};

/// One operation of a step.
struct Op {
    std::string name;
    OpKind kind = OpKind::unknown;
    Phase phase = Phase::forward;
    std::vector<TensorId> inputs;
    std::vector<TensorId> outputs;
    Attributes attributes;
    std::vector<OpId> dependencies;     ///< earlier ops whose results or effects this one needs
    std::optional<double> measured_us;  ///< recorded duration on real hardware
    std::string kernel_name;            ///< recorded kernel, empty when not from a recording
    /// The queue of the device in which the op waits: ops of one stream run in their order, and ops of
    /// different streams run concurrently as far as dependencies allow.
    std::uint32_t stream = 0;
    /// Recorded time in microseconds that the host worked from the launch of the previous op to the launch of
    /// this one, without the time in which it waited for the device.
    std::optional<double> host_us;

    /// Returns an attribute, or the fallback (the key's own) when it is absent. Throws heddle::Error when it
    /// has another type.
    std::int64_t get(Integer key) const { return get(key, key.integer); }
    std::int64_t get(Integer key, std::int64_t fallback) const;
    double get(Real key) const { return get(key, key.real); }
    double get(Real key, double fallback) const;
    std::string get(Text key) const { return get(key, key.text); }
    std::string get(Text key, const std::string& fallback) const;
    std::vector<std::int64_t> get(Integers key) const { return integers(key.name); }
    std::vector<double> get(Reals key) const;
    /// Returns the value of an attribute that files may hold as an integer or a real number; 0 when absent.
    double real(const Key& key) const;
    bool has(const Key& key) const { return attributes.has(key); }
    template <class TypedKey, class Value>
    void set(TypedKey key, Value&& value) {
        attributes.set(key, std::forward<Value>(value));
    }
    void set(Integers key, std::vector<std::int64_t> list) { attributes.set(key, std::move(list)); }
    void set(Reals key, std::vector<double> list) { attributes.set(key, std::move(list)); }

    /// The place of an operand ("input0", "output1", ...) in its storage, in elements: one stride for each
    /// axis (none where it is dense and row-major), and the offset of its first element.
    std::vector<std::int64_t> strides(const std::string& operand) const {
        return integers(operand + "_strides");
    }
    std::int64_t offset(const std::string& operand) const;
    bool has_strides(const std::string& operand) const {
        return attributes.find(operand + "_strides") != nullptr;
    }
    bool has_offset(const std::string& operand) const {
        return attributes.find(operand + "_offset") != nullptr;
    }
    void set_strides(const std::string& operand, std::vector<std::int64_t> strides) {
        attributes.put(operand + "_strides", std::move(strides));
    }
    void drop_strides(const std::string& operand) { attributes.remove(operand + "_strides"); }
    void set_offset(const std::string& operand, std::int64_t offset) {
        attributes.put(operand + "_offset", offset);
    }

  private:
    std::vector<std::int64_t> integers(const std::string& name) const;
    std::int64_t integer(const std::string& name, std::int64_t fallback) const;
    double real(const std::string& name, double fallback) const;
};

/// A training step (or any run of ops).
struct Trace {
    std::string name;
    std::vector<Tensor> tensors;
    std::vector<Op> ops;

    TensorId add(Tensor tensor);
    OpId add(Op op);
    const Tensor& tensor(TensorId id) const { return tensors.at(id); }
    /// Throws heddle::Error when an op refers to what does not exist, shapes do not fit its kind, or
    /// dependencies are not on earlier ops.
    void check() const;
    void check_op(OpId id) const;
};

/// Returns the floating-point operations of an op by the textbook: 2 m n k for a matmul, 4 s^2 d per head for
/// attention (10 for its gradient, half of that when causal), nodes of the expression times elements, ...; 0
/// where nothing is computed. bytes_moved() counts each distinct input once and each distinct output once
/// (for lookups the rows that are read, not the whole table).
double floating_point_operations(const Trace& trace, const Op& op);
double bytes_moved(const Trace& trace, const Op& op);

}  // namespace heddle::trace

namespace heddle {
namespace keys = trace::keys;
}  // namespace heddle
